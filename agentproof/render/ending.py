"""How a script came to an end that was not a clean one, and what its author can do about it."""

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Protocol

from ..live.providers import DEFAULT, complete
from ..models.events import Event, NetworkRefused, ScriptEnded, ScriptWrote
from ..models.trace import Mode

_LINES: Final = 5
_WIDTH: Final = 160
_KEY_NAMES: Final = re.compile(r"\b[A-Z][A-Z0-9_]*API_?KEY\b|\bapi_key\b")


class Traced(Protocol):
    """A trace, or what is told of one."""

    @property
    def events(self) -> Sequence[Event]:
        """In their order."""


_OUTCOMES: Final[Mapping[str, str]] = {
    "killed": "killed",
    "timed_out": "stopped, since it ran longer than it may",
    "too_much_output": "stopped, since it wrote more than it may",
    "out_of_memory": "stopped, since it took more memory than it may",
}


def ending_lines(traces: Mapping[Mode, Traced]) -> Iterator[str]:
    """A few lines for each different end that was not a clean one."""
    told: dict[tuple[str, ...], list[str]] = {}
    for mode, trace in traces.items():
        end = _end_of(trace)
        if end is not None and not (end.outcome == "exited" and not end.code):
            told.setdefault((_ending(end), *_last_words(trace)), []).append(mode)
    for lines, modes in told.items():
        yield f"{lines[0]}  ({' and '.join(modes)})"
        yield from (f"| {line}" for line in lines[1:])


def ending_hints(traces: Mapping[Mode, Traced], *, source: bytes = b"", script: str = "SCRIPT") -> list[str]:
    """The next steps for ends that were not clean ones, where they are known; `source` is the script's."""
    ends = [(_end_of(trace), trace) for trace in traces.values()]
    hints = [
        _hint(end, trace, source, script)
        for end, trace in ends
        if end is not None and not (end.outcome == "exited" and not end.code)
    ]
    return list(dict.fromkeys(hint for hint in hints if hint is not None))


def _end_of(trace: Traced) -> ScriptEnded | None:
    return next((event for event in trace.events if isinstance(event, ScriptEnded)), None)


def _ending(end: ScriptEnded) -> str:
    if end.error is not None:
        name = end.error.type.removeprefix("builtins:").replace(":", ".")
        message = _cut(" ".join(_text(end.error.message).split()))
        place = f", at {end.frames[-1].file}:{end.frames[-1].line}" if end.frames else ""
        return f"{name}: {message}{place}" if message else f"{name}{place}"
    if end.outcome == "exited":
        return f"exited with {end.code}"
    return _OUTCOMES.get(end.outcome, end.outcome.replace("_", " "))


def _last_words(trace: Traced) -> tuple[str, ...]:
    """The end of stderr without the traceback, which `_ending` has said."""
    wrote = next((e for e in trace.events if isinstance(e, ScriptWrote) and e.stream == "stderr"), None)
    if wrote is None:
        return ()
    before, _, _ = _text(wrote.text).partition("Traceback (most recent call last):")
    lines = [line for line in before.splitlines() if line.strip()]
    return tuple(map(_cut, lines[-_LINES:]))


def _hint(end: ScriptEnded, trace: Traced, source: bytes, script: str) -> str | None:
    """The next step for the ends that most newcomers meet."""
    if end.outcome == "timed_out":
        return "--timeout SECONDS, if it really takes that long"
    asked = [
        _text(event.target).rpartition(":")[0] or _text(event.target)
        for event in trace.events
        if isinstance(event, NetworkRefused) and not event.loopback
    ]
    if asked:
        return _asks_provider(asked[0], None, source, script)
    if end.error is None:
        return None
    if name := _KEY_NAMES.search(_text(end.error.message)):
        return _asks_provider(None, name[0] if name[0].isupper() else None, source, script)
    kinds = (end.error.type, *end.error.bases)
    missing = _MISSING.search(_text(end.error.message))
    if "builtins:ImportError" in kinds and missing is not None:
        return _import_hint(missing[1])
    known = next((_BY_KIND[kind] for kind in kinds if kind in _BY_KIND), None)
    return _GIVE if known is None and end.premise == "environment" else known


def _asks_provider(host: str | None, variable: str | None, source: bytes, script: str) -> str:
    """What a script that wants a provider is told: whom it asks, for which model, with whose key."""
    host, variable = complete(host, variable)
    models = _models_in(source)
    of = f" for {', '.join(models)}" if models else ""
    key = f" with {variable}" if variable else ""
    option = "--live" if host == DEFAULT else f"--live {host}={variable or 'NAME'}"
    return (
        f"the script asks {host}{of}{key}, and scripts run without network and keys: "
        f"`{variable or 'NAME'}=… agentproof record {script} {option}` lets it ask once and replays the "
        "answers from then on; or give the agent a model of the script's own (`agentproof init` writes one "
        "to start from)"
    )


_MOST_MODELS: Final = 3


def _models_in(source: bytes) -> list[str]:
    """The models that a script names, by the keyword."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return []
    values = (each.value for each in ast.walk(tree) if isinstance(each, ast.keyword) and each.arg == "model")
    named = (each.value for each in values if isinstance(each, ast.Constant) and isinstance(each.value, str))
    return list(dict.fromkeys(name[:60] for name in named))[:_MOST_MODELS]


_MISSING: Final = re.compile(r"No module named '([A-Za-z0-9_.]+)'")
_DISTRIBUTIONS: Final[Mapping[str, str]] = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "Crypto": "pycryptodome",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dns": "dnspython",
    "docx": "python-docx",
    "dotenv": "python-dotenv",
    "fitz": "pymupdf",
    "git": "GitPython",
    "jose": "python-jose",
    "jwt": "PyJWT",
    "MySQLdb": "mysqlclient",
    "OpenSSL": "pyOpenSSL",
    "PIL": "pillow",
    "pkg_resources": "setuptools",
    "pptx": "python-pptx",
    "psycopg2": "psycopg2-binary",
    "serial": "pyserial",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "slugify": "python-slugify",
    "websocket": "websocket-client",
    "yaml": "PyYAML",
    "zmq": "pyzmq",
}
"""Well-known modules that their distribution does not have the name of."""


def _import_hint(module: str) -> str:
    """What to do about a module that is not there. No name is guessed: somebody else's project may have
    it."""
    top = module.partition(".")[0]
    if top in _DISTRIBUTIONS:
        return f"--with {_DISTRIBUTIONS[top]} installs {top}, or name it in the script's header"
    return (
        f"--with REQUIREMENT installs what has {top} in it, by the name of its distribution, or name it in "
        "the script's header; a project of your own: --with DIR; a module of your own lies beside the "
        "script, or in the directory that is recorded"
    )


_GIVE: Final = (
    "your environment is not passed: `--env NAME` passes a variable of yours, `--env NAME=VALUE` another"
)
_BY_KIND: Final[Mapping[str, str]] = {
    "builtins:FileNotFoundError": "what goes along with the script is in its working directory and at "
    "Path(__file__).parent: in a project all that lies beside it, elsewhere what --file FILE names",
    "builtins:EOFError": "nobody types: stdin is empty while a script is recorded; pass ARGUMENTS instead",
    "builtins:ModuleNotFoundError": "--with REQUIREMENT installs what the script needs, or name it in the "
    "script's header",
}


def _text(value: Any) -> str:  # Any: a value
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and value.keys() == {"$str"}:
        return "".join(map(chr, value["$str"]))
    return ""


def _cut(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"

"""Environment variables that a script is given: by name from the user's own, or with a value, or from a file.

Rules:
1. A script gets none of the user's variables but those that are named.
2. A value is masked, `<env:NAME>`, in all that is recorded before anything is judged. One under 8 characters
   could not be told from other text, and one that the script's own files or arguments hold would be in the
   bundle all the same: both have to be public (`--env-public`), and are recorded as they are.
3. Names that steer the interpreter, the loader or the recorder are refused, and so is a provider's key: what
   runs without network has no use for it.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..errors import UsageError
from ..system.files import read_bounded

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_STEERING: Final = re.compile(
    r"(?:PYTHON|LD_|DYLD_|SSL_|AGENTPROOF|GLIBC_|MALLOC_|LC_|COVERAGE_).*"
    r"|PATH|HOME|TMPDIR|TEMP|TMP|LANG|LANGUAGE|TZ|VIRTUAL_ENV|GCONV_PATH|LOCPATH|NLSPATH|SYSTEMROOT",
    re.IGNORECASE,
)
_PROVIDER: Final = re.compile(r".*API_?KEY|(?:AWS|AZURE|GOOGLE|GEMINI|HF)_.*(?:KEY|TOKEN|SECRET|CREDENTIALS)")
_MIN_SECRET: Final = 8
_MAX_FILE: Final = 2**20
_LINE: Final = re.compile(r"\s*(?:export\s+)?(?P<name>[^=\s#]+)\s*=\s*(?P<value>.*?)\s*")


@dataclass(frozen=True)
class Variables:
    """Names and values; nothing is printed of it."""

    values: Mapping[str, str] = field(default_factory=dict)
    public: frozenset[str] = frozenset()

    @property
    def names(self) -> tuple[str, ...]:
        """Sorted."""
        return tuple(sorted(self.values))

    @property
    def masked(self) -> Mapping[str, str]:
        """Those whose values are recorded nowhere."""
        return {name: value for name, value in self.values.items() if name not in self.public and value}

    def __repr__(self) -> str:
        return f"Variables({', '.join(self.names)})"


def parse_variables(
    options: Iterable[str], *, files: Iterable[Path], public: bool, environment: Mapping[str, str]
) -> Variables:
    """Understand `--env NAME[=VALUE]` and `--env-file FILE`; options count more than files.

    Raises:
        UsageError: a name is none, or is refused; `environment`, the user's own, does not have it; a file
            cannot be read; or a value cannot be masked.
    """
    found: dict[str, str] = {}
    for path in files:
        found.update(_in_file(path))
    for text in options:
        name, equals, value = text.partition("=")
        _check_name(name, f"--env {name}")
        if not equals and name not in environment:
            raise UsageError(f"--env {name}: your environment does not have it", hint=f"--env {name}=VALUE")
        found[name] = value if equals else environment[name]
    if not public:
        for name, value in found.items():
            if value and len(value) < _MIN_SECRET:
                raise UsageError(
                    f"--env {name}: its value has under {_MIN_SECRET} characters, too few to be masked",
                    hint="--env-public records it as it is",
                )
    return Variables(found, frozenset(found) if public else frozenset())


def check_unwritten(variables: Variables, files: Mapping[str, bytes], arguments: Iterable[str]) -> None:
    """Refuse a value to be masked that stands in what the bundle holds anyway.

    Raises:
        UsageError: it does; the file is named, the value is not.
    """
    for name, value in variables.masked.items():
        where = next((path for path, data in files.items() if value.encode() in data), None)
        if where is None and any(value in argument for argument in arguments):
            where = "the arguments"
        if where is not None:
            raise UsageError(
                f"--env {name}: its value stands in {where}, which the bundle holds",
                hint="take it out there, or --env-public records it as it is",
            )


def check_given(variables: Variables, names: Iterable[str]) -> None:
    """Demand what a recording was given: its own values are not in it.

    Raises:
        UsageError: some are not given; they are named.
    """
    missing = [name for name in names if name not in variables.values]
    if missing:
        raise UsageError(
            f"it was recorded with {', '.join(missing)} in its environment, whose values no bundle holds",
            hint=" ".join(f"--env {name}" for name in missing) + " gives yours, or --env NAME=VALUE",
        )


def _check_name(name: str, where: str) -> None:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: no name of a variable", hint="letters, digits and underscores")
    if _STEERING.fullmatch(name):
        raise UsageError(
            f"{where}: it steers the interpreter, the loader or the recorder, and is not passed",
            hint="set it in the script, where the bundle shows it",
        )
    if _PROVIDER.fullmatch(name):
        raise UsageError(
            f"{where}: a provider's key is not passed: scripts run without network, and no run needs it",
            hint="--live lets the script ask its provider once, and keeps the key outside; or give the "
            "agent a model of the script's own (`agentproof init` writes one to start from)",
        )


def _in_file(path: Path) -> dict[str, str]:
    found: dict[str, str] = {}
    text = read_bounded(path, limit=_MAX_FILE, what="--env-file").decode("utf-8", "replace")
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise UsageError(f"{path}:{number}: not a line of NAME=VALUE")
        _check_name(match["name"], f"{path}:{number}: {match['name']}")
        value = match["value"]
        if len(value) > 1 and value[0] == value[-1] and value[0] in "'\"":
            value = value[1:-1]
        found[match["name"]] = value
    return found

"""Which hosts a script may ask, with whose key, and for what there.

1. At a host only the endpoints where a model answers are open. Files, stored responses, administration and
   everything else is refused, unless its path was named.
2. A known provider brings its variable and the path that its API stands below; at any other host these
   endpoints are open below any path, as gateways have them. Where a path was named there, that path alone is.
3. The script holds a placeholder in place of the key: the same in every run, and like no secret.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import unquote

from ..errors import UsageError

HTTPS: Final = 443
WEBSOCKET: Final = "WS"
"""The method of a GET that asks for a websocket."""

_MODELS: Final = {
    "POST": r"/responses(/compact|/input_tokens)?|(/chat)?/completions|/embeddings|/moderations"
    r"|/audio/(speech|transcriptions|translations)|/images/(generations|edits)"
    r"|/messages(/count_tokens)?"
    r"|(/[a-z0-9-]+){0,6}/(models|tunedModels)/[^/:]+:(streamGenerateContent|generateContent|countTokens|(batchE|e)mbedContents?)",
    WEBSOCKET: r"/responses|/realtime",
}
"""Where a model answers: the APIs of OpenAI, Anthropic and Gemini, below a prefix of the provider's own."""

_ANYWHERE: Final = r"(/[A-Za-z0-9._~-]+){0,6}"


@dataclass(frozen=True)
class _Provider:
    variable: str
    prefix: str
    """What its endpoints stand below, as a regular expression."""


_KNOWN: Final = {
    "api.openai.com": _Provider("OPENAI_API_KEY", "/v1"),
    "api.anthropic.com": _Provider("ANTHROPIC_API_KEY", "/v1"),
    "generativelanguage.googleapis.com": _Provider("GEMINI_API_KEY", "/v1[a-z0-9]*(/openai)?"),
    "openrouter.ai": _Provider("OPENROUTER_API_KEY", "/api/v1"),
    "api.groq.com": _Provider("GROQ_API_KEY", "/openai/v1"),
    "api.mistral.ai": _Provider("MISTRAL_API_KEY", "/v1"),
    "api.deepseek.com": _Provider("DEEPSEEK_API_KEY", "(/v1|/beta|/anthropic/v1)?"),
    "api.x.ai": _Provider("XAI_API_KEY", "/v1"),
    "api.together.xyz": _Provider("TOGETHER_API_KEY", "/v1"),
    "api.fireworks.ai": _Provider("FIREWORKS_API_KEY", "/inference/v1"),
    "api.perplexity.ai": _Provider("PERPLEXITY_API_KEY", "(/v1)?"),
    "api.cerebras.ai": _Provider("CEREBRAS_API_KEY", "/v1"),
}
_AZURE: Final = _Provider("AZURE_OPENAI_API_KEY", "/openai(/v1|/deployments/[^/]+)?")
_AZURE_HOST: Final = ".openai.azure.com"

DEFAULT: Final = "api.openai.com"
"""Whom a bare `--live` names."""

_WRITTEN = re.compile(
    r"(?P<host>[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?)"
    r"(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<path>/[^=?#\s]*)?"
    r"(?:=(?P<variable>[A-Za-z_][A-Za-z0-9_]*))?"
)
_ADDRESS = re.compile(r"[0-9.]+")


@dataclass(frozen=True)
class Endpoint:
    """A host that a script may ask, and for what."""

    host: str
    port: int = HTTPS
    variable: str | None = None
    """The environment variable that holds its key; None where it needs none."""
    paths: tuple[str, ...] = ()
    """Paths that were named: open with all that stands below them."""

    @property
    def name(self) -> str:
        """The host, with its port where that is not 443: as exchanges call it."""
        return self.host if self.port == HTTPS else f"{self.host}:{self.port}"

    def opens(self, method: str, path: str) -> bool:
        """Whether the script may ask this; `path` is without its query, the method of a websocket is `WS`."""
        if _is_crooked(path):
            return False
        if any(path == each or path.startswith(each.rstrip("/") + "/") for each in self.paths):
            return True
        return self._answers(method, path)

    def _answers(self, method: str, path: str) -> bool:
        provider = _provider(self.host)
        if (provider is None and self.paths) or method not in _MODELS:
            return False
        prefix = provider.prefix if provider else _ANYWHERE
        return re.fullmatch(f"{prefix}(?:{_MODELS[method]})", path) is not None


def parse(text: str) -> Endpoint:
    """What `--live` names: `HOST[:PORT][/PATH][=ENV]`.

    Raises:
        UsageError: it is not of this form, or an address in place of a name.
    """
    found = _WRITTEN.fullmatch(text.strip())
    hint = "write HOST[:PORT][/PATH][=VARIABLE], such as api.openai.com or gateway.example.com/v1=GATEWAY_KEY"
    if found is None:
        if "://" in text:
            hint = f"leave out the scheme: {text.partition('://')[2]}"
        raise UsageError(f"--live {text}: not a host", hint=hint)
    host, port = found["host"].lower(), int(found["port"] or HTTPS)
    if _ADDRESS.fullmatch(host):
        raise UsageError(f"--live {text}: an address, not the name of a host", hint=hint)
    if not 0 < port < 2**16:
        raise UsageError(f"--live {text}: there is no port {port}", hint=hint)
    path = (found["path"] or "").rstrip("/")
    if _is_crooked(path):
        raise UsageError(f"--live {text}: {path} is not a plain path", hint="leave out .., // and escapes")
    provider = _provider(host)
    variable = found["variable"] or (provider.variable if provider else None)
    return Endpoint(host, port, variable, (path,) if path else ())


def merged(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """One endpoint for each host and port, with the paths of all that name it."""
    found: dict[tuple[str, int], Endpoint] = {}
    for each in endpoints:
        known = found.setdefault((each.host, each.port), each)
        if known is not each:
            paths = tuple(dict.fromkeys((*known.paths, *each.paths)))
            variable = known.variable or each.variable
            found[each.host, each.port] = replace(known, variable=variable, paths=paths)
    return tuple(found.values())


def complete(host: str | None, variable: str | None) -> tuple[str, str | None]:
    """The host that a script asks and the variable of its key, where one of the two is known at the most."""
    if host is not None:
        provider = _provider(host)
        return host, variable or (provider.variable if provider else None)
    named = next((each for each, provider in _KNOWN.items() if provider.variable == variable), None)
    return (named, variable) if named is not None else (DEFAULT, variable or _KNOWN[DEFAULT].variable)


def is_known(text: str) -> bool:
    """Whether this is the host of a known provider."""
    return _provider(text.partition(":")[0].partition("/")[0].lower()) is not None


def placeholder(variable: str) -> str:
    """What the script holds in place of the key in this variable."""
    return f"agentproof-{variable.lower().replace('_', '-')}"


def answers_as_model(path: str) -> bool:
    """Whether a model answers at such a path, at whatever host."""
    return re.search(f"(?:{_MODELS['POST']})$", path) is not None


def _provider(host: str) -> _Provider | None:
    return _AZURE if host.endswith(_AZURE_HOST) else _KNOWN.get(host)


def _is_crooked(path: str) -> bool:
    """Whether a server might take another path for it than it seems to be."""
    plain = unquote(path)
    return plain != path or "\\" in path or "//" in path or bool({".", ".."} & {*path.split("/")})

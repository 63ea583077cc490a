"""What is kept of a request and of an answer: short lists of headers, paths without keys, denials."""

import json
import re
from collections.abc import Iterable
from typing import Any, Final

REQUEST_HEADERS: Final = frozenset(
    {
        "accept",
        "anthropic-version",
        "content-type",
        "mcp-protocol-version",
        "mcp-session-id",
        "openai-beta",
    }
)
ANSWER_HEADERS: Final = frozenset(
    {
        "content-type",
        "mcp-session-id",
        "retry-after",
        "retry-after-ms",
        "www-authenticate",
        "x-request-id",
        "x-should-retry",
    }
)
"""Also what the client is given: what is not kept could not be given again."""
PROTOCOL: Final = "sec-websocket-protocol"
"""Of an answer: the one that the host chose."""

_KEY_IN_QUERY: Final = re.compile(
    r"(?<=[?&])((?:api[-_]?|access[-_]?|subscription[-_]?)?(?:key|token)|sig|signature|code)=[^&#]*",
    re.IGNORECASE,
)
_CODE: Final = re.compile(r"[a-z0-9_]{1,64}", re.IGNORECASE)


def kept_headers(headers: Iterable[tuple[str, str]], names: frozenset[str]) -> dict[str, str]:
    """Those of the list; the last value of each."""
    return {name: text for name, text in headers if name in names}


def kept_path(target: str) -> str:
    """A target without the values of keys in its query."""
    return _KEY_IN_QUERY.sub(r"\1=<key>", target)


def denial(body: bytes) -> bytes:
    """What is given and kept of a 401's body: providers show parts of the key in it."""
    error: dict[str, Any] = {  # Any: a part of a JSON document
        "message": "agentproof: the key was refused (401); what else the host said is not kept, "
        "because hosts repeat parts of the key there"
    }
    try:
        said = json.loads(body)["error"]
        error |= {
            name: said[name]
            for name in ("type", "code", "param")
            if isinstance(said.get(name), str) and _CODE.fullmatch(said[name])
        }
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return json.dumps({"error": error}).encode()

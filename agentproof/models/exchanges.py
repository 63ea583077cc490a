"""What a script asked of live models and what it was answered: the member `exchanges.json`.

Rules:
1. No key is in it: a header, URL or text that held one holds its placeholder.
2. Of headers there is a short list; of a body its JSON, its text, or a binary one's digest and size.
3. `asked` and `done` are ticks of one clock that counts: two exchanges overlap where one was asked before
   the other was done. Milliseconds count from the request, and are no part of the evidence.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field

from ..errors import FormatError
from ..limits import MAX_EXCHANGES_BYTES
from .wire import Count, ListOf, Sha256, Text, Version, Wire, decode, encode, exactly

EXCHANGES: Final = "exchanges.json"

End = Literal["complete", "cut", "none", "unreachable"]
"""How an answer ended: as its sender meant it; cut off; before it began; the host could not be reached."""

Chunk = Annotated[tuple[Count, str], Field(strict=False)]
"""Milliseconds since the request, and a text that arrived; a character is never split."""

Frame = Annotated[tuple[Literal["client", "server"], Count, str], Field(strict=False)]
"""Who sent it, milliseconds since the connection, the text of one whole message."""

_TIMELY_HEADERS = {"x-request-id", "request-id"}


class Host(Wire):
    """A host that the script could ask."""

    name: Text
    port: Count = 443
    variable: Text | None = None
    """The environment variable that held its key."""
    paths: ListOf[Text] = ()
    """What was named there, beyond the endpoints where a model answers."""
    to: Text | None = None
    """The stated address on loopback that answered in its place: it was not the provider."""


class Body(Wire):
    """What a request carried: exactly one of its JSON, its text, or a digest and a size."""

    document: Any = Field(default=None, alias="json")  # Any: a JSON document of the provider's API
    text: str | None = None
    sha256: Sha256 | None = None
    size: Count | None = None


class Answer(Wire):
    """What came back."""

    status: Count | None = None
    """Absent: the connection ended before there was one."""
    headers: dict[Text, Text] = Field(default={})
    chunks: ListOf[Chunk] = ()
    binary: Annotated[Literal[True], exactly(bool)] | None = None
    """The texts of the chunks are base64."""
    end: End
    left_after: Count | None = None
    """The client left when it had so many chunks, or frames."""
    closed: Count | None = None
    """The code with which the host closed a websocket."""

    @property
    def text(self) -> str:
        """All chunks together."""
        return "".join(text for _, text in self.chunks)

    @property
    def streamed(self) -> bool:
        """Whether it is a stream of server-sent events."""
        return self.headers.get("content-type", "").startswith("text/event-stream")


class Exchange(Wire):
    """One request and its answer, or one websocket."""

    host: Text
    """With its port, where that is not 443."""
    method: Text
    """`WS` for a websocket."""
    path: str
    """With its query; the value of a key in it is `<key>`."""
    headers: dict[Text, Text] = Field(default={})
    body: Body | None = None
    asked: Count
    done: Count
    answer: Answer
    frames: ListOf[Frame] = ()
    """Of a websocket, whose answer holds the status and the end alone."""


class Exchanges(Wire):
    """All exchanges of one run, in the order in which they were asked."""

    MAX_BYTES: ClassVar[int] = MAX_EXCHANGES_BYTES

    format: Literal["agentproof/exchanges"]
    version: Version
    recorded: Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$", max_length=20)]
    """A moment in UTC, to the second."""
    target: Sha256 | None = None
    """The wheel that was asked with; in a bundle it is there."""
    hosts: ListOf[Host]
    exchanges: ListOf[Exchange] = ()

    def timeless(self) -> dict[str, Any]:  # Any: a JSON document
        """The same without times and request ids: what goes into the evidence."""
        shape = self.to_shape()
        del shape["recorded"]
        for exchange in shape.get("exchanges", ()):
            answer = exchange["answer"]
            if "headers" in answer:
                kept = {name: text for name, text in answer["headers"].items() if name not in _TIMELY_HEADERS}
                answer["headers"] = kept
            if "chunks" in answer:
                answer["chunks"] = [text for _, text in answer["chunks"]]
            if "frames" in exchange:
                exchange["frames"] = [[who, text] for who, _, text in exchange["frames"]]
        return shape

    def changed(self, change: Callable[[str], str]) -> Self:
        """The same with `change` applied to every text of requests and answers, as redaction does.

        An answer in which a text across chunks changes is one chunk from there on.
        """
        shape = self.to_shape()
        for exchange in shape.get("exchanges", ()):
            exchange["path"] = change(exchange["path"])
            for headers in (exchange.get("headers", {}), exchange["answer"].get("headers", {})):
                headers.update({name: change(text) for name, text in headers.items()})
            if "body" in exchange:
                exchange["body"] = _changed(exchange["body"], change)
            if chunks := exchange["answer"].get("chunks"):
                exchange["answer"]["chunks"] = _changed_chunks(chunks, change)
            if "frames" in exchange:
                exchange["frames"] = [[who, ms, change(text)] for who, ms, text in exchange["frames"]]
        return self.from_shape(shape)

    def request_ids(self) -> Iterator[str]:
        """The ids that hosts gave to requests, as they say."""
        for exchange in self.exchanges:
            for name in sorted(_TIMELY_HEADERS):
                if name in exchange.answer.headers:
                    yield exchange.answer.headers[name]


def changed_body(body: Body | None, change: Callable[[str], str]) -> Body | None:
    """A body with `change` applied to its texts."""
    return None if body is None else Body.from_shape(_changed(body.to_shape(), change))


def _changed(part: Any, change: Callable[[str], str]) -> Any:  # Any: a part of a JSON document
    match part:
        case str():
            return change(part)
        case list():
            return [_changed(each, change) for each in part]
        case dict():
            return {change(name): _changed(each, change) for name, each in part.items()}
    return part


def _changed_chunks(chunks: list[tuple[int, str]], change: Callable[[str], str]) -> list[tuple[int, str]]:
    whole = change("".join(text for _, text in chunks))
    parts = [(ms, change(text)) for ms, text in chunks]
    return parts if "".join(text for _, text in parts) == whole else [(chunks[0][0], whole)]


def body_of(data: bytes, kind: str) -> Body | None:
    """What is kept of a request's body; `kind` is its content type. None where there is none."""
    if not data:
        return None
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return binary_body(data)
    document = _document(text) if "json" in kind else None
    return Body(text=text) if document is None else Body(json=document)


def binary_body(data: bytes) -> Body:
    """What is kept of a body that is no text."""
    return Body(sha256=hashlib.sha256(data).hexdigest(), size=len(data))


def _document(text: str) -> Any:  # Any: a JSON document
    """What the text is as JSON; None for what our own encoding cannot hold."""
    try:
        document = json.loads(text)
        decode(encode(document), limit=MAX_EXCHANGES_BYTES)
    except (ValueError, RecursionError, FormatError):
        return None
    return document

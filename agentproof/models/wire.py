"""The base of every JSON object that agentproof writes or signs.

Rules:
1. UTF-8, sorted keys, two-space indent, one LF at the end.
2. A field that has its default value is absent; a default (or null) that is written out is refused.
3. The bytes accepted are exactly the bytes that would be written: what parses is encoded again and
   compared, which catches duplicate keys, white space, escapes and other spellings of one value.
4. Size and number of lines are capped before parsing, and each line holds one key and one value at
   most, so that a parser's memory is bounded by the number of lines; nesting and digits are capped by
   the parser (pydantic's jiter: 200 levels, 4,300 digits).
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, Union, get_args

import pydantic_core
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import PydanticCustomError, core_schema

from ..errors import FormatError
from ..limits import MAX_KEYS, MAX_LINES

Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", max_length=64)]
"""A lowercase hexadecimal SHA-256; `max_length` makes `$` mean the same in every regex dialect."""

Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A number of things or bytes, inside the integer range that every JSON reader keeps exact."""

MAX_TEXT = 4096
Text = Annotated[str, Field(max_length=MAX_TEXT)]
"""A short text of our own or of the SDK's vocabulary (names, codes, versions)."""

_SEGMENT = r"[A-Za-z0-9_+.,=@()~!#%&-](?:[A-Za-z0-9_+.,=@()~!#%& -]*[A-Za-z0-9_+,=@()~!#%&-])?"
MEMBER_PATH = rf"{_SEGMENT}(?:/{_SEGMENT})*"
MemberPath = Annotated[str, Field(pattern=f"^{MEMBER_PATH}$", max_length=240)]
"""A relative path of a member: ASCII, POSIX separators, no segment that ends in a dot or a space."""


_Item = TypeVar("_Item")
_Model = TypeVar("_Model", bound=BaseModel)

ListOf = Annotated[tuple[_Item, ...], Field(strict=False, fail_fast=True)]
"""A JSON array, held as a tuple. Validation stops at the first wrong item: each error costs a kilobyte."""


def exactly(kind: type) -> BeforeValidator:
    """What goes before a literal that is no text: Python says that False is 0, and that 1.0 is True."""

    def check(value: object) -> object:
        if type(value) is not kind:
            raise PydanticCustomError(f"{kind.__name__}_type", f"Input should be of type {kind.__name__}")
        return value

    return BeforeValidator(check)


Version = Annotated[Literal[0], exactly(int)]
"""The version of every format."""


def bounded(text: str) -> str:
    """A text of any length as a `Text`: a longer one is cut, and says so."""
    return text if len(text) <= MAX_TEXT else f"{text[: MAX_TEXT - 1]}…"


_SAID: Mapping[str, str] = {"model_type": "Input should be an object", "tuple_type": "Input should be a list"}
"""In words of JSON, what pydantic says in those of Python."""


class Wire(BaseModel):
    """An immutable value with one byte encoding; its validator is built when the first value comes."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", allow_inf_nan=False, defer_build=True)

    MAX_BYTES: ClassVar[int] = 8 * 2**20

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """Parse the canonical encoding.

        Raises:
            FormatError: too large, not JSON, not of this shape (named field), or not the canonical encoding.
        """
        if len(raw) > cls.MAX_BYTES:
            raise FormatError(f"{len(raw)} bytes is over the limit of {cls.MAX_BYTES}", reason="too_large")
        value = cls._validated(parse(raw))
        if (name := _written_default(value)) is not None:
            raise FormatError(f"{name} is written out although it is its default", reason="not_canonical")
        return value

    @classmethod
    def from_shape(cls, shape: object) -> Self:
        """Build from plain data of our own making, where defaults may be left out.

        Raises:
            FormatError: it is not of this shape.
        """
        return cls._validated(pydantic_core.from_json(encode(shape)))

    @classmethod
    def _validated(cls, document: object) -> Self:
        """Of a JSON document that nobody else holds; raises FormatError."""
        try:
            return cls.model_validate(document)
        except ValidationError as error:
            raise FormatError(first_problem(error)) from error

    def to_shape(self) -> dict[str, Any]:  # Any: a JSON document
        """This value as plain dicts and lists."""
        return self.model_dump(mode="json", by_alias=True, exclude_defaults=True)

    def to_bytes(self) -> bytes:
        """The one encoding; its SHA-256 is this value's identity."""
        return encode(self.to_shape())


def first_problem(error: ValidationError) -> str:
    """Where a value is wrong first, and what is wrong with it."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"]) or "document"
    ours = first["type"] == "value_error"
    return f"{where}: {first['ctx']['error'] if ours else _SAID.get(first['type'], first['msg'])}"


class ByKind:
    """Annotates one of some models that are told apart by their field `kind`.

    A discriminated union of pydantic's builds the validators of all of them; this one of those that occur.
    """

    def __init__(self, models: tuple[type["Wire"], ...]) -> None:
        self._models = models

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(_reader_of(self._models))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:  # Any: a JSON Schema
        told: Any = Annotated[Union[self._models], Field(discriminator="kind")]  # noqa: UP007  (made of a tuple)
        return handler(TypeAdapter(told).core_schema)


def kinds_of(models: Iterable[type[_Model]]) -> Mapping[str, type[_Model]]:
    """Models by their kind."""
    return {get_args(each.model_fields["kind"].annotation)[0]: each for each in models}


def _reader_of(models: tuple[type[Wire], ...]) -> Callable[[object], Wire]:
    by_kind = kinds_of(models)

    def read(value: object) -> Wire:
        if isinstance(value, models):
            return value
        kind = value.get("kind") if isinstance(value, dict) else None
        model = by_kind.get(kind) if isinstance(kind, str) else None
        if model is None:
            raise PydanticCustomError("unknown_kind", "no event of a known kind")
        return model.model_validate(value)

    return read


def encode(document: object) -> bytes:
    """Encode plain JSON data in canonical form.

    Raises:
        FormatError: NaN or infinity, a lone surrogate, or an integer too long to be written.
    """
    try:
        # See `_is_encoding`; what was sorted once is parsed in that order.
        if (indented := _indented(_compact(document))) is not None:
            return indented
        text = json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode("utf-8")
    except ValueError as error:  # allow_nan, UnicodeEncodeError, the 4,300-digit limit
        raise FormatError(f"cannot be encoded: {error}", reason="not_encodable") from error


def compact(document: object) -> bytes:
    """What two documents share if and only if their encodings are the same; raises as `encode` does."""
    try:
        return _compact(document)
    except ValueError as error:
        raise FormatError(f"cannot be encoded: {error}", reason="not_encodable") from error


_COMPACT = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _compact(document: object) -> bytes:
    return _COMPACT.encode(document).encode("utf-8")


def _indented(compact: bytes) -> bytes | None:
    """The one encoding of what `compact` holds; None where only the standard library can write it."""
    try:
        document = pydantic_core.from_json(compact, allow_inf_nan=False)
    except ValueError:  # nested more deeply than its limit
        return None
    if pydantic_core.to_json(document) != compact:
        return None
    indented: bytes = pydantic_core.to_json(document, indent=2)
    return indented + b"\n"


def decode(raw: bytes, *, limit: int) -> Any:  # Any: a JSON document of no fixed shape (a state)
    """Parse any JSON document that is in the canonical encoding.

    Raises:
        FormatError: too large, not JSON, nested too deeply, or not the canonical encoding.
    """
    if len(raw) > limit:
        raise FormatError(f"{len(raw)} bytes is over the limit of {limit}", reason="too_large")
    return parse(raw)


_STRING = rb'"[^"\\\x00-\x1f]*+(?:\\.[^"\\\x00-\x1f]*+)*+"'
# 4,300 is Python's own limit on digits; brackets stand alone or are those of an empty container.
_ATOM = rb"[-+.0-9A-Za-z]{1,4300}+|[\[{][\]}]?+"
_LINES = (
    rb"(?: {0,400}+(?:"
    + _STRING
    + rb"(?:: (?:"
    + _STRING
    + rb"|"
    + _ATOM
    + rb"))?+|"
    + _ATOM
    + rb"|[\]}]),?+\n)*+"
)
"""What every document in the canonical encoding matches, in linear time and without allocating."""


def parse(raw: bytes) -> Any:  # Any: a JSON document
    """The document in `raw`, which is in the canonical encoding; raises as `decode` does."""
    # No document has more lines, values or keys than bytes: most need not be looked at for these.
    lines = raw.count(b"\n") if len(raw) > min(MAX_LINES, MAX_KEYS) else 0
    if lines > MAX_LINES:
        raise FormatError(f"{lines} lines are over the limit of {MAX_LINES}", reason="too_large")
    # Each value but the first of its container follows a comma: few of these bound what a parser builds,
    # and only then is it needless to look at the lines first.
    if len(raw) > MAX_LINES and raw.count(b",") + raw.count(b"[") + raw.count(b"{") > MAX_LINES:
        _check_lines(raw)
    try:
        document = pydantic_core.from_json(raw, allow_inf_nan=False)
        canonical = _is_encoding(raw, document)
    except ValueError as error:  # jiter's errors, and a number that is infinite (1e999)
        _check_lines(raw)
        raise FormatError(f"not JSON: {error}") from error
    if not canonical:
        _check_lines(raw)
        raise FormatError("not in the canonical encoding", reason="not_canonical")
    if lines > MAX_KEYS and _has_too_many_keys(document):
        raise FormatError(f"an object has more than {MAX_KEYS} keys", reason="too_large")
    return document


def _check_lines(raw: bytes) -> None:
    """Hold the lines to what a line of the canonical encoding can look like."""
    match = re.match(_LINES, raw)  # few documents come here, and to compile it takes 2 ms
    end = match.end() if match else 0
    if end != len(raw):
        number = raw.count(b"\n", 0, end) + 1
        raise FormatError(f"line {number} is not in the canonical encoding", reason="not_canonical")


def _has_too_many_keys(document: Any) -> bool:  # Any: a JSON document
    waiting = [document]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if len(part) > MAX_KEYS:
                return True
            waiting += [each for each in part.values() if isinstance(each, dict | list)]
        elif isinstance(part, list):
            waiting += [each for each in part if isinstance(each, dict | list)]
    return False


def _is_encoding(raw: bytes, document: Any) -> bool:  # Any: a JSON document
    """Whether `encode(document) == raw`, in a third of the time and memory where no float is involved.

    Pydantic's serialiser indents and spells as `encode` does, but for floats; it does not sort.
    """
    indented: bytes = pydantic_core.to_json(document, indent=2)
    if len(indented) + 1 == len(raw) and raw.startswith(indented) and _are_sorted_without_floats([document]):
        return raw.endswith(b"\n")
    return encode(document) == raw


def _are_sorted_without_floats(parts: Iterable[Any]) -> bool:  # Any: JSON documents
    known: list[str] = []
    for each in parts:
        kind = type(each)
        if kind is dict:
            keys = [*each]
            # Of many objects in a row all have the same keys.
            if keys != known:
                known = sorted(keys)
                if keys != known:
                    return False
            # The parser's limit on nesting bounds this one's.
            if not _are_sorted_without_floats(each.values()):
                return False
        elif kind is float or (kind is list and not _are_sorted_without_floats(each)):
            return False
    return True


def _written_default(value: Wire) -> str | None:
    """The name of a field somewhere in `value` that was given although it has its default."""
    fields, given = type(value).model_fields, value.model_fields_set
    for name, part in value.__dict__.items():
        if name in given and part == fields[name].default:
            return name
        for each in part if type(part) is tuple else (part,):
            if isinstance(each, Wire) and (found := _written_default(each)) is not None:
                return f"{name}.{found}"
    return None

"""The base of every JSON object that agentproof writes or signs.

Rules:
1. UTF-8, sorted keys, two-space indent, one LF at the end.
2. A field that has its default value is absent; a default (or null) that is written out is refused.
3. The bytes accepted are exactly the bytes that would be written: what parses is encoded again and
   compared, which catches duplicate keys, white space, escapes and other spellings of one value.
4. Size is capped before parsing; nesting is capped by the parser (pydantic's jiter: 200 levels).
"""

import json
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Self

import pydantic_core
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from ..errors import FormatError

Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$", max_length=64)]
"""A lowercase hexadecimal SHA-256; `max_length` makes `$` mean the same in every regex dialect."""

Count = Annotated[int, Field(ge=0, le=2**53 - 1)]
"""A number of things or bytes, inside the integer range that every JSON reader keeps exact."""

Text = Annotated[str, StringConstraints(max_length=4096)]
"""A short text of our own or of the SDK's vocabulary (names, codes, versions)."""

_SEGMENT = r"[A-Za-z0-9_+.,=@()~!#%&-](?:[A-Za-z0-9_+.,=@()~!#%& -]*[A-Za-z0-9_+,=@()~!#%&-])?"
MEMBER_PATH = rf"{_SEGMENT}(?:/{_SEGMENT})*"
MemberPath = Annotated[str, StringConstraints(pattern=f"^{MEMBER_PATH}$", max_length=240)]
"""A relative path of a member: ASCII, POSIX separators, no segment that ends in a dot or a space."""


class Wire(BaseModel):
    """An immutable value with one byte encoding."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False, defer_build=True)

    MAX_BYTES: ClassVar[int] = 8 * 2**20

    @classmethod
    def from_bytes(cls, raw: bytes) -> Self:
        """Parse the one encoding.

        Raises:
            FormatError: too large, not JSON, not of this shape (named field), or not the one encoding.
        """
        if len(raw) > cls.MAX_BYTES:
            raise FormatError(f"{len(raw)} bytes is over the limit of {cls.MAX_BYTES}", reason="too_large")
        value = cls._validated(raw)
        if value.to_bytes() != raw:
            raise FormatError(f"{cls.__name__} is not in its one encoding", reason="not_canonical")
        return value

    @classmethod
    def from_shape(cls, shape: object) -> Self:
        """Build from plain data of our own making, where defaults may be left out.

        Raises:
            FormatError: it is not of this shape.
        """
        return cls._validated(encode(shape))

    @classmethod
    def _validated(cls, raw: bytes) -> Self:
        try:
            return cls.model_validate_json(raw)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "document"
            raise FormatError(f"{where}: {first['msg']}") from error

    def to_shape(self) -> dict[str, Any]:  # Any: a JSON document
        """This value as plain dicts and lists."""
        shape: dict[str, Any] = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if not field.is_required() and value == field.default:
                continue
            shape[field.alias or name] = _plain(value)
        return shape

    def to_bytes(self) -> bytes:
        """The one encoding; its SHA-256 is this value's identity."""
        return encode(self.to_shape())


def _plain(value: object) -> object:
    if isinstance(value, Wire):
        return value.to_shape()
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


def encode(document: object) -> bytes:
    """Encode plain JSON data in the one form.

    Raises:
        FormatError: NaN or infinity, a lone surrogate, or an integer too long to be written.
    """
    try:
        text = json.dumps(document, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        return (text + "\n").encode("utf-8")
    except ValueError as error:  # allow_nan, UnicodeEncodeError, the 4,300-digit limit
        raise FormatError(f"cannot be encoded: {error}", reason="not_encodable") from error


def decode(raw: bytes, *, limit: int) -> Any:  # Any: a JSON document of no fixed shape (a state)
    """Parse any JSON document that is in the one encoding.

    Raises:
        FormatError: too large, not JSON, nested too deeply, or not the one encoding.
    """
    if len(raw) > limit:
        raise FormatError(f"{len(raw)} bytes is over the limit of {limit}", reason="too_large")
    try:
        document = pydantic_core.from_json(raw, allow_inf_nan=False)
    except ValueError as error:
        raise FormatError(f"not JSON: {error}") from error
    if encode(document) != raw:
        raise FormatError("not in the one encoding", reason="not_canonical")
    return document

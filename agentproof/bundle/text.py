"""A bundle as text: a block to paste into an issue, and how it is found again in what was copied from there.

    -----BEGIN AGENTPROOF BUNDLE-----
    bundle: sha256:<64 digits>
    length: <characters of base64>
    <base64 of one xz stream of the bundle's zip>
    -----END AGENTPROOF BUNDLE-----

1. What counts is the zip that comes out, and its bundle id, which the block names. The bytes of xz differ
   from one version of its library to the next and are compared with nothing.
2. Ends of lines, blanks, `>` of quoting, characters without width and HTML's escapes are no part of a block;
   what stands before, between and after blocks is ignored.
3. A block that is not whole is refused, and it is said what is missing; nothing is guessed.
4. One stream of xz, nothing behind it, within a memory limit; it gives no more bytes than a zip may have.
"""

import base64
import binascii
import html
import re
from dataclasses import dataclass
from types import ModuleType
from typing import Final

from ..errors import BundleError, CannotDoError
from ..limits import MAX_BUNDLE_BYTES, MAX_TEXT_BLOCKS, MAX_XZ_MEMORY

BEGIN: Final = "-----BEGIN AGENTPROOF BUNDLE-----"
END: Final = "-----END AGENTPROOF BUNDLE-----"

NAME: Final = b"AGENTPROOF"
"""What the marks of a block hold in one piece, in UTF-8."""
UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
"""What a file in UTF-16 begins with."""

_WIDTH: Final = 100
_BLANK: Final = r"(?:\s|&nbsp;|&#160;)+"
_MARK: Final = re.compile(rf"-----(BEGIN|END){_BLANK}AGENTPROOF{_BLANK}BUNDLE-----")
_WITHOUT_WIDTH: Final = dict.fromkeys(map(ord, "\u00ad\u200b\u200c\u200d\u2060\ufeff"))
_HEAD: Final = re.compile(r"bundle:sha256:([0-9a-f]{64})length:([1-9][0-9]{0,8})(?=/|\Z)")
"""What follows is xz, whose first byte is always the same one, and no digit in base64."""
_NO_LETTER: Final = re.compile(r"[^A-Za-z0-9+/=]")
_LONG: Final = re.compile(r"[A-Za-z0-9+/]{60}")
_XZ_AS_BASE64: Final = "/Td6WFo"
_AGAIN: Final = f"copy it again, from {BEGIN} to {END}"
_MIN_DICTIONARY: Final = 2**16


@dataclass(frozen=True)
class Block:
    """One block in a text, as it was found; nothing of it is believed yet."""

    number: int
    """From 1."""
    line: int
    """Where it begins, from 1."""
    inside: str
    """What stands between its two marks."""
    missing: str | None = None
    """Which of them is not there: `beginning` or `end`."""

    @property
    def name(self) -> str:
        """For people."""
        return f"block {self.number}, at line {self.line}"


def text_of(data: bytes, *, bundle_id: str) -> str:
    """The block that holds this zip.

    Raises:
        CannotDoError: this Python has no lzma.
    """
    lzma = _lzma()
    dictionary = max(_MIN_DICTIONARY, 1 << (len(data) - 1).bit_length())
    chain = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": dictionary}]
    packed = lzma.compress(data, format=lzma.FORMAT_XZ, check=lzma.CHECK_CRC32, filters=chain)
    letters = base64.b64encode(packed).decode("ascii")
    lines = [letters[at : at + _WIDTH] for at in range(0, len(letters), _WIDTH)]
    return "\n".join([BEGIN, f"bundle: sha256:{bundle_id}", f"length: {len(letters)}", *lines, END])


def decoded(data: bytes) -> str:
    """The letters of a file that people saved: UTF-8, or UTF-16 with its mark; what is neither cannot be in
    a block."""
    if data.startswith(UTF_16):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8", "replace")


def find_blocks(text: str) -> list[Block]:
    """The blocks in a text, in their order; those that are not whole too.

    Raises:
        BundleError: there are more of them than anybody pastes.
    """
    found: list[Block] = []

    def add(at: int, inside: str, missing: str | None = None) -> None:
        found.append(Block(len(found) + 1, text.count("\n", 0, at) + 1, inside, missing))

    marks = list(_MARK.finditer(text))
    if len(marks) > 2 * MAX_TEXT_BLOCKS:
        raise BundleError("too_many", f"more than {MAX_TEXT_BLOCKS} bundles in one text")
    begun: re.Match[str] | None = None
    done = 0
    for mark in marks:
        if mark[1] == "BEGIN":
            if begun is not None and "bundle:" in text[begun.end() : mark.start()]:
                add(begun.start(), text[begun.end() : mark.start()], "end")
            begun = mark
        elif begun is not None:
            add(begun.start(), text[begun.end() : mark.start()])
            begun, done = None, mark.end()
        elif _LONG.search(text, done, mark.start()):
            add(mark.start(), text[done : mark.start()], "beginning")
            done = mark.end()
    if begun is not None and "bundle:" in text[begun.end() :]:
        add(begun.start(), text[begun.end() :], "end")
    return found


def why_none(text: str) -> str:
    """What to do about a text without a block."""
    if _XZ_AS_BASE64 in text:
        return f"the first and the last line of a bundle are missing: {_AGAIN}"
    return f"a bundle as text begins with {BEGIN} (`agentproof pack BUNDLE --text` writes one)"


def zip_in(block: Block) -> tuple[bytes, str]:
    """The zip in a block, and the id that the bundle in it must have.

    Raises:
        BundleError: the block is not whole, or holds something else.
        CannotDoError: this Python has no lzma.
    """
    if block.missing is not None:
        raise BundleError(
            "truncated", f"{block.name}: its {block.missing} is cut off{_had(block)}", hint=_AGAIN
        )
    found = _HEAD.match(words := _words(block))
    if found is None:
        raise BundleError(
            "malformed",
            f"{block.name}: it does not begin with `bundle: sha256:…` and `length: …`",
            hint=_AGAIN,
        )
    identity, length, letters = found[1], int(found[2]), words[found.end() :]
    if len(letters) != length:
        raise BundleError(
            "truncated", f"{block.name}: {len(letters):,} of {length:,} characters are there", hint=_AGAIN
        )
    if (wrong := _NO_LETTER.search(letters)) is not None:
        raise BundleError("malformed", f"{block.name}: {wrong[0]!r} is no letter of base64", hint=_AGAIN)
    try:
        packed = base64.b64decode(letters, validate=True)
    except binascii.Error as error:
        raise BundleError("malformed", f"{block.name}: no base64 ({error})", hint=_AGAIN) from error
    return _unpacked(packed, block), identity


def _words(block: Block) -> str:
    """What a block says, without what was put between its words on the way."""
    plain = html.unescape(html.unescape(block.inside)).translate(_WITHOUT_WIDTH)
    return "".join(word.lstrip(">") for word in plain.split())


def _had(block: Block) -> str:
    """How much of a block without its end may be there, where it says how much it had."""
    found = _HEAD.match(words := _words(block))
    if block.missing != "end" or found is None:
        return ""
    length = int(found[2])
    return f"; at most {min(len(words) - found.end(), length):,} of {length:,} characters are there"


def _unpacked(packed: bytes, block: Block) -> bytes:
    """What one xz stream holds, by rule 4."""
    lzma = _lzma()
    try:
        stream = lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=MAX_XZ_MEMORY)
        data: bytes = stream.decompress(packed, max_length=MAX_BUNDLE_BYTES + 1)
    except lzma.LZMAError as error:
        raise BundleError("malformed", f"{block.name}: xz cannot be read ({error})", hint=_AGAIN) from error
    if len(data) > MAX_BUNDLE_BYTES:
        raise BundleError("too_large", f"{block.name}: it holds more than {MAX_BUNDLE_BYTES} bytes")
    if not stream.eof:
        raise BundleError("truncated", f"{block.name}: the xz stream does not come to its end", hint=_AGAIN)
    # Behind 12 bytes of header the first block begins, with its size and its number of filters.
    if packed[7] != lzma.CHECK_CRC32 or (data and packed[13] & 3):
        raise BundleError("malformed", f"{block.name}: xz with another check or another filter than ours")
    if stream.unused_data:
        raise BundleError(
            "not_canonical",
            f"{block.name}: {len(stream.unused_data)} bytes behind the xz stream",
            hint=_AGAIN,
        )
    return data


def _lzma() -> ModuleType:
    try:
        import lzma  # noqa: PLC0415 (5 ms, and some Pythons are built without it)
    except ImportError as error:
        raise CannotDoError(
            "this Python was built without lzma, which reads and writes bundles as text",
            hint="take the zip, or another Python",
        ) from error
    return lzma

"""Every small change of some bytes: replaced, replaced by white space, inserted, deleted, cut, added to."""

from collections.abc import Iterator
from dataclasses import replace

from agentproof.check import Checked, Reader, check_bundle
from agentproof.errors import BundleError
from agentproof.store import Bundle, from_zip_bytes

WHITE_SPACE = (b" ", b"\n", b"\t", b"\r")


def mutated(data: bytes, *, step: int = 1) -> Iterator[tuple[str, bytes]]:
    """Changes at every `step`th byte, each with a name, and never the same bytes again."""
    for at in range(0, len(data), step):
        before, byte, after = data[:at], data[at : at + 1], data[at + 1 :]
        blank = WHITE_SPACE[at % len(WHITE_SPACE)]
        yield f"replace {at}", before + bytes([byte[0] ^ (1 << at % 8)]) + after
        if blank != byte:
            yield f"blank {at}", before + blank + after
        yield f"insert {at}", before + bytes([at % 256]) + byte + after
        yield f"insert blank {at}", before + blank + byte + after
        yield f"delete {at}", before + after
    for at in range(0, len(data), max(step * 16, 1)):
        yield f"cut at {at}", data[:at]
    for more in (b"\0", b"\n", b" ", b"{}", data[:64], data):
        yield f"append {more[:8]!r}", data + more


def files_of(bundle: Bundle) -> Iterator[str]:
    """The manifest, the attestations and the text members."""
    yield "manifest.json"
    yield from (f"attestations/{name}" for name in bundle.attestations)
    yield from (path for path in bundle.members if not path.startswith("wheels/"))


def with_file(bundle: Bundle, path: str, data: bytes) -> Bundle:
    """The bundle with one file exchanged."""
    if path == "manifest.json":
        return replace(bundle, manifest=data)
    if path.startswith("attestations/"):
        name = path.removeprefix("attestations/")
        return replace(bundle, attestations={**bundle.attestations, name: data})
    return replace(bundle, members={**bundle.members, path: data})


def file_of(bundle: Bundle, path: str) -> bytes:
    """The bytes of one file."""
    if path == "manifest.json":
        return bundle.manifest
    return (
        bundle.members[path]
        if path in bundle.members
        else bundle.attestations[path.removeprefix("attestations/")]
    )


def accepted_in_a_directory(
    bundle: Bundle, path: str, reader: Reader, *, step: int, start: int = 0
) -> list[str]:
    """The changes of one file that are not INVALID."""
    return [
        name
        for name, data in mutated(file_of(bundle, path), step=step)
        if check_bundle(with_file(bundle, path, data), reader=reader).status != "INVALID"
    ]


def accepted_in_a_zip(raw: bytes, reader: Reader, *, step: int) -> list[str]:
    """The changes of a zip that are not INVALID."""
    return [name for name, data in mutated(raw, step=step) if _check(data, reader) != "INVALID"]


def _check(raw: bytes, reader: Reader) -> str:
    try:
        bundle = from_zip_bytes(raw)
    except BundleError:
        return "INVALID"
    checked: Checked = check_bundle(bundle, reader=reader)
    return checked.status

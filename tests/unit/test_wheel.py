"""One reader of wheels: what a target is held to, and what passes for a wheel that is only installed."""

import bz2
import contextlib
import hashlib
import io
import lzma
import random
import zipfile
from collections.abc import Callable
from datetime import date

import pytest

from agentproof.bundle import wheel as _wheel
from agentproof.bundle.wheel import Archive, read_dependency, read_wheel
from agentproof.environment.target import check_served, read_given
from agentproof.errors import BundleError, CannotDoError, UsageError
from agentproof.limits import MAX_WHEEL_NAME
from tests.wheels import make_wheel

INFO = "demo-1.0.dist-info"


def _zipped(compression: int = zipfile.ZIP_DEFLATED, *, comment: bytes = b"", twice: bool = False) -> bytes:
    _, data = make_wheel()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        new.comment = comment
        for name in old.namelist():
            # METADATA, WHEEL and RECORD as ever: those are inflated.
            new.writestr(name, old.read(name), zipfile.ZIP_DEFLATED if "dist-info" in name else compression)
        if twice:
            with pytest.warns(UserWarning, match="Duplicate name"):
                new.writestr("demo/__init__.py", b"VALUE = 2\n")
    return out.getvalue()


def _with_record(change: Callable[[str], str]) -> bytes:
    _, data = make_wheel()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            raw = old.read(name)
            new.writestr(name, change(raw.decode()).encode() if name.endswith("/RECORD") else raw)
    return out.getvalue()


def _without_sizes(text: str) -> str:
    return "".join(f"{line.rpartition(',')[0]},\n" for line in text.splitlines())


def _with_flag(data: bytes, flag: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        start = archive.start_dir
    changed = bytearray(data)
    changed[start + 8] |= flag
    return bytes(changed)


def _zip64() -> bytes:
    """As a writer does that does not know how long a file will be."""
    _, data = make_wheel()
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            with new.open(zipfile.ZipInfo(name), "w", force_zip64=True) as stream:
                stream.write(old.read(name))
    return out.getvalue()


ODD: dict[str, tuple[Callable[[], bytes], str]] = {
    "a comment": (lambda: _zipped(comment=b"signed"), "has a comment"),
    "RECORD without sizes": (lambda: _with_record(_without_sizes), "is not as its RECORD says"),
    "RECORD without its own row": (
        lambda: _with_record(lambda text: text.replace(f"{INFO}/RECORD,,\n", "")),
        "does not list demo-1.0.dist-info/RECORD",
    ),
    "LZMA": (lambda: _zipped(zipfile.ZIP_LZMA), "packed in another way than deflate"),
    "bzip2": (lambda: _zipped(zipfile.ZIP_BZIP2), "packed in another way than deflate"),
    "zip64": (_zip64, "another size in its own record"),
}


@pytest.mark.parametrize("kind", ODD)
def test_what_a_check_refuses_is_refused_before_anything_is_resolved(kind: str) -> None:
    make, said = ODD[kind]
    name, data = make_wheel()[0], make()
    with pytest.raises(BundleError, match=said):
        read_wheel(data, name)
    with pytest.raises(UsageError, match=said) as given:
        read_given(data, name)
    assert name in given.value.message
    assert given.value.hint is not None
    with pytest.raises(CannotDoError, match=said):
        check_served(data, name)


@pytest.mark.parametrize("kind", ODD)
def test_the_same_passes_for_a_wheel_that_is_only_installed(kind: str) -> None:
    name, sound = make_wheel()
    assert read_dependency(ODD[kind][0](), name).record == read_dependency(sound, name).record


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (_with_flag(make_wheel()[1], 1), "encrypted"),
        (_zipped(twice=True), "there twice"),
        (make_wheel()[1] + b"\0", r"no whole zip|its end record"),
        (make_wheel()[1][:-40], "no whole zip"),
        (b"", "no whole zip"),
        (bz2.compress(b""), "no whole zip"),
        (lzma.compress(b""), "no whole zip"),
    ],
)
def test_what_no_installer_reads_in_one_way_is_refused_for_both(data: bytes, said: str) -> None:
    for read in (read_wheel, read_dependency):
        with pytest.raises(BundleError, match=said):
            read(data, make_wheel()[0])


@pytest.mark.parametrize("read", [read_wheel, read_dependency])
def test_a_wheel_tells_what_it_says_of_itself(read: Callable[[bytes, str], _wheel.Distribution]) -> None:
    name, data = make_wheel(
        "Demo.Thing", "1.0", metadata="Requires-Python: >=3.10\nLicense: of others:\n Name: libother\n"
    )
    told = read(data, name.replace("Demo.Thing", "demo_thing"))
    assert (told.name, told.version, told.requires_python) == ("demo-thing", "1.0", ">=3.10")
    assert (told.wheel_version, told.newest) == ("1.0", date(2020, 1, 1))
    assert {path.rpartition("/")[2] for path in told.record} == {"__init__.py", "METADATA", "WHEEL"}


@pytest.mark.parametrize(
    ("renamed", "said"),
    [
        ("demo-1.0.tar.gz", "not a wheel's file name"),
        ("demo.whl", "not a wheel's file name"),
        ("demo-1.0.whl", "not a wheel's file name"),
        ("demo-1.0-py3-none-any.zip", "not a wheel's file name"),
        ("démo-1.0-py3-none-any.whl", "not a wheel's file name"),
        (f"demo-1.0-py3-none-{'x' * MAX_WHEEL_NAME}.whl", "over the limit of 200"),
        ("other-1.0-py3-none-any.whl", "its file name says other 1.0, its METADATA demo 1.0"),
        ("demo-1.1-py3-none-any.whl", "its file name says demo 1.1, its METADATA demo 1.0"),
    ],
)
@pytest.mark.parametrize("read", [read_wheel, read_dependency])
def test_a_wheel_under_a_wrong_name_is_refused(
    renamed: str, said: str, read: Callable[[bytes, str], object]
) -> None:
    with pytest.raises(BundleError, match=said):
        read(make_wheel()[1], renamed)


@pytest.mark.parametrize("digest", ["md5=abcd", "sha256=abcd", "sha256=é", "plain"])
@pytest.mark.parametrize("read", [read_wheel, read_dependency])
def test_a_record_with_a_weak_or_broken_digest_is_refused(
    digest: str, read: Callable[[bytes, str], object]
) -> None:
    name, data = make_wheel(record={"demo/__init__.py": digest})
    with pytest.raises(BundleError, match=r"demo/__init__\.py no (digest of sha256|SHA-256 or better)"):
        read(data, name)


@pytest.mark.parametrize("member", ["RECORD", "METADATA"])
@pytest.mark.parametrize("read", [read_wheel, read_dependency])
def test_a_wheel_without_its_own_description_is_refused(
    member: str, read: Callable[[bytes, str], object]
) -> None:
    name, data = make_wheel(without=(f"{INFO}/{member}",))
    with pytest.raises(BundleError, match=r"no demo-1\.0\.dist-info|0 \.dist-info directories"):
        read(data, name)


@pytest.mark.parametrize("version", ["2.0", "x", None])
def test_a_wheel_of_another_format_is_refused_before_it_is_installed(version: str | None) -> None:
    line = f"Wheel-Version: {version}\n" if version else ""
    wheel = {f"{INFO}/WHEEL": f"{line}Generator: tests\n".encode()}
    name, data = make_wheel(without=(f"{INFO}/WHEEL",), unlisted={})
    with pytest.raises(BundleError, match=r"a wheel of version \(none\); known is 1\.0"):
        read_dependency(data, name)
    name, data = make_wheel(unlisted=wheel)
    with pytest.raises(BundleError, match=r"a wheel of version (2\.0|x|\(none\)); known is 1\.0"):
        read_dependency(data, name)


def test_a_version_that_is_none_is_refused() -> None:
    name, data = make_wheel(version="1.x")
    with pytest.raises(UsageError, match=r"its version '1\.x' is none of PEP 440"):
        read_given(data, name)


def test_what_record_lists_without_a_digest_is_held_to_the_wheels_own_bytes() -> None:
    signature = f"{INFO}/RECORD.jws"
    name, data = make_wheel(files={"demo.py": b"", signature: b"{}"}, record={signature: ""})
    for read in (read_wheel, read_dependency):
        told = read(data, name)
        assert told.record[signature].digest == hashlib.sha256(b"{}").digest()
        assert f"{INFO}/RECORD" not in told.record


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"unlisted": {"demo/more.py": b""}}, r"does not list demo/more\.py"),
        ({"record": {"demo/__init__.py": "sha256=" + "A" * 43}}, r"demo/__init__\.py is not as its RECORD"),
        ({"without": ("demo/__init__.py",)}, r"'demo/__init__\.py' twice, malformed, or without a file"),
    ],
)
def test_a_target_is_held_to_its_record(options: dict[str, object], said: str) -> None:
    name, data = make_wheel(**options)  # type: ignore[arg-type]  # passed on
    with pytest.raises(UsageError, match=said):
        read_given(data, name)


def test_caps_are_those_of_the_one_table(monkeypatch: pytest.MonkeyPatch) -> None:
    name, data = make_wheel()
    monkeypatch.setattr(_wheel, "MAX_WHEEL_UNPACKED", 10)
    with pytest.raises(BundleError, match="bytes unpacked are over the limit of 10"):
        Archive(data, path=name)
    monkeypatch.setattr(_wheel, "MAX_WHEEL_FILES", 1)
    with pytest.raises(BundleError, match="4 files are over the limit of 1"):
        Archive(data, path=name)
    read_dependency(data, name)
    monkeypatch.setattr(_wheel, "MAX_DEPENDENCY_FILES", 1)
    with pytest.raises(BundleError, match="4 files are over the limit of 1"):
        read_dependency(data, name)


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_wheel_is_refused_or_read_and_nothing_else(seed: int) -> None:
    name, data = make_wheel()
    randomness = random.Random(seed)  # noqa: S311  (where the damage is)
    for _ in range(100):
        damaged = bytearray(data)
        for _ in range(randomness.choice((1, 2, 4))):
            damaged[randomness.randrange(len(damaged))] = randomness.randrange(256)
        for read in (read_wheel, read_dependency):
            with contextlib.suppress(BundleError):
                read(bytes(damaged), name)

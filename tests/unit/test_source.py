"""A wheel against itself, modules against a wheel, and a target against the reader's own sources."""

import io
import struct
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path

import pytest

from agentproof.bundle.wheel import Archive, read_wheel, same_version
from agentproof.check.lock_files import read_known
from agentproof.check.source import HeldWheel, KnownLock, Pin, Sources, compare_loaded, read_held_wheel
from agentproof.errors import BundleError, UsageError
from agentproof.models.manifest import LoadedModule, Target
from tests import forge

NAME = forge.WHEEL_NAME
INFO = "openai_agents-0.20.0.dist-info"
METADATA = b"Name: openai-agents\nVersion: 0.20.0\n"
WHEEL = read_wheel(forge.WHEEL, NAME)
TARGET = Target.from_shape(forge.draft().manifest["target"])


def _wrong(data: bytes, name: str = NAME) -> BundleError:
    with pytest.raises(BundleError) as caught:
        read_wheel(data, name)
    assert caught.value.path == name
    return caught.value


def _with_record(lines: str, **files: bytes) -> bytes:
    content = {f"{INFO}/METADATA": METADATA, "agents/__init__.py": b"", **files}
    true = forge.record_of(content, f"{INFO}/RECORD").decode()
    return forge.wheel({**content, f"{INFO}/RECORD": lines.format(true=true).encode()}, record=False)


def test_a_wheel_that_agrees_with_itself_gives_its_files() -> None:
    assert (WHEEL.name, WHEEL.version, WHEEL.sha256) == ("openai-agents", "0.20.0", forge.sha256(forge.WHEEL))
    assert WHEEL.installed["agents/run.py"] == forge.sha256(forge.WHEEL_FILES["agents/run.py"])


def test_files_under_purelib_are_installed_at_the_top_and_scripts_are_not() -> None:
    data = "openai_agents-0.20.0.data"
    read = read_wheel(
        forge.wheel({f"{data}/purelib/agents/__init__.py": b"x", f"{data}/scripts/run": b"#!"}), NAME
    )
    assert "agents/__init__.py" in read.installed
    assert not any("run" in path for path in read.installed)


@pytest.mark.parametrize(
    "lines",
    [
        "",
        "{true}agents/absent.py,,\n",
        "{true}{true}",
        "agents/__init__.py,sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU,0\n",
        "{true}../../evil.py,,\n",
        "{true},",
        'x"',
    ],
)
def test_a_record_that_is_not_complete_is_refused(lines: str) -> None:
    assert _wrong(_with_record(lines)).reason == "bad_record"


def test_a_file_that_record_does_not_list_is_refused() -> None:
    content = {f"{INFO}/METADATA": METADATA, "agents/__init__.py": b""}
    record = forge.record_of(content, f"{INFO}/RECORD")
    raw = forge.wheel({**content, "agents/evil.py": b"", f"{INFO}/RECORD": record}, record=False)
    assert "does not list agents/evil.py" in str(_wrong(raw))


@pytest.mark.parametrize(
    ("old", "new"),
    [(b"sha256=", b"md5="), (b"sha256=", b"sha256=A"), (b",36\n", b",35\n"), (b",36\n", b",\n")],
)
def test_a_record_that_is_not_true_is_refused(old: bytes, new: bytes) -> None:
    content = {f"{INFO}/METADATA": METADATA}
    record = forge.record_of(content, f"{INFO}/RECORD")
    assert old in record
    raw = forge.wheel({**content, f"{INFO}/RECORD": record.replace(old, new)}, record=False)
    assert _wrong(raw).reason == "bad_record"


def test_a_changed_file_is_refused() -> None:
    content = {f"{INFO}/METADATA": METADATA, "agents/__init__.py": b""}
    record = forge.record_of(content, f"{INFO}/RECORD")
    raw = forge.wheel({**content, "agents/__init__.py": b"evil", f"{INFO}/RECORD": record}, record=False)
    assert "is not as its RECORD says" in str(_wrong(raw))


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        (forge.WHEEL, "openai_agents-0.21.0-py3-none-any.whl"),
        (forge.WHEEL, "openai-0.20.0-py3-none-any.whl"),
        (forge.WHEEL, "openai_agents-0.20.0.tar.gz"),
        (forge.wheel({}, version="0.21.0"), NAME),
        (forge.wheel({"other-1.dist-info/METADATA": b""}), NAME),
        (forge.wheel({f"{INFO}/METADATA": b"Name: openai-agents\n"}), NAME),
        (forge.wheel({f"{INFO}/METADATA": METADATA + b"Name: other\n"}), NAME),
        (forge.wheel({f"{INFO}/METADATA": b"Name: other\nVersion: 0.20.0\n"}), NAME),
        (b"", NAME),
        (b"PK", NAME),
        (forge.WHEEL + b"\0", NAME),
        (forge.WHEEL[:-1], NAME),
        (forge.WHEEL[:40], NAME),
    ],
)
def test_a_wheel_that_contradicts_itself_is_refused(raw: bytes, name: str) -> None:
    assert _wrong(raw, name).reason == "bad_wheel"


def test_a_name_in_a_wheel_is_the_same_in_both_of_its_records() -> None:
    at = forge.WHEEL.index(b"agents/run.py")
    raw = forge.WHEEL[:at] + b"agents/RUN.py" + forge.WHEEL[at + 13 :]
    assert "another name" in str(_wrong(raw))


@pytest.mark.parametrize(
    ("name", "flags"),
    [
        ("agents/run.py\0.txt", None),
        ("agents/\x1b[2J.py", None),
        # Without this flag the bytes of a name are those of another code page.
        ("agents/é.py", 0),
    ],
)
def test_a_name_that_readers_read_differently_is_refused(name: str, flags: int | None) -> None:
    raw = bytearray(forge.wheel({"agents/xxxxxxxxxxxxxxxx.py": b""}))
    spelled = name.encode().ljust(len("agents/xxxxxxxxxxxxxxxx.py"), b"x")
    raw = raw.replace(b"agents/xxxxxxxxxxxxxxxx.py", spelled)
    if flags is not None:
        assert struct.unpack_from("<H", raw, 6)[0] == flags
    assert "reads in one way" in str(_wrong(bytes(raw)))


def test_a_record_that_only_a_stream_reader_finds_is_refused() -> None:
    out = io.BytesIO(forge.WHEEL)
    with zipfile.ZipFile(out, "a") as archive:
        archive.writestr("agents/evil.py", b"import os")
        del archive.filelist[-1]
    assert "in no file of its directory" in str(_wrong(out.getvalue()))
    assert "in no file of its directory" in str(_wrong(_moved(forge.WHEEL, by=b"#!/bin/sh\n")))


def _moved(raw: bytes, *, by: bytes) -> bytes:
    """The wheel behind some bytes, with every offset moved by as many."""
    end = struct.Struct("<4s4H2IH")
    fields = list(end.unpack_from(raw, len(raw) - end.size))
    at, moved = fields[6], bytearray(raw)
    for _ in range(fields[4]):
        name, extra, comment = struct.unpack_from("<3H", raw, at + 28)
        (offset,) = struct.unpack_from("<I", raw, at + 42)
        struct.pack_into("<I", moved, at + 42, offset + len(by))
        at += 46 + name + extra + comment
    fields[6] += len(by)
    end.pack_into(moved, len(raw) - end.size, *fields)
    return by + bytes(moved)


def test_a_wheel_that_was_written_to_a_pipe_is_read() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation("seek")

        def tell(self) -> int:
            raise io.UnsupportedOperation("tell")

    out = Pipe()
    with zipfile.ZipFile(io.BytesIO(forge.WHEEL)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    assert read_wheel(out.getvalue(), NAME).installed == WHEEL.installed


def test_another_name_in_an_extra_field_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        info = zipfile.ZipInfo("agents/run.py")
        info.extra = struct.pack("<HHBI", 0x7075, 5 + 7, 1, zlib.crc32(b"agents/run.py")) + b"evil.py"
        archive.writestr(info, b"")
    with pytest.raises(BundleError, match="another name in an extra field"):
        Archive(out.getvalue(), path=NAME)


def test_a_member_that_inflates_to_more_than_stated_is_refused() -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb", bytes(10_000))
    raw = bytearray(out.getvalue())
    for signature, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = raw.index(signature) + place
        raw[at : at + 4] = (100).to_bytes(4, "little")
    with pytest.raises(BundleError, match="stated size"):
        Archive(bytes(raw), path=NAME).read("bomb")


def _module(module: str, path: str, content: str = "agents/run.py") -> LoadedModule:
    return LoadedModule(module=module, path=path, sha256=WHEEL.installed[content])


@pytest.mark.parametrize(
    ("module", "reason"),
    [
        (_module("agents.evil", "agents/evil.py"), "not_in_wheel"),
        (_module("agents", "agents/__init__.py"), "other_module"),
        (_module("agents.other", "agents/run.py"), "other_module"),
        (_module("agents", "agents/run.py"), "other_module"),
        (_module("agents.run.py", "agents/run.py"), "other_module"),
    ],
)
def test_a_module_that_is_no_such_file_of_the_wheel_is_refused(module: LoadedModule, reason: str) -> None:
    with pytest.raises(BundleError) as caught:
        compare_loaded([module], WHEEL)
    assert caught.value.reason == reason


def test_modules_packages_and_extensions_are_found_where_imports_find_them() -> None:
    files = {
        "agents/__init__.py": b"1",
        "agents/run.py": b"2",
        "agents/fast.cpython-312-x86_64-linux-gnu.so": b"3",
    }
    wheel = read_wheel(forge.wheel(files), NAME)
    names = ("agents", "agents.run", "agents.fast")
    compare_loaded(
        [
            LoadedModule(module=name, path=path, sha256=wheel.installed[path])
            for name, path in zip(names, files, strict=True)
        ],
        wheel,
    )


@dataclass
class _Provenance:
    origin: str
    project: str | None


def test_only_what_the_reader_holds_counts() -> None:
    assert Sources().compare(TARGET).held == ()
    assert forge.sources().compare(TARGET).held == (f"./{NAME}",)
    lock = KnownLock("uv.lock", (Pin("openai-agents", "0.20.0", frozenset({TARGET.sha256})),))
    assert Sources(locks=(lock,)).compare(TARGET).held == ("uv.lock",)


@pytest.mark.parametrize(
    ("provenance", "held"),
    [
        (_Provenance("index", "openai-agents"), True),
        (_Provenance("index", "OpenAI_Agents"), True),
        (_Provenance("index", "openai-agents-fork"), False),
        (_Provenance("index", None), False),
        (_Provenance("file", None), False),
        (None, False),
    ],
)
def test_the_wheel_store_counts_only_for_what_an_index_served_as_this_project(
    provenance: _Provenance | None, held: bool
) -> None:
    compared = Sources(provenance=lambda _sha256: provenance).compare(TARGET)
    assert bool(compared.held) == held
    assert bool(compared.silent) != held
    assert not compared.differences


def test_another_wheel_of_the_same_project_differs_and_another_project_is_silent() -> None:
    name = "openai_agents-0.21.0-py3-none-any.whl"
    newer = forge.wheel(forge.WHEEL_FILES, version="0.21.0")
    compared = forge.sources(newer, name).compare(TARGET)
    assert [difference.what for difference in compared.differences] == [f"target wheel against ./{name}"]
    assert "0.21.0" in compared.differences[0].yours
    other = forge.wheel({}, name="other")
    assert forge.sources(other, "other-0.20.0-py3-none-any.whl").compare(TARGET).silent


def test_a_lock_that_pins_other_digests_differs() -> None:
    lock = KnownLock("uv.lock", (Pin("openai-agents", "0.20.0", frozenset({"0" * 64})),))
    assert Sources(locks=(lock,)).compare(TARGET).differences


def test_a_lock_that_names_the_target_without_a_digest_is_silent() -> None:
    lock = KnownLock("uv.lock", (Pin("openai-agents", "0.20.0", frozenset()),))
    compared = Sources(locks=(lock,)).compare(TARGET)
    assert compared.silent == ("uv.lock names openai-agents without a digest",)
    assert not compared.held
    assert not compared.differences


def test_a_held_wheel_is_read_from_its_file(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(forge.WHEEL)
    held = read_held_wheel(tmp_path / NAME)
    assert Sources(wheels=(held,)).wheel_bytes(TARGET.sha256) == forge.WHEEL
    assert isinstance(held, HeldWheel)
    (tmp_path / "x-1.tar.gz").write_bytes(b"")
    with pytest.raises(UsageError, match="no wheel"):
        read_held_wheel(tmp_path / "x-1.tar.gz")


SHA = "ab" * 32
UV_LOCK = f"""
version = 1
[[package]]
name = "openai-agents"
version = "0.20.0"
source = {{ registry = "https://example.org/simple" }}
sdist = {{ url = "https://example.org/x.tar.gz", hash = "sha256:{"cd" * 32}", size = 1 }}
wheels = [{{ url = "https://example.org/x.whl", hash = "sha256:{SHA}", size = 2 }}]
"""
PYLOCK = f"""
lock-version = "1.0"
[[packages]]
name = "openai-agents"
version = "0.20.0"
wheels = [{{ name = "x.whl", path = "x.whl", hashes = {{ sha256 = "{SHA}" }} }}]
"""
REQUIREMENTS = f"""
--index-url https://example.org
# a comment
OpenAI.Agents[voice]==0.20.0 ; python_version > "3" \\
    --hash=sha256:{"cd" * 32} \\
    --hash=sha256:{SHA}  # via us
"""


@pytest.mark.parametrize(
    ("name", "text"), [("uv.lock", UV_LOCK), ("pylock.toml", PYLOCK), ("requirements.txt", REQUIREMENTS)]
)
def test_locks_of_three_kinds_give_their_wheels(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    (pin,) = read_known(tmp_path / name).pins
    assert (pin.name, pin.version) == ("openai-agents", "0.20.0")
    assert SHA in pin.sha256
    assert ("cd" * 32 in pin.sha256) == (name == "requirements.txt")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("requirements.txt", "openai-agents==0.20.0\n"),
        ("uv.lock", "version = 1\n"),
        ("uv.lock", "package = 3\n"),
        ("uv.lock", "not toml"),
        ("pylock.toml", "[[packages]]\nname = 'x'\nwheels = [{ hashes = { md5 = 'x' } }]\n"),
        ("pylock.toml", "x = " + "[" * 5000),
    ],
)
def test_a_lock_without_digests_says_so(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=r"SHA-256|not TOML"):
        read_known(tmp_path / name)


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        ("1.0", "1.0", True),
        ("2024.02.02", "2024.2.2", True),
        ("1.0_cu1", "1.0+cu1", True),
        ("1.0_1", "1.0.post1", True),
        ("1.0", "1.1", False),
        ("x", "1", False),
    ],
)
def test_spellings_of_one_version_are_one(first: str, second: str, same: bool) -> None:
    assert same_version(first, second) == same

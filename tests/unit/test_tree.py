"""Git's ids, recomputed."""

from agentproof.bundle.git_objects import EXECUTABLE, FILE, Blob, object_id, tree_id

SHA1 = "0" * 40
SHA256 = "0" * 64


def _blob(data: bytes, mode: str = FILE) -> Blob:
    return Blob(mode=mode, id=object_id("blob", data, like=SHA1))


def test_a_blob_has_the_id_that_git_gives_it() -> None:
    # `git hash-object` of "hello\n" and of nothing, in both kinds of repository.
    assert object_id("blob", b"hello\n", like=SHA1) == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert object_id("blob", b"", like=SHA1) == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
    assert (
        object_id("blob", b"", like=SHA256)
        == "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
    )


def test_an_empty_tree_has_the_id_that_git_gives_it() -> None:
    assert tree_id({}, like=SHA1) == "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def test_a_directory_sorts_as_if_its_name_ended_in_a_slash() -> None:
    # Made with git: files a.b, a/c and a0, each holding its own name.
    files = {path: _blob(path.encode()) for path in ("a/c", "a.b", "a0")}
    assert tree_id(files, like=SHA1) == "0f741d9654f90b69b946230ec3d7e8975db7ac5d"


def test_a_mode_changes_the_tree() -> None:
    assert tree_id({"a": _blob(b"a")}, like=SHA1) != tree_id({"a": _blob(b"a", EXECUTABLE)}, like=SHA1)

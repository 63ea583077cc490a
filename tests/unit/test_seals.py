"""The codes of the recorder's lines: `agentproof.isolation.seals` and its twin in the recorder."""

import json
from pathlib import Path

import pytest

from agentproof._recorder import events
from agentproof.isolation.seals import Chain, UnsealedError, seal_of_children

KEY = "00" * 31 + "07"


def written(tmp_path: Path, process: str = "0", key: str = KEY) -> tuple[list[bytes], bytes]:
    """Three lines and the last word, as the recorder writes them."""
    journal = events.Journal(str(tmp_path), "as-written", process, key)
    lines = [journal.sealed({"n": f"{process}:{number}", "kind": "x"}) for number in (1, 2, 3)]
    return [line.rstrip("\n").encode() for line in lines], journal.sealed({"loaded": []}, last=True).rstrip(
        "\n"
    ).encode()


def taken(lines: list[bytes], last: bytes | None = None, *, process: int = 0) -> list[bytes]:
    chain = Chain(KEY, process)
    return [*map(chain.take, lines), *([] if last is None else [chain.last_word(last)])]


def test_what_the_recorder_wrote_passes_without_its_codes(tmp_path: Path) -> None:
    lines, last = written(tmp_path)
    assert [json.loads(line) for line in taken(lines, last)] == [
        *({"n": f"0:{number}", "kind": "x"} for number in (1, 2, 3)),
        {"loaded": []},
    ]


def test_lines_after_the_last_word_pass(tmp_path: Path) -> None:
    lines, _ = written(tmp_path)
    journal = events.Journal(str(tmp_path), "as-written", "0", KEY)
    early = [journal.sealed({"n": "0:1", "kind": "x"}), journal.sealed({"loaded": []}, last=True)]
    late = journal.sealed({"n": "0:2", "kind": "x"})
    first, last, second = (line.rstrip("\n").encode() for line in (*early, late))
    assert len(taken([first, second], last)) == 3
    assert len(lines) == 3


@pytest.mark.parametrize("process", [1, 12])
def test_other_processes_have_a_key_of_their_own(tmp_path: Path, process: int) -> None:
    lines, _ = written(tmp_path, str(process), seal_of_children(KEY))
    assert len(taken(lines, process=process)) == 3
    with pytest.raises(UnsealedError):
        taken(lines)
    assert events.seal_of_children(KEY) == seal_of_children(KEY)


def test_a_forked_process_goes_on_with_the_key_of_the_others(tmp_path: Path) -> None:
    journal = events.Journal(str(tmp_path), "as-written", "0", KEY)
    journal.sealed({"n": "0:1", "kind": "x"})
    journal.move("as-written", "3")
    line = journal.sealed({"n": "3:1", "kind": "x"}).rstrip("\n").encode()
    assert len(taken([line], process=3)) == 1


@pytest.mark.parametrize("fault", ["added", "changed", "left out", "exchanged", "repeated", "last word"])
def test_what_the_recorder_did_not_write_is_refused(tmp_path: Path, fault: str) -> None:
    lines, last = written(tmp_path)
    match fault:
        case "added":
            lines.insert(1, b'{"n":"z","kind":"x"}')
        case "changed":
            lines[1] = lines[1].replace(b'"x"', b'"y"')
        case "left out":
            del lines[1]
        case "exchanged":
            lines[1:] = reversed(lines[1:])
        case "repeated":
            lines.append(lines[-1])
        case _:
            last = last.replace(b"[]", b"[1]")
    with pytest.raises(UnsealedError):
        taken(lines, last)


def test_lines_cut_off_the_end_are_missed_by_the_last_word(tmp_path: Path) -> None:
    lines, last = written(tmp_path)
    with pytest.raises(UnsealedError, match="missing"):
        taken(lines[:-1], last)


def test_without_a_key_every_line_passes() -> None:
    assert Chain("", 0).take(b"anything") == b"anything"

"""Inline script metadata (PEP 723) as reproductions carry it."""

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentproof.errors import UsageError
from agentproof.models.header import Header, _script_blocks, read_header

FULL = b"""#!/usr/bin/env python
# /// script
# requires-python = ">=3.10"
# dependencies = ["openai-agents==0.20.0", "rich"]
#
# [tool.agentproof]
# title = "A title"
# reference = "owner/repo#1"
# ///
print(1)
"""


# The regular expression of PEP 723's reference implementation.
REFERENCE = re.compile(r"(?m)^# /// (?P<type>[a-zA-Z0-9-]+)$\s(?P<content>(^#(| .*)$\s)+)^# ///$")
LINES = st.sampled_from(
    [
        "# /// script",
        "# /// script ",
        "# /// other",
        "# ///",
        "# /// ",
        "#",
        "# a = 1",
        "#b",
        "",
        " #",
        "x",
        "\r",
        "\x0c",
    ]
)


@settings(max_examples=300)
@given(st.lists(LINES, max_size=12), st.booleans())
def test_a_block_is_what_pep_723_says(lines: list[str], ends: bool) -> None:
    text = "\n".join(lines) + ("\n" if ends else "")
    expected = [match["content"] for match in REFERENCE.finditer(text) if match["type"] == "script"]
    assert list(_script_blocks(text)) == expected


@pytest.mark.parametrize("line", [b"# /// script\n", b"# ///\n", b"#\n", b"# /// script\n#\n"])
def test_a_script_of_nothing_but_such_lines_takes_no_time(line: bytes) -> None:
    begun = time.process_time()
    assert read_header(line * 500_000, path="r.py") == Header()
    assert time.process_time() - begun < 5


def test_all_fields_are_read() -> None:
    assert read_header(FULL, path="r.py") == Header(
        dependencies=("openai-agents==0.20.0", "rich"),
        requires_python=">=3.10",
        title="A title",
        reference="owner/repo#1",
    )


def test_a_script_without_header_is_fine() -> None:
    assert read_header(b"print(1)\n", path="r.py") == Header()


def test_windows_line_ends_are_understood() -> None:
    assert read_header(FULL.replace(b"\n", b"\r\n"), path="r.py").title == "A title"


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (FULL + FULL, "2 `# /// script` headers"),
        (FULL.replace(b'"A title"', b"A title"), "not TOML"),
        (FULL.replace(b"title =", b"titel ="), "unknown key `titel`"),
        (FULL.replace(b'"A title"', b"3"), "`title` in the header is not a text"),
        (FULL.replace(b'["openai-agents==0.20.0", "rich"]', b"[3]"), "not a list of texts"),
        (b"\xff", "not UTF-8"),
    ],
)
def test_a_wrong_header_names_the_file_and_what_is_wrong(source: bytes, message: str) -> None:
    with pytest.raises(UsageError, match=f"r.py.*{message}"):
        read_header(source, path="r.py")

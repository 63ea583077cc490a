"""Inline script metadata (PEP 723) as reproductions carry it."""

import pytest

from agentproof.errors import UsageError
from agentproof.models.header import Header, read_header

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

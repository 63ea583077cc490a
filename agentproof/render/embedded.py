"""A bundle as text in Markdown: folded away, and how long what is pasted may be."""

from typing import Final

from ..bundle.store import Bundle, as_text, bundle_id, short, without_target_wheel, without_wheel
from ..check.members import is_comparison
from .markup import length

MAX_COMMENT: Final = 65_536
"""Characters of an issue or a comment on GitHub."""


def folded(bundle: Bundle) -> str:
    """The block of a bundle, without its target's wheel, in a fence in `<details>`.

    Raises:
        CannotDoError: a reader would refuse it, or this Python has no lzma.
    """
    thin = without_wheel(bundle) if is_comparison(bundle) else without_target_wheel(bundle)
    summary = f"The bundle as text (sha256:{short(bundle_id(bundle))})"
    return f"<details><summary>{summary}</summary>\n\n```text\n{as_text(thin)}\n```\n\n</details>"


def as_sent(text: str) -> int:
    """How many characters a form sends: UTF-16 units, each end of a line as two."""
    return length(text) + text.count("\n")

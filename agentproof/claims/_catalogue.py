"""The page of all claims, written from the docstrings of their modules (`docs/claims.md`)."""

import sys
from collections.abc import Iterable

from ._outcome import Kind

_SCOPES = {
    "each": "judged once for each mode",
    "both": "judged once over both modes",
    "as-written": "judged for the script as it was written",
}


def catalogue(kinds: Iterable[Kind]) -> str:
    """Markdown: one section a kind, in the order of their names."""
    sections = [_section(kind) for kind in sorted(kinds, key=lambda kind: kind.NAME)]
    return "\n".join([_HEAD, *sections])


_HEAD = """\
# Claims

Written from the docstrings in `agentproof/claims/` by `python -m agentproof.claims`; a test keeps the two
together.

A claim comes to `holds`, `violated` or `not_observed`. A rule counts its sites, that is, how often it had
something to judge; without a site it is `not_observed`, never `holds`. A rule enters this list only when it
is silent on scripts that do nothing wrong and on the releases that fixed a report. A violated claim says
that something was shown, not that a contract was broken: that is for the maintainer to decide.
"""


def _section(kind: Kind) -> str:
    doc = (sys.modules[kind.__name__].__doc__ or "").strip()
    needs = ", ".join(sorted(kind.NEEDS)) or "nothing beyond the script's end"
    return f"## {kind.NAME}\n\nVersion {kind.VERSION}; {_SCOPES[kind.SCOPE]}; needs: {needs}.\n\n{doc}\n"

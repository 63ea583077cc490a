"""The page of all claims, written from the docstrings of their modules (`docs/claims.md`)."""

import sys
from collections.abc import Iterable

from .authored import AuthoredKind
from .trace.outcome import Kind

_SCOPES = {
    "each": "judged once for each mode",
    "both": "judged once over both modes",
    "as-written": "judged for the script as it was written",
}


def catalogue(invariants: Iterable[Kind], authored: Iterable[AuthoredKind]) -> str:
    """Markdown: one section a kind, in the order of their names."""
    first = [_section(kind) for kind in sorted(invariants, key=lambda kind: kind.NAME)]
    second = [_section(kind) + _keys(kind) for kind in sorted(authored, key=lambda kind: kind.NAME)]
    return "\n".join([_HEAD, *first, _AUTHORED, *second])


_HEAD = """\
# Claims

Written from the docstrings in `agentproof/claims/` by `python -m agentproof.claims`; a test keeps the two
together.

A claim comes to `holds`, `violated` or `not_observed`. A rule counts its sites, that is, how often it had
something to judge; without a site it is `not_observed`, never `holds`. A rule enters this list only when it
is silent on scripts that do nothing wrong and on the releases that fixed a report. A violated claim says
that something was shown, not that a contract was broken: that is for the maintainer to decide.
"""


_AUTHORED = """\
# Authored claims

Written in the header of a reproduction:

```toml
# [[tool.agentproof.claims]]
# kind = "tool-runs"
# tool = "pay"
# times = 0
```

`kind` names one of those below; `id` is the claim's label (by default its kind, numbered); `mode` narrows
it to `as-written` or `streamed`. All other keys are the kind's own. `probe-check` is not written there:
`probe.check(label, condition)` in the script makes a claim of that label.
"""


def _section(kind: Kind | AuthoredKind) -> str:
    doc = (sys.modules[kind.__name__].__doc__ or "").strip()
    needs = ", ".join(sorted(kind.NEEDS)) or "nothing beyond the script's end"
    return f"## {kind.NAME}\n\nVersion {kind.VERSION}; {_SCOPES[kind.SCOPE]}; needs: {needs}.\n\n{doc}\n"


def _keys(kind: AuthoredKind) -> str:
    names = [
        f"`{name}`" + ("" if field.is_required() else "?")
        for name, field in kind.ARGUMENTS.model_fields.items()
    ]
    return f"\nKeys: {', '.join(names)}.\n"

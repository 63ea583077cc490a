"""docs/claims.md, and what every kind's docstring says."""

import sys
from pathlib import Path

import pytest

from agentproof.claims import AUTHORED, INVARIANTS, AuthoredKind, Kind
from agentproof.claims.catalogue import catalogue

PAGE = Path(__file__).parents[2] / "docs" / "claims.md"


def test_the_page_is_what_the_docstrings_say() -> None:
    assert PAGE.read_text() == catalogue(INVARIANTS.values(), AUTHORED.values()), (
        "run: python -m agentproof.claims > docs/claims.md"
    )


@pytest.mark.parametrize("kind", [*INVARIANTS.values(), *AUTHORED.values()], ids=lambda kind: kind.NAME)
def test_every_kind_says_its_rule_sites_silence_and_origin(kind: Kind | AuthoredKind) -> None:
    doc = sys.modules[kind.__name__].__doc__ or ""
    for word in ("\nRule:", "\nSites:", "\nNot observed:", "\nFrom:"):
        assert word in doc
    assert kind.__name__.rpartition(".")[2] == kind.NAME.replace("-", "_")

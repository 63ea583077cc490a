"""Every forgery, by topic: each breaks one thing in a valid bundle and computes every id again."""

from functools import cache

from agentproof.bundle.store import Bundle
from agentproof.errors import BundleError
from tests import forge

from . import content, manifest, signatures
from ._tools import ORIGINAL, OTHER, Forgery

FORGERIES: list[Forgery] = [*manifest.FORGERIES, *content.FORGERIES, *signatures.FORGERIES]

__all__ = ["FORGERIES", "ORIGINAL", "OTHER", "Forgery", "forged"]


@cache
def forged(forgery: Forgery) -> Bundle:
    """The forged bundle, signed by a stranger where the forgery does not say otherwise."""
    draft = forge.draft()
    made = forgery.make(draft)
    if isinstance(made, Bundle):
        return made
    try:
        return draft.seal(forge.STRANGER)
    except BundleError:  # a manifest that our own models refuse to sign
        return draft.seal_unparsed()

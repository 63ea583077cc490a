"""What both halves of the pytest plugin ask and say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import metadata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..bundle.store import Bundle
    from ..models.manifest import ClaimResult


def installed_version() -> str:
    """The release of the SDK in this environment.

    Raises:
        CannotDoError: there is none, or it is not one of the index.
    """
    from ..errors import CannotDoError
    from ..sdk import DEFAULT

    try:
        found = metadata.distribution(DEFAULT.distribution)
    except metadata.PackageNotFoundError as error:
        raise CannotDoError(f"{DEFAULT.distribution} is not installed here", hint="name a target") from error
    if found.read_text("direct_url.json") is not None:
        raise CannotDoError(
            f"{DEFAULT.distribution} here is not from an index",
            hint="--agentproof-target WHEEL, or DIR of its checkout",
        )
    return found.version


def told(bundle: Bundle) -> Iterator[str]:
    """What a recording shows, in the words of a failing test; nothing where the verdict holds."""
    from ..claims.judge import explain_reason
    from ..models.manifest import name_of_build

    manifest = bundle.document
    judgement, target = manifest.judgement, manifest.target
    if judgement.verdict == "holds":
        return
    yield f"{judgement.verdict} on {target.name} {name_of_build(target)}"
    yield from map(explain_reason, judgement.reasons)
    if judgement.verdict == "violated":
        yield from _violated(judgement.claims)


def _violated(claims: Iterable[ClaimResult]) -> Iterator[str]:
    """A line for each sentence: the modes that it is true of, and where."""
    from ..claims import explain
    from ..models.text import one_line

    modes: dict[tuple[str, str], dict[str, None]] = {}
    places: dict[tuple[str, str], dict[str, None]] = {}
    for claim in claims:
        for finding in claim.because if claim.status == "violated" else ():
            said = (claim.id, one_line(explain(claim, finding).splitlines()[0], 300))
            modes.setdefault(said, {})[claim.mode] = None
            if finding.pointer is not None:
                places.setdefault(said, {})[finding.pointer] = None
    for said, found in modes.items():
        name, text = said
        where = [one_line(place) for place in places.get(said, ())]
        at = f" at {where[0]}" if where else ""
        more = f" and {len(where) - 1} more places" if len(where) > 1 else ""
        yield f"{one_line(name)} ({' and '.join(found)}): {text}{at}{more}"

"""What a replay agrees on with the recording that it repeats. Pure.

A replayer signs the whole of a bundle, so all of it that a replay sees again is compared, and not only
what the evidence id covers:

1. The judgement: the recorded claims, judged on what was seen here, come to the same statuses, and the
   verdict and its reasons are the same. Where one machine could not see functions' bodies, that is so for
   what both saw, and neither verdict nor any violation rests on what one of them saw alone.
2. The conduct: what the script did to the SDK, to the letter.
3. The events of each mode, one by one with the states that they refer to, but for what may differ
   between machines:
   a. where one of the two machines could not see functions' bodies, the `body.*` events of the other,
      the mark `without_body`, and `after`, which names such events;
   b. in what was written to stderr, the frames of a traceback that lie in Python's own library, and the
      marks under a line of it;
   c. where the replay's own repeats agree only in `order`: `after`, and the order in the state's lists
      that tools append to as they end.

docs/format.md, section 7, has the reasons. Environment, isolation and recorder are each machine's own.
"""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal

from ..bundle.store import Bundle
from ..claims import find_kind
from ..claims.judge import Answers, ClaimRequest, judge
from ..models.diff import diff
from ..models.events import ToolEnded
from ..models.manifest import Conduct, Gap, Judgement
from ..models.trace import Trace
from ..models.wire import Sha256, compact
from .ordering import in_any_order

BODIES: Final = "bodies"
_FIRST_FEW = 3

_MARKS = re.compile(r"[ ~^]*[~^][ ~^]*")
_OWN_FRAME = re.compile(r'(?P<indent> +)File "<python>/.*')


@dataclass(frozen=True)
class Agreement:
    """What agreed; a text says where something did not, None that it did."""

    evidence: str | None
    judgement: str | None
    conduct: str | None
    events: str | None
    not_captured: tuple[Literal["bodies"], ...]
    """What the replay could not see of what the recording has."""

    @property
    def differing(self) -> tuple[tuple[str, str], ...]:
        """The parts that did not agree, each with where."""
        parts = ("evidence", "judgement", "conduct", "events")
        return tuple((name, text) for name in parts if (text := getattr(self, name)) is not None)

    @property
    def is_same(self) -> bool:
        """Whether evidence, judgement and conduct agreed; an event may be told otherwise."""
        return self.evidence is None and self.judgement is None and self.conduct is None


def compare(recorded: Bundle, seen: Bundle) -> Agreement:
    """What the replay agrees on with the recording."""
    mine, theirs = recorded.document, seen.document
    blind = _is_blind(recorded), _is_blind(seen)
    same_modes = recorded.traces.keys() == seen.traces.keys()
    modes = f"recorded {', '.join(recorded.traces)}; here {', '.join(seen.traces)}"
    return Agreement(
        evidence=None
        if mine.evidence_id == theirs.evidence_id
        else f"{theirs.evidence_id[:16]}… instead of {mine.evidence_id[:16]}…",
        judgement=_judgements(recorded, seen) if same_modes else modes,
        conduct=_conduct(mine.conduct, theirs.conduct),
        events=_events(recorded, seen, without_bodies=any(blind)) if same_modes else modes,
        not_captured=(BODIES,) if blind[1] and not blind[0] else (),
    )


def _is_blind(side: Bundle) -> bool:
    """Whether functions' bodies could not be seen; whoever tells of some saw them, whatever is said."""
    told = any(
        event.kind.startswith("body.") or (isinstance(event, ToolEnded) and event.without_body)
        for trace in side.traces.values()
        for event in trace.events
    )
    return not told and any(gap.what == BODIES for gap in side.document.coverage)


def _judgements(recorded: Bundle, seen: Bundle) -> str | None:
    """Where the judgements of the recorded claims differ."""
    asked = tuple(
        ClaimRequest(claim.id, claim.kind, claim.version, claim.mode, claim.arguments)
        for claim in recorded.document.judgement.claims
        if find_kind(claim.kind, claim.version) is not None
    )
    known = {gap.what for gap in recorded.document.coverage} | {BODIES}
    for gap in seen.document.coverage:
        if gap.what not in known and gap.code is None:
            return f"this machine could not capture {gap.what}"
    # A claim that needs what one side could not see is compared as if neither had seen it.
    both = tuple(dict.fromkeys((*recorded.document.coverage, *seen.document.coverage)))
    mine, theirs = _judged(recorded, asked, both), _judged(seen, asked, both)
    for side, judged, words in (
        (recorded, mine, "was recorded from what this machine cannot see"),
        (seen, theirs, "follows here from what the recording could not see"),
    ):
        alone = _judged(side, asked, side.document.coverage)
        for own, shared in zip(alone.claims, judged.claims, strict=True):
            if own.status == "violated" != shared.status:
                return f"{own.id} ({own.mode}): its violation {words}"
        if alone.verdict != judged.verdict:
            return f"{alone.verdict} {words}"
    if (mine.verdict, mine.reasons) != (theirs.verdict, theirs.reasons):
        return f"{_verdict(theirs)} instead of {_verdict(mine)}"
    for before, after in zip(mine.claims, theirs.claims, strict=True):
        if before.status != after.status:
            return f"{before.id} ({before.mode}): {after.status} instead of {before.status}".replace("_", " ")
    return None


def lacking(recorded: Bundle) -> str | None:
    """A rule, or version of one, that the recording was judged by and this tool lacks."""
    claims = recorded.document.judgement.claims
    missing = (each for each in claims if find_kind(each.kind, each.version) is None)
    return next((f"{claim.kind} {claim.version}" for claim in missing), None)


def _verdict(judgement: Judgement) -> str:
    return f"{judgement.verdict} ({', '.join(judgement.reasons)})" if judgement.reasons else judgement.verdict


def _judged(side: Bundle, asked: tuple[ClaimRequest, ...], coverage: tuple[Gap, ...]) -> Judgement:
    document = side.document
    return judge(
        traces=side.traces,
        state=cache(side.state),
        recordings=document.recordings,
        conduct=document.conduct,
        isolation=document.isolation,
        coverage=coverage,
        claims=asked,
        answers=Answers.of(document.provider, document.target.sha256),
    )


def _conduct(mine: Conduct, theirs: Conduct) -> str | None:
    change = next(diff(mine.to_shape(), theirs.to_shape()), None)
    return None if change is None else f"conduct{change.pointer}"


def _events(recorded: Bundle, seen: Bundle, *, without_bodies: bool) -> str | None:
    """Where the events differ by rule 3."""
    loose = any(recording.agreement == "order" for recording in seen.document.recordings)
    found: list[str] = []
    for mode, trace in recorded.traces.items():
        mine = list(_comparable(trace, _states(recorded), without_bodies=without_bodies, loose=loose))
        theirs = list(
            _comparable(seen.traces[mode], _states(seen), without_bodies=without_bodies, loose=loose)
        )
        for (seq, one), (other_seq, other) in zip(mine, theirs, strict=False):
            if one != other:
                found.append(f"{mode} #{seq} → #{other_seq}")
        if len(mine) != len(theirs):
            found.append(f"{mode} has {len(theirs)} events to compare instead of {len(mine)}")
    if not found:
        return None
    more = f" and {len(found) - _FIRST_FEW} more" if len(found) > _FIRST_FEW else ""
    return f"{'; '.join(found[:_FIRST_FEW])}{more}"


def _states(bundle: Bundle) -> dict[Sha256, bytes]:
    return {
        path.removeprefix("states/").removesuffix(".json"): data
        for path, data in bundle.members.items()
        if path.startswith("states/")
    }


def _comparable(
    trace: Trace, states: Mapping[Sha256, bytes], *, without_bodies: bool, loose: bool
) -> Iterator[tuple[int, bytes]]:
    """Each event that is compared: its number in the trace, and what must be the same."""
    known: dict[str, str] = {}
    for shape in trace.to_shape()["events"]:
        seq = shape.pop("seq")
        if without_bodies and shape["kind"].startswith("body."):
            continue
        if without_bodies:
            shape.pop("without_body", None)
        if without_bodies or loose:
            shape.pop("after", None)
        if shape["kind"] == "script.wrote" and shape["stream"] == "stderr":
            _neutralise(shape)
        told = in_any_order(shape, states, known) if loose else shape
        yield seq, hashlib.sha256(compact(told)).digest()


def _neutralise(shape: dict[str, Any]) -> None:  # Any: JSON
    """What was written to stderr, by rule 3b."""
    text = shape["text"]
    if not isinstance(text, str) or shape["truncated"]:
        return
    del shape["size"]  # of the whole text
    shape["text"] = without_own_frames(text)


def without_own_frames(text: str) -> str:
    """A traceback without the frames of Python's own library and without marks under its lines."""
    kept: list[str] = []
    own: str | None = None
    for line in text.split("\n"):
        if own is not None and line.startswith(own + "  "):
            continue  # the source line of such a frame
        own = None
        if (frame := _OWN_FRAME.fullmatch(line)) is not None:
            own = frame["indent"]
        elif _MARKS.fullmatch(line) is None:
            kept.append(line)
    return "\n".join(kept)

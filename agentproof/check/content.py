"""Steps 4 to 6 of `check`: the environment, the target wheel, and what the traces give."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bundle.folder import read_beside
from ..bundle.store import MANIFEST, Bundle, sha256, short
from ..bundle.wheel import Wheel, normalise, read_wheel, same_version
from ..claims import AUTHORED, AuthoredClaim, expected_claims, find_authored, header_claims
from ..claims.authored import probe_check
from ..errors import BundleError, UsageError
from ..limits import MAX_KEPT_BYTES, MAX_REFERRED_BYTES
from ..models.diff import Absent, diff
from ..models.events import ScriptStarted
from ..models.expectations import NOTHING, Expectations, check_consistent, includes
from ..models.header import Header, read_header
from ..models.manifest import LATEST, ClaimResult, Judgement, Manifest, Target
from ..models.report import Difference
from ..models.trace import Mode, Trace
from ..models.wire import compact
from .members import require
from .memo import Memo

if TYPE_CHECKING:
    from .trees import TreeComparison

_HEADERS: Memo[Header] = Memo(limit=MAX_KEPT_BYTES)
_MODES = ("as-written", "streamed", "both")
_PYTHON = re.compile(r"3\.\d{1,3}\.\d{1,3}(?:(?:a|b|rc)\d{1,3})?\+?")


def check_environment(manifest: Manifest) -> None:
    """The environment's own shape: sorted, each wheel named as its package, the target among them."""
    environment, target = manifest.environment, manifest.target
    require(_PYTHON.fullmatch(environment.python.version) is not None, "environment.python.version")
    names = [package.name for package in environment.packages]
    require(names == sorted(set(names)), "environment.packages are not sorted by name, each once")
    for package in environment.packages:
        name, _, rest = package.wheel.partition("-")
        version = rest.partition("-")[0]
        require(
            normalise(package.name) == package.name
            and normalise(name) == package.name
            and same_version(version, package.version),
            f"{package.wheel} is not named for {package.name} {package.version}",
            reason="other_lock",
        )
    locked = [package for package in environment.packages if package.name == target.name]
    same = [
        (package.version, package.wheel, package.sha256, package.size)
        == (target.version, target.wheel, target.sha256, target.size)
        for package in locked
    ]
    require(same == [True], "the target is not one of the environment's packages", reason="other_lock")
    if manifest.reproduction.requires:
        _require_requirements(manifest.reproduction.requires)
    origin = target.origin
    from_git = origin.kind == "checkout"
    require(from_git or (origin.commit is None and origin.tree is None), "a commit of no checkout")
    require(from_git or origin.dirty is None, "a dirty tree of no checkout")
    named = origin.revision is None or from_git or (origin.kind == "index" and origin.revision == LATEST)
    require(named, "a revision of no checkout")


def _require_requirements(texts: Iterable[str]) -> None:
    """Each is a requirement of a name, which a replay asks an index for."""
    from packaging.requirements import InvalidRequirement, Requirement  # noqa: PLC0415 (5 ms, for few bundles)

    for text in texts:
        try:
            named = Requirement(text).url is None
        except InvalidRequirement:
            named = False
        require(named, f"reproduction.requires: {text!r} is not a requirement of a name")


def check_own(manifest: Manifest, bundle: Bundle) -> None:
    """The wheels of the reporter's own projects that are there are those that the manifest names."""
    for package in manifest.environment.packages:
        data = bundle.wheel(package.wheel) if package.origin is not None else None
        if data is None:
            continue
        if sha256(data) != package.sha256:
            raise BundleError("other_wheel", f"not the SHA-256 of {package.name}", path=package.wheel)
        wheel = read_wheel(data, package.wheel)
        if wheel.name != package.name or not same_version(wheel.version, package.version):
            text = f"its METADATA says {wheel.name} {wheel.version}; the manifest {package.name} "
            raise BundleError("other_wheel", text + package.version, path=package.wheel)


def read_target(data: bytes, target: Target) -> Wheel:
    """The target wheel, held to its RECORD and to the manifest's name, version and digest."""
    if sha256(data) != target.sha256:
        raise BundleError("other_wheel", "not the target's SHA-256", path=target.wheel)
    wheel = read_wheel(data, target.wheel)
    if wheel.name != target.name or not same_version(wheel.version, target.version):
        text = f"its METADATA says {wheel.name} {wheel.version}; the manifest {target.name} {target.version}"
        raise BundleError("other_wheel", text, path=target.wheel)
    return wheel


Authored = Callable[[str], bytes | str | None]
"""Gives the reader's own file for one of the reproduction: its bytes, what else is there, or None."""


def authored_beside(path: Path) -> Authored | None:
    """The authored files of the case that holds the bundle at `path`, in a repository store."""
    case = path.absolute().parent
    # A zip that was sent may lie anywhere; a directory of bundles is a store by its name.
    in_store = (case.parent / "wheels").is_dir() and (path.is_dir() or case.parent.name == "bundles")
    if not in_store:
        return None
    if case.name == "bundles" and (case.parent / MANIFEST).is_file():
        return None  # an unpacked comparison, whose recordings have no author beside them

    return partial(read_beside, case)


def compare_authored(manifest: Manifest, bundle: Bundle, authored: Authored | None) -> Iterator[Difference]:
    """The reproduction's files that are not those that the reader holds beside the bundle."""
    if authored is None:
        return
    for path in manifest.reproduction.files:
        mine = authored(path)
        if mine is not None and mine != bundle.members[path]:
            # A file of that name that cannot be the recorded one is a difference too, not an error.
            yours = mine if isinstance(mine, str) else sha256(mine)
            yield Difference(
                what=f"{path} beside the bundle", bundle=sha256(bundle.members[path]), yours=yours
            )
        elif mine is None and path == manifest.reproduction.entry:
            yield Difference(
                what=f"{path} beside the bundle", bundle=sha256(bundle.members[path]), yours="absent"
            )


def tree_difference(manifest: Manifest, found: "TreeComparison") -> Difference:
    """What differs between the wheel and a tree of the reader's."""
    listed = ", ".join(found.differing[:20]) + (" …" if len(found.differing) > 20 else "")
    yours = f"{len(found.differing)} files differ: {listed}"
    if not found.same and all(each.endswith(" (only in the wheel)") for each in found.differing):
        yours = f"holds none of its files: does {manifest.target.name} lie there?"
    return Difference(
        what=f"files of {manifest.target.wheel} against {found.label}"[:4096],
        bundle=f"{manifest.target.name} {manifest.target.version}, {manifest.target.sha256}",
        yours=yours[:4096],
    )


def name_tree(manifest: Manifest, found: "TreeComparison") -> str:
    """How far a tree of the reader's is identified with the wheel."""
    text = f"{found.same} files of the wheel are those of {found.label}"
    if found.built:
        text += f" ({found.built} more were made by the build)"
    if found.commit is not None:
        text += f", commit {found.commit[:12]}"
        stated = manifest.target.origin.commit
        if stated is not None and stated != found.commit:
            text += f" (the recorder says {stated[:12]}, whose files are then the same)"
    return text


def check_traces(manifest: Manifest, traces: Mapping[Mode, Trace]) -> None:
    """Each trace is of this reproduction."""
    script = manifest.reproduction
    for mode, trace in traces.items():
        starts = [event for event in trace.events if isinstance(event, ScriptStarted)]
        about = [(event.entry, event.arguments, event.tests) for event in starts]
        wanted = [(script.entry, script.arguments, script.tests)]
        if about != wanted or trace.events[0] is not starts[0]:
            text = "it is not one run of the manifest's entry with its arguments or tests"
            raise BundleError("other_run", text, path=f"traces/{mode}.json")


def check_states(manifest: Manifest, traces: Iterable[Trace], states: Mapping[str, Any]) -> None:
    """The states are exactly those that the traces refer to, and are not referred to without end.

    Any: a state's JSON.
    """
    often = Counter(digest for trace in traces for digest in trace.references())
    referred = often.keys()
    for digest in sorted(referred - states.keys()):
        raise BundleError("missing", "a trace refers to it", path=f"states/{digest}.json")
    for digest in sorted(states.keys() - referred):
        raise BundleError("unlisted", "no trace refers to it", path=f"states/{digest}.json")
    sizes = {member.path: member.size for member in manifest.members}
    if sum(count * sizes[f"states/{digest}.json"] for digest, count in often.items()) > MAX_REFERRED_BYTES:
        text = f"its events refer to more than {MAX_REFERRED_BYTES} bytes of states"
        raise BundleError("too_large", text, path=MANIFEST)


def check_conduct(manifest: Manifest, bundle: Bundle) -> None:
    """The places where the script uses private names are lines of its files."""
    conduct = manifest.conduct
    for place in (*conduct.private_writes, *conduct.private_reads):
        require(
            place.file in manifest.reproduction.files, f"conduct names {place.file}, which is no file of it"
        )
        lines = bundle.members[place.file].count(b"\n") + 1
        require(
            0 < place.line <= lines, f"conduct names line {place.line} of {place.file}, which has {lines}"
        )


def check_header(manifest: Manifest, bundle: Bundle) -> Header:
    """The reproduction's header, whose title and reference are the manifest's."""
    script = manifest.reproduction
    try:
        source = bundle.members[script.entry]
        digest = next(member.sha256 for member in manifest.members if member.path == script.entry)
        header = _HEADERS.get(digest, len(source), lambda: read_header(source, path=script.entry))
    except UsageError as error:
        raise BundleError("bad_header", error.message) from error
    if (header.title, header.reference) != (script.title, script.reference):
        raise BundleError("other_header", "title or reference is not that of the header", path=script.entry)
    check_expectations(script.expectations, header)
    return header


def check_expectations(stated: Expectations | None, header: Header) -> None:
    """What is said to be expected is something, makes sense, and the header's is among it."""
    require(stated is None or bool(stated), "expectations without any")
    given = stated or NOTHING
    try:
        check_consistent(given)
    except UsageError as error:
        raise BundleError("malformed", f"expectations: {error.message}", path=MANIFEST) from error
    if not includes(given, header.expectations):
        raise BundleError("other_header", "the header expects what the manifest does not", path=MANIFEST)


def authored_in(
    manifest: Manifest, header: Header, traces: Mapping[Mode, Trace]
) -> tuple[AuthoredClaim, ...]:
    """The claims of what is expected, and those that the reproduction's header authors, as far as this tool
    can read them.

    A manifest may have them in other versions, or of kinds, that this tool lacks. They are all there even
    so, and no others, and their arguments are the header's.
    """
    entry = manifest.reproduction.entry
    recorded = manifest.judgement.claims
    written = {(claim.id, claim.mode): claim for claim in recorded if claim.arguments is not None}
    # An author could not know the names of rules that came later.
    taken = {claim.kind for claim in recorded if claim.arguments is None}
    claims: list[AuthoredClaim] = []
    for expected in expected_claims(manifest.reproduction.expectations or NOTHING, modes=traces):
        claim = written.get((expected.id, expected.mode))
        if claim is None or claim.kind != expected.kind or _differ(expected.arguments, claim.arguments):
            raise _other_authored()
        claims.append(expected)
    try:
        for each in header_claims(header.claims, modes=traces, path=entry, taken=taken):
            claim = written.get((each.id, each.mode))
            if claim is None or claim.kind != each.kind:
                raise _other_authored()
            kind = find_authored(claim.kind, claim.version)
            if kind is not None and _differ(each.arguments(kind), claim.arguments):
                raise _other_authored()
            is_current = kind is not None and kind is AUTHORED.get(each.kind)
            with nullcontext() if is_current else suppress(UsageError):
                own = each.current()
                arguments = each.arguments(own)
                claims.append(AuthoredClaim(each.id, each.kind, own.VERSION, each.mode, arguments))
    except UsageError as error:
        raise BundleError("bad_header", error.message) from error
    return tuple(claims)


def check_claims(manifest: Manifest, header: Header, own: Judgement) -> None:
    """The manifest's claims are in their order, each once: those of rules, then all the authored ones.

    `own` is what this tool judges by itself. Which rules there are is a matter of the version that recorded.
    """
    recorded = manifest.judgement.claims
    rules = [claim for claim in recorded if claim.arguments is None]
    authored = recorded[len(rules) :]
    for claim in rules:
        if claim.id != claim.kind:
            text = f"claim {claim.id!r} has neither arguments nor the name of its rule, {claim.kind}"
            raise BundleError("malformed_claim", text, path=MANIFEST)
    places = [(claim.kind, _MODES.index(claim.mode)) for claim in rules]
    if tuple(rules) != recorded[: len(rules)] or places != sorted(set(places)):
        raise BundleError("other_claims", "claims are not in their order, each once", path=MANIFEST)
    modes = [each.mode for each in manifest.recordings]
    script = manifest.reproduction
    expected = [
        *(
            (each.id, each.kind, each.mode)
            for each in expected_claims(script.expectations or NOTHING, modes=modes)
        ),
        *(
            (each.id, each.kind, each.mode)
            for each in header_claims(header.claims, modes=modes, path=manifest.reproduction.entry)
        ),
        *((claim.id, claim.kind, claim.mode) for claim in own.claims if claim.kind == probe_check.NAME),
    ]
    if [(claim.id, claim.kind, claim.mode) for claim in authored] != expected:
        raise _other_authored()


def _other_authored() -> BundleError:
    text = "its authored claims are not those of its expectations, the reproduction's header and its checks"
    return BundleError("other_claims", text, path=MANIFEST)


def _differ(one: object, other: object) -> bool:
    return compact(one) != compact(other)


def values_in(judgement: Judgement) -> bytes:
    """The values in it, by their bytes, since Python has 1 == True == 1.0: what is equal may differ there."""
    values = [(finding.before, finding.after) for claim in judgement.claims for finding in claim.because]
    return compact([values, [claim.arguments for claim in judgement.claims if claim.arguments is not None]])


def check_judgement(recorded: Judgement, recomputed: Judgement) -> None:
    """The recorded judgement is the recomputed one."""
    if recorded == recomputed and values_in(recorded) == values_in(recomputed):
        return
    if recorded.verdict != recomputed.verdict:
        text = f"the traces give {recomputed.verdict!r}, the manifest says {recorded.verdict!r}"
        raise BundleError("other_verdict", text, path=MANIFEST)
    change = next(diff(recomputed.to_shape(), recorded.to_shape()), None)
    where = change.pointer if change else ""
    sides = (
        " ".join(
            f"{label} {'nothing' if isinstance(side, Absent) else str(side)[:200]!r};"
            for label, side in (("the traces give", change.before), ("the manifest says", change.after))
        )
        if change
        else ""
    )
    raise BundleError("other_claims", f"judgement{where}: {sides}", path=MANIFEST)


def count_claims(claims: Iterable[ClaimResult]) -> str:
    """How many claims came to what, each kind of claim counted once."""
    worst: dict[str, str] = {}
    order = ("not_observed", "holds", "violated")
    for claim in claims:
        held = worst.get(claim.id, "not_observed")
        worst[claim.id] = max(held, claim.status, key=order.index)
    counts = Counter(worst.values())
    words = {"violated": "violated", "holds": "hold", "not_observed": "not observed"}
    if counts["holds"] == 1:
        words["holds"] = "holds"
    return (
        ", ".join(f"{counts[status]} {word}" for status, word in words.items() if counts[status])
        or "no claims"
    )


def stated(manifest: Manifest) -> tuple[str, ...]:
    """What rests on the recorder's word alone, in sentences."""
    environment, target = manifest.environment, manifest.target
    platform = environment.platform
    lines = [
        f"ran on CPython {environment.python.version}, {platform.system} {platform.machine}",
        f"{environment.installed_files} installed files matched their wheels",
        f"isolation: network {manifest.isolation.network}, files {manifest.isolation.files}",
        f"recorder: agentproof {manifest.recorder.agentproof}, {short(manifest.recorder.sha256)}",
        f"{len(manifest.loaded)} modules were loaded, and no other file of the target was",
    ]
    if manifest.provider is not None:
        lines.append(f"model: {manifest.provider.words()}")
    if environment.as_of is not None:
        lines.append(f"dependencies were resolved as of {environment.as_of}")
    if target.origin.kind == "checkout":
        dirty = " with changes" if target.origin.dirty else ""
        lines.append(f"the wheel was built from commit {target.origin.commit}{dirty}")
    else:
        lines.append(f"the wheel came from {'an index' if target.origin.kind == 'index' else 'a file'}")
    lines += [f"{each.mode}: {each.repeats} repeats, {each.agreement}" for each in manifest.recordings]
    conduct = manifest.conduct
    touched = len(conduct.changed) + len(conduct.private_writes)
    lines.append(f"the script changed {touched} things of the SDK" + (", allowed" if conduct.allowed else ""))
    lines += [f"not captured: {gap.what} ({gap.why})" for gap in manifest.coverage]
    if manifest.redactions:
        lines.append(f"{manifest.redactions} values were redacted")
    return tuple(line[:4096] for line in lines)

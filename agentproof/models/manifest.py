"""The manifest: everything else in a bundle by path, SHA-256 and size, and what was concluded.

Each field is bound or stated. Bound fields are recomputed by `check` from members (members,
reproduction, evidence id, the judgement, packages against `pylock.toml`, the target's digest and
name against its wheel, loaded modules against the wheel's RECORD). Stated fields rest on the
recorder's word, under its signature: Python, platform, as_of, installed_files, isolation,
recorder, conduct, coverage, repeats and agreement of the recordings, the target's origin.
"""

from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import Field

from ..limits import MAX_WHEEL_NAME
from .events.base import Label, Seq
from .expectations import Expectations
from .text import value_text
from .trace import Mode
from .values import Value
from .wire import Count, ListOf, MemberPath, Sha256, Text, Version, Wire, bounded, exactly

Date = Annotated[str, Field(pattern=r"^\d{4}-\d{2}-\d{2}$", max_length=10)]
"""A calendar day in UTC."""

WheelName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.+!-]+\.whl$", max_length=MAX_WHEEL_NAME)]
"""A wheel's file name (PEP 427)."""


class Member(Wire):
    """One file of the bundle."""

    path: MemberPath
    sha256: Sha256
    size: Count


class Package(Wire):
    """One locked distribution, by its wheel."""

    name: Text
    """MUST be normalised (PEP 503)."""
    version: Text
    wheel: WheelName
    sha256: Sha256
    size: Count
    origin: Literal["local"] | None = None
    """`local`: the reporter's own project, asked of no index; its wheel is a member. Absent else."""


LOCAL: Final = "local"
LATEST: Final = "latest"
"""The newest release of the day on which it was asked for."""


class Origin(Wire):
    """Where the target wheel came from, as stated by the recorder."""

    kind: Literal["index", "file", "checkout"]
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")] | None = None
    tree: Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")] | None = None
    dirty: bool | None = None
    revision: Text | None = None
    """How it was asked for: a commit as a branch, say; a release as `latest`. Absent where by its id or
    version."""


class Target(Wire):
    """The distribution under test. It MUST be one of the environment's packages."""

    name: Text
    version: Text
    wheel: WheelName
    sha256: Sha256
    size: Count
    origin: Origin


def is_latest(target: Target) -> bool:
    """Whether the recorder asked for the newest release of its day, and got this one."""
    return target.origin.kind == "index" and target.origin.revision == LATEST


def name_of_build(target: Target) -> str:
    """`0.20.0`; `0.20.0 at 7f7a44f8dc (main)` for a build of a checkout; with the start of its digest for a
    file."""
    origin = target.origin
    if origin.kind == "index":
        return target.version
    if origin.kind == "file" or origin.commit is None:
        return f"{target.version}+{target.sha256[:8]}"
    asked = f" ({origin.revision})" if origin.revision is not None else ""
    return f"{target.version} at {origin.commit[:10]}{asked}{' with changes' if origin.dirty else ''}"


class Reproduction(Wire):
    """The script or the tests, and the files that they loaded, all of them members."""

    entry: MemberPath
    """The script; for tests the file of the first one."""
    arguments: ListOf[Text] = ()
    tests: ListOf[Text] = ()
    """pytest node ids, relative to the reproduction's root, in the order in which they are run. Absent for a
    script. Their files MUST be among `files`, and there MUST be no arguments."""
    requires: ListOf[Text] = ()
    """Requirements beyond the target's and the header's (`--with`), as they were given; stated."""
    variables: ListOf[Text] = ()
    """The environment variables that it was given (`--env`), by name, sorted; stated. Values are masked in
    what was recorded, `<env:NAME>`, but for those that were given as public."""
    files: ListOf[MemberPath]
    """Sorted; contains the entry."""
    title: Text | None = None
    reference: Text | None = None
    expectations: Expectations | None = None
    """What its reporter says should happen, by options and in the header. Those of the header MUST be among
    them, each is judged as claims of its own, and they are part of the evidence (projection 2)."""


class Python(Wire):
    """The interpreter."""

    implementation: Literal["cpython"]
    version: Text
    """The full version, such as `3.12.1`."""


class Platform(Wire):
    """The platform, as far as wheels tell platforms apart."""

    system: Text
    machine: Text
    libc: Text | None = None


class Environment(Wire):
    """A fresh venv that holds exactly these wheels."""

    python: Python
    platform: Platform
    as_of: Date | None = None
    """Distributions uploaded after this day (UTC) were not considered; absent for a given lock."""
    packages: ListOf[Package]
    """Sorted by name."""
    installed_files: Count
    """Files in site-packages that were compared with the RECORD of their wheels."""


class Recorder(Wire):
    """The program inside the environment."""

    agentproof: Text
    sha256: Sha256
    """Of the deterministic zipapp."""


class Isolation(Wire):
    """How the script was held in."""

    network: Literal["namespace", "seccomp", "audit-hook"]
    files: Literal["landlock", "mounts", "none"]
    user: Literal["dropped", "own"]
    self_test: Literal["refused", "not_made"]
    """What became of the launcher's own attempt to leave, made just before the script."""


class Recording(Wire):
    """One trace and how its repeats compare."""

    mode: Mode
    trace: MemberPath
    repeats: Count
    agreement: Literal["same", "order", "text", "differ", "single"]
    """`order`: only the raw order of unordered events differs. `text`: beside that only what the script
    printed does; `<varies>` stands for it in the trace."""
    differences: ListOf[Text] = ()
    """RFC 6901 pointers into the trace, for `text` and `differ`."""
    touched: ListOf[Text] = ()
    """For `differ`: the parts of the recorder whose events are not the same in all repeats, sorted. Claims
    that need one of them are not observed; where it is absent, or names `script`, all is inconclusive."""


class ProviderHost(Wire):
    """A host that a model was asked at, when its answers were recorded."""

    host: Text
    port: Count
    to: Text | None = None
    """The loopback address that answered in its place (`--live-to`); then the provider never did."""


class AskedOtherwise(Wire):
    """One place where a request is not the recorded one whose answer it got."""

    pointer: Text
    """RFC 6901, into the body."""
    recorded: Value | None = None
    asked: Value | None = None
    """Absent: not there."""


class Answered(Wire):
    """One request of the recording that is kept, and the recorded answer that it got."""

    mode: Mode
    exchange: Count | None = None
    """Its place in `exchanges.json`; absent for one that was refused."""
    by: Literal["exact", "same", "question", "items", "shape", "refused"]
    """How it was found: the same body; the same but for generated ids; the same question, with other
    settings beside it; the same conversation; one of the same shape. `refused`: no answer could be given."""
    synthesised: bool | None = None
    """True where the recorded answer was put into the other form, a stream or a whole; absent else."""
    differences: ListOf[AskedOtherwise] = ()


class Provider(Wire):
    """The provider's answers that a model was given, from `exchanges.json`."""

    hosts: ListOf[ProviderHost]
    recorded: Text
    """When they were asked for (RFC 3339, UTC); stated."""
    target: Sha256
    """The wheel that asked for them."""
    requests: Count
    """How many there are."""
    request_ids: ListOf[Text] = ()
    """What the hosts call them, as they say."""
    answers: ListOf[Answered]
    """What each request of the script got, sorted; but for those that got the same body's answer as it was.
    Stated."""
    unused: ListOf[Count] = ()
    """Exchanges that were asked for in no mode; stated."""

    def words(self) -> str:
        """Where the answers come from, and on whose word."""
        asked = [each.host for each in self.hosts if each.to is None]
        instead = [each for each in self.hosts if each.to is not None]
        places = [f"{each.to} in the place of {each.host} (not the provider)" for each in instead]
        ids = f", request ids {', '.join(self.request_ids[:_FEW])}" if self.request_ids else ""
        more = " …" if len(self.request_ids) > _FEW else ""
        source = f"from {' and '.join(asked)} " if asked else ""
        whose = "the provider's" if asked else "the"
        return (
            f"recorded {source}on {self.recorded[:10]}: {self.requests} "
            f"request{'' if self.requests == 1 else 's'}{ids}{more}; "
            + (f"answered by {' and '.join(places)}; " if places else "")
            + f"{whose} answers are the signer's word"
        )

    def asked_otherwise(self) -> Iterator[str]:
        """What the script did not ask as it was recorded, in words: each once, whatever the mode."""
        lines: dict[str, None] = {}
        for each in self.answers:
            request = "a request" if each.exchange is None else f"request {each.exchange + 1}"
            if each.by == "refused":
                lines[f"{request} that was not recorded: no answer was given"] = None
            elif each.by == "shape":
                lines[f"{request}: the answer to another question of the same shape"] = None
            for other in each.differences if each.by in ("question", "items", "shape") else ():
                sides = [_side(side) for side in (other.recorded, other.asked)]
                name = other.pointer.lstrip("/") or "the body"
                lines[f"{request}: {name} {sides[0]} \N{RIGHTWARDS ARROW} {sides[1]}"] = None
        yield from (bounded(line) for line in lines)


def _side(value: Value | None) -> str:
    return "absent" if value is None else value_text(value, 60)


_FEW = 3


class LoadedModule(Wire):
    """A module of the target that a recorded process had loaded at its end."""

    module: Text
    path: MemberPath
    """The file below site-packages, as in the wheel's RECORD."""
    sha256: Sha256


class SourceLine(Wire):
    """A line in one of the reproduction's files."""

    name: Text
    file: Text
    line: Count


class Conduct(Wire):
    """What the script did to the SDK itself."""

    changed: ListOf[Text] = ()
    """What of the SDK is not what its files or its import make, by name: functions, methods, classes, module
    globals; import hooks, modules in the place of others, code under the SDK's file names; attributes of
    results and states that the script wrote."""
    private_writes: ListOf[SourceLine] = ()
    private_reads: ListOf[SourceLine] = ()
    allowed: bool = False
    """True with `--allow-sdk-changes`."""


class Gap(Wire):
    """Something that this recording could not capture."""

    what: Text
    why: Text
    code: Literal["not_in_release", "not_watched"] | None = None
    """`not_in_release`: the release does not have it, so that nothing of it can have been missed.
    `not_watched`: a part of the SDK that the script used and that the recorder does not know."""


class EventRef(Wire):
    """An event that a finding rests on."""

    mode: Mode
    seq: Seq


class Finding(Wire):
    """One reason for a claim's status, as data; `claims` turns it into a sentence."""

    code: Text
    """Which of the rule's cases this is; a stable word of the claim kind's vocabulary."""
    events: ListOf[EventRef]
    state: Label | None = None
    pointer: Text | None = None
    before: Value | None = None
    after: Value | None = None
    null: ListOf[Literal["before", "after"]] = ()
    """Which of the two is JSON's null; one that is neither given nor here is absent."""
    tool: Text | None = None
    call_id: Text | None = None
    run: Label | None = None
    subject: Text | None = None


Status = Literal["violated", "holds", "not_observed"]


class ClaimResult(Wire):
    """What one claim comes to."""

    id: Text
    """The kind's name for an invariant, the author's label for an authored claim."""
    kind: Text
    version: Count
    mode: Literal["as-written", "streamed", "both"]
    arguments: Value | None = None
    """An authored claim's own; absent for an invariant."""
    status: Status
    sites: Count
    """How often the rule had something to judge."""
    because: ListOf[Finding] = ()


class Judgement(Wire):
    """The verdict and the claims behind it."""

    verdict: Literal["violated", "holds", "inconclusive"]
    reasons: ListOf[Text] = ()
    """For `inconclusive`: stable codes, sorted."""
    version: Annotated[Literal[2], exactly(int)] | None = None
    """2 where the verdict is `holds` although no agent ran; absent else."""
    claims: ListOf[ClaimResult]


class Manifest(Wire):
    """`manifest.json`. Its SHA-256 is the bundle id."""

    format: Literal["agentproof/bundle"]
    version: Version
    target: Target
    reproduction: Reproduction
    environment: Environment
    recorder: Recorder
    isolation: Isolation
    recordings: ListOf[Recording]
    loaded: ListOf[LoadedModule]
    conduct: Conduct
    coverage: ListOf[Gap] = ()
    provider: Provider | None = None
    """Absent where the script talked to no provider; then its model is its own."""
    redactions: Count | None = None
    """How many values `--redact` replaced; absent without it."""
    judgement: Judgement
    evidence_id: Sha256
    members: ListOf[Member]
    """Every file but this one and the attestations, sorted by path; those under `wheels/` may be absent."""


def not_watched(manifest: Manifest) -> list[Gap]:
    """The parts of the SDK that the script used and that the recorder does not know."""
    return [gap for gap in manifest.coverage if gap.code == "not_watched"]

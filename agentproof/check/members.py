"""Steps 1 and 2 of `check`: the files of a bundle, their places in the format, and their encoding."""

import re
from functools import partial
from typing import Any

from ..bundle.folder import is_safe_path
from ..bundle.store import MANIFEST, WHEELS, Bundle, sha256, short
from ..errors import BundleError, FormatError
from ..limits import MAX_KEPT_BYTES, MAX_KEPT_MANIFESTS, MAX_MANIFEST_BYTES, MAX_MEMBERS, MAX_STATE_BYTES
from ..models.exchanges import EXCHANGES, Exchanges
from ..models.manifest import Manifest
from ..models.pylock import PYLOCK
from ..models.trace import Mode, Trace
from ..models.wire import Sha256, decode, encode
from .memo import Memo

_STATE = re.compile(r"states/(?P<digest>[0-9a-f]{64})\.json")
_RESERVED = re.compile(
    r"manifest\.json|pylock\.toml|exchanges\.json|(?:attestations|traces|states|wheels)(?:/.*)?"
)
_KNOWN = b'"agentproof/bundle"', b"0"
_COMPARISON = b'"agentproof/comparison"'
# In the canonical encoding only a key of the document itself stands behind a line's first two spaces.
_HEAD = b'\n  "format": ', b'\n  "version": '
_SHORT = re.compile(rb'("[^"\\]{0,100}"|[0-9]{1,9}),?\n')

_MANIFESTS: Memo[Manifest] = Memo(limit=MAX_KEPT_MANIFESTS)
_TRACES: Memo[Trace] = Memo(limit=MAX_KEPT_BYTES)
_STATES: Memo[Any] = Memo(limit=MAX_KEPT_BYTES)  # Any: a state's JSON


def is_comparison(bundle: Bundle) -> bool:
    """Whether the bundle is a comparison, by the format that its manifest names."""
    return _read_head(bundle.manifest)[0] == _COMPARISON


def _read_head(raw: bytes) -> list[bytes | None]:
    """The format and the version that a manifest names."""
    found: list[bytes | None] = []
    for key in _HEAD:
        start = raw.find(key)
        match = _SHORT.match(raw, start + len(key)) if start >= 0 else None
        found.append(match[1] if match else None)
    return found


def parse_manifest(raw: bytes, *, digest: Sha256) -> Manifest:
    """The manifest, in canonical form; `digest` is its own."""
    if len(raw) > MAX_MANIFEST_BYTES:
        text = f"{len(raw)} bytes are over the limit of {MAX_MANIFEST_BYTES}"
        raise BundleError("too_large", text, path=MANIFEST)
    # Told apart before anything else, because a newer format explains every other oddity.
    form, version = _read_head(raw)
    if form is not None and version is not None and (form, version) != _KNOWN:
        is_ours = form == _KNOWN[0]
        what = f"schema version {version.decode()}" if is_ours else form.decode("utf-8", "replace")
        raise BundleError(
            "unknown_version",
            f"{what}; this tool reads agentproof/bundle 0",
            path=MANIFEST,
            hint="a newer agentproof wrote it: update your checkout of it" if is_ours else None,
        )
    with at(MANIFEST):
        return _MANIFESTS.get(digest, len(raw), partial(Manifest.from_bytes, raw))


class at:  # noqa: N801 (a context, as those of contextlib, which cost five times as much)
    """Name the member in what a parser says about it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if isinstance(error, FormatError):
            raise FormatError(error.message, path=self._path, reason=error.reason) from error


def check_members(manifest: Manifest, bundle: Bundle) -> None:
    """Every file of the bundle is in the manifest, byte for byte, and the other way round."""
    listed = manifest.members
    if len(listed) > MAX_MEMBERS:
        text = f"{len(listed)} members are over the limit of {MAX_MEMBERS}"
        raise BundleError("too_many", text, path=MANIFEST)
    paths = [member.path for member in listed]
    if paths != sorted(set(paths)):
        raise BundleError("malformed", "members are not sorted by path, each once", path=MANIFEST)
    for extra in sorted(bundle.members.keys() - set(paths)):
        raise BundleError("unlisted", "not in the manifest", path=extra, hint=f"delete {extra}")
    for member in listed:
        if not is_safe_path(member.path):
            raise BundleError("unsafe_path", f"{member.path!r} is no path of a member", path=MANIFEST)
        detachable = member.path.startswith(WHEELS)
        data = bundle.members.get(member.path)
        if data is None and detachable:
            data = bundle.shelf(member.path.removeprefix(WHEELS))
        if data is None:
            if detachable:
                continue
            raise BundleError("missing", "in the manifest, but not there", path=member.path)
        if len(data) != member.size:
            text = f"{len(data)} bytes; the manifest says {member.size}"
            raise BundleError("other_bytes", text, path=member.path)
        if (found := sha256(data)) != member.sha256:
            text = f"SHA-256 {short(found)}; the manifest says {short(member.sha256)}"
            raise BundleError("other_bytes", text, path=member.path)


def check_places(manifest: Manifest) -> None:
    """Every member has a place in the format, and every place that must be filled is."""
    script, target = manifest.reproduction, manifest.target
    wheel = WHEELS + target.wheel
    files = {member.path: member for member in manifest.members}
    require(list(script.files) == sorted(set(script.files)), "reproduction.files are not sorted, each once")
    require(script.entry in script.files, "reproduction.entry is not among reproduction.files")
    if script.tests:
        named = [test.partition("::")[0] for test in script.tests]
        require(named[0] == script.entry, "reproduction.entry is not the file of the first of its tests")
        require(set(named) <= set(script.files), "reproduction.tests are not in reproduction.files")
        require(len(set(script.tests)) == len(named), "reproduction.tests are not there once each")
        require(not script.arguments, "reproduction.tests take no arguments")
    for path in script.files:
        require(_RESERVED.fullmatch(path) is None, f"{path} is no place for a file of the reproduction")
    require(
        list(script.variables) == sorted(set(script.variables)),
        "reproduction.variables are not sorted, each once",
    )
    modes = [recording.mode for recording in manifest.recordings]
    require(bool(modes) and modes == sorted(set(modes)), "recordings are not one a mode, in order")
    for recording in manifest.recordings:
        require(recording.trace == f"traces/{recording.mode}.json", f"{recording.trace} has another name")
        differs = recording.agreement in ("text", "differ")
        require(differs == bool(recording.differences), "`differences` without `differ`, or the reverse")
        require(differs or not recording.touched, "`touched` without `differ`")
        require(list(recording.touched) == sorted(set(recording.touched)), "`touched` is not sorted")
        require((recording.repeats == 1) == (recording.agreement == "single"), "`repeats` and `agreement`")
        require(recording.repeats > 0, "a recording without a repeat")
    own = [package for package in manifest.environment.packages if package.origin is not None]
    require(
        all(package.name != target.name for package in own), "the target is no project of the reporter's own"
    )
    kept = {WHEELS + package.wheel: package for package in own}
    needed = {*script.files, PYLOCK, wheel, *kept, *(recording.trace for recording in manifest.recordings)}
    needed |= {EXCHANGES} if manifest.provider is not None else set()
    for path in sorted(needed - files.keys()):
        raise BundleError("missing", f"{path} is not a member", path=MANIFEST)
    for path in sorted(files.keys() - needed):
        match = _STATE.fullmatch(path)
        if match is None:
            raise BundleError("unlisted", "the format has no place for it", path=path)
        if match["digest"] != files[path].sha256:
            raise BundleError("other_bytes", "named by another digest than its own", path=path)
    stated = (files[wheel].sha256, files[wheel].size)
    require(stated == (target.sha256, target.size), f"{wheel} and the target are not the same file")
    for path, package in kept.items():
        stated = (files[path].sha256, files[path].size)
        require(stated == (package.sha256, package.size), f"{path} and {package.name} are not the same file")


def require(condition: bool, what: str, *, reason: str = "malformed") -> None:
    """Refuse the manifest unless `condition`; `what` is a sentence about what is wrong."""
    if not condition:
        raise BundleError(reason, what, path=MANIFEST)


def parse_traces(manifest: Manifest, bundle: Bundle) -> dict[Mode, Trace]:
    """The traces, in their one encoding; their digests are known to be the manifest's."""
    traces: dict[Mode, Trace] = {}
    digests = {member.path: member.sha256 for member in manifest.members}
    for recording in manifest.recordings:
        raw = bundle.members[recording.trace]
        with at(recording.trace):
            trace = _TRACES.get(digests[recording.trace], len(raw), partial(Trace.from_bytes, raw))
        if trace.mode != recording.mode:
            raise BundleError("other_mode", f"its mode is {trace.mode}", path=recording.trace)
        traces[recording.mode] = trace
    return traces


def parse_exchanges(manifest: Manifest, bundle: Bundle) -> Sha256 | None:
    """The SHA-256 of a provider's recorded answers without their times, which are the manifest's."""
    provider = manifest.provider
    if provider is None:
        return None
    with at(EXCHANGES):
        exchanges = Exchanges.from_bytes(bundle.members[EXCHANGES])
    hosts = tuple((each.name, each.port, each.to) for each in exchanges.hosts)
    require(
        hosts == tuple((each.host, each.port, each.to) for each in provider.hosts),
        f"provider.hosts are not those of {EXCHANGES}",
    )
    require(provider.recorded == exchanges.recorded, f"provider.recorded is not that of {EXCHANGES}")
    require(
        provider.request_ids == tuple(exchanges.request_ids()),
        f"provider.request_ids are not those of {EXCHANGES}",
    )
    require(provider.target == exchanges.target, f"provider.target is not that of {EXCHANGES}")
    require(provider.requests == len(exchanges.exchanges), f"provider.requests are not those of {EXCHANGES}")
    places = [*provider.unused, *(each.exchange for each in provider.answers if each.exchange is not None)]
    require(all(place < provider.requests for place in places), f"provider names what is not in {EXCHANGES}")
    modes = {each.mode for each in manifest.recordings}
    require(all(each.mode in modes for each in provider.answers), "provider.answers of another mode")
    require(
        all((each.by == "refused") == (each.exchange is None) for each in provider.answers),
        "provider.answers: an exchange without an answer, or the reverse",
    )
    return sha256(encode(exchanges.timeless()))


def parse_states(bundle: Bundle) -> dict[str, Any]:  # Any: a state's JSON
    """The states by digest, in the canonical encoding; their digests are known to be those of their names."""
    states: dict[str, Any] = {}
    for path, data in bundle.members.items():
        if match := _STATE.fullmatch(path):
            with at(path):
                read = partial(decode, data, limit=MAX_STATE_BYTES)
                states[match["digest"]] = _STATES.get(match["digest"], len(data), read)
    return states

"""The committed bundles as this version of agentproof would record them.

What is measured or attacked here is the check of a bundle by the version that made it, so that the judgement
is brought up to date and the bundle signed again.
"""

from dataclasses import replace
from pathlib import Path

from agentproof import __version__
from agentproof.bundle.store import Bundle, Shelf, read_bundle
from agentproof.check import content
from agentproof.check.bundle import Reader, check_bundle
from agentproof.claims.judge import Answers, judge
from agentproof.models.header import read_header
from agentproof.models.manifest import Manifest
from agentproof.models.wire import encode
from agentproof.trust import signing

STORE = Path(__file__).parents[1] / "bundles"
EXAMPLE = sorted(STORE.glob("sibling-approval/0.*"))[0]
"""The bundle that README begins with."""


def current(place: Path = EXAMPLE, *, key: signing.HeldKey) -> Bundle:
    """The bundle at `place`, with today's judgement and one signature, by `key`."""
    bundle = read_bundle(place, wheels=Shelf(STORE / "wheels"))
    checked = check_bundle(bundle, reader=Reader())
    if checked.manifest is None:
        raise ValueError(f"{place} is damaged: {checked.report.checks[0].detail}")
    manifest = checked.manifest
    entry = manifest.reproduction.entry
    judgement = judge(
        traces=checked.traces,
        state=checked.states.__getitem__,
        recordings=manifest.recordings,
        conduct=manifest.conduct,
        isolation=manifest.isolation,
        coverage=manifest.coverage,
        answers=Answers.of(manifest.provider, manifest.target.sha256),
        authored=content.authored_in(
            manifest, read_header(bundle.members[entry], path=entry), checked.traces
        ),
    )
    shape = manifest.to_shape()
    shape["judgement"] = judgement.to_shape()
    shape["recorder"] = {**shape["recorder"], "agentproof": __version__}
    return signed(replace(bundle, manifest=encode(shape)), key)


def signed(bundle: Bundle, key: signing.HeldKey) -> Bundle:
    """The bundle with one signature, by `key`."""
    return replace(bundle, attestations=dict([signing.attest_recorded(bundle.manifest, key)]))


def wheel_of(bundle: Bundle) -> tuple[str, bytes]:
    """The file name and the bytes of the target wheel."""
    name = Manifest.from_bytes(bundle.manifest).target.wheel
    data = bundle.wheel(name)
    if data is None:
        raise ValueError(f"{name} is not in the store")
    return name, data

"""Whether the collector comes by or not, a recording is the same (`agentproof._recorder.reachability`)."""

from pathlib import Path

import pytest

from agentproof.isolation.readback import StreamBytes
from agentproof.record.canonical import Canonical, canonicalise
from tests.real.test_recorder_identity import environment
from tests.unit.recorder.driver import record

pytestmark = [pytest.mark.real, pytest.mark.slow]

SCRIPT = Path(__file__).parents[1] / "scripts" / "healthy" / "h03_approvals.py"
NOTHING = StreamBytes(b"", 0, False)

COLLECTORS = {
    "never": "import gc\ngc.disable()\n",
    "all the time": "import gc\ngc.set_threshold(50, 2, 2)\n",
}


def _recorded(collector: str, work: Path, python: Path, site_packages: Path, cache: Path) -> Canonical:
    script = work / "root" / SCRIPT.name
    script.parent.mkdir(parents=True)
    script.write_text(COLLECTORS[collector] + SCRIPT.read_text())
    recorded = record(script, work, python=python, site_packages=site_packages, cache=cache)["as-written"]
    assert recorded.of("recorder.failed") == []
    return canonicalise(
        "as-written",
        recorded.events,
        ending=None,
        streams={"stdout": NOTHING, "stderr": NOTHING},
        paths={str(work): "<work>"},
        shared_ids=frozenset(),
    )


def test_a_recording_does_not_tell_when_the_collector_came(tmp_path: Path) -> None:
    with environment("0.20.0", "3.12") as prepared:
        never, always = (
            _recorded(
                name,
                tmp_path / str(number),
                prepared.python,
                prepared.site_packages,
                prepared.pycache_prefix,
            )
            for number, name in enumerate(COLLECTORS)
        )
    assert any(event.kind == "result.observed" for event in never.trace.events)
    assert never.trace.to_bytes() == always.trace.to_bytes()

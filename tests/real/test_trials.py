"""Many scripts tried in one process that has imported the SDK: judged as an ordinary recording does."""

from pathlib import Path

from agentproof.environment import interpreters, locking
from agentproof.environment.wheel_store import default_store
from agentproof.isolation.forkserver import Source
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import select
from agentproof.record.trials import Trials, trials

ROOT = Path(__file__).parents[2]


def _violated(tried: Trials, script: str) -> set[tuple[str, str]]:
    reproduction = read_reproduction(select(str(ROOT / script), ()))
    bundle = tried.record(reproduction)
    claims = bundle.document.judgement.claims
    return {(each.kind, each.mode) for each in claims if each.status == "violated" and each.mode}


def test_scripts_are_tried_one_after_the_other() -> None:
    lock = locking.lock(
        requirement="openai-agents==0.20.0", interpreter=interpreters.find(None), store=default_store()
    )
    with trials(lock, Conditions(), Silent()) as tried:
        hostile = tried.run(Source(b"import os, signal\nos.kill(0, signal.SIGKILL)\n"))
        assert (hostile.outcome, hostile.status) == ("ended", -9)

        endless = tried.run(Source(b"print('begun', flush=True)\nwhile True:\n    pass\n"), seconds=0.5)
        assert (endless.outcome, endless.stdout) == ("timed_out", b"begun\n")

        bare = tried.run(Source(b"import agents, sys\nprint(sys.argv[1:], __name__)\nsys.exit(3)\n"))
        assert (bare.outcome, bare.status, bare.stdout) == ("ended", 3, b"[] __main__\n")

        assert _violated(tried, "bundles/sibling-approval/reproduction.py") == {
            (rule, mode)
            for rule in ("approval-respected", "state-integrity")
            for mode in ("as-written", "streamed")
        }

"""Does `explain` name the function that a fix changed? `python -m tests.benchmarks.explain --help`

For each case: record its script on the release that shows the bug, then `explain` the bundle with the fixed
release and alone, both from the same replays. The truth is what the fix's commit changed: functions of the
parent commit whose syntax differs (own body, without docstring and comments). A case is a hit within N if one
of them is among the first N. With `--keep` the replays are kept, and ranked anew without a run.
"""

import argparse
import json
import pickle
import subprocess
import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agentproof.cause.explain import Replays, replays, told
from agentproof.cause.source import SourceFile
from agentproof.check.bundle import Reader, check_bundle
from agentproof.errors import AgentproofError
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.recording import record
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import Selection
from agentproof.record.target import parse_target
from agentproof.trust.keyring import default_key

UNSEEN = Path(__file__).parents[1] / "scripts" / "unseen"


def truth_of(mirror: Path, commit: str) -> set[tuple[str, str]]:
    """(file in the wheel, function) of what a commit changed."""

    def git(*arguments: str) -> bytes:
        command = ["git", f"--git-dir={mirror}", *arguments]
        return subprocess.run(command, capture_output=True, check=False).stdout

    found: set[tuple[str, str]] = set()
    for line in (
        git("diff", "--name-only", "--no-renames", f"{commit}^", commit, "--", "src/agents").decode().split()
    ):
        if line.endswith(".py"):
            before = SourceFile(line, git("show", f"{commit}^:{line}")).functions
            after = SourceFile(line, git("show", f"{commit}:{line}")).functions
            for name, function in before.items():
                if name not in after or after[name].shape != function.shape:
                    found.add((line.removeprefix("src/"), name))
    return found


def replayed(folder: Path) -> Replays:
    """The replays of a case, recorded anew."""
    case = json.loads((folder / "case.json").read_text("utf-8"))
    conditions = Conditions(python="3.12")
    key = default_key()[0]
    reproduction = read_reproduction(Selection(folder / "repro.py"))
    bundle = record(reproduction, parse_target(case["buggy"]), conditions, key=key, progress=Silent())
    checked = check_bundle(bundle, reader=Reader())
    return replays(checked, parse_target(case["fixed"]), conditions=conditions, progress=Silent())


def measure(seen: Replays, truth: set[tuple[str, str]]) -> dict[str, object]:
    """The rank of the first true function with two releases and with one; None: not among those that ran."""
    found: dict[str, object] = {"violated": [claim.id for claim in seen.violated]}
    for name, each in (("two", seen), ("one", replace(seen, other=None))):
        if name == "one" and not seen.violated:
            found["one_error"] = "nothing is violated"
            continue
        explained = told(each, causes=500, places=500)
        named = [(each.file, each.function) for each in explained.functions]
        found[name] = next((rank for rank, each in enumerate(named, start=1) if each in truth), None)
        found[f"{name}_of"] = len(named)
        found[f"{name}_first"] = named[:5]
        found["neighbours"] = explained.neighbours
        found["shared"] = [f"{each.type} {' '.join(each.paths[:2])}" for each in explained.shared]
    return found


def study(folder: Path, truth: set[tuple[str, str]], kept: Path | None) -> dict[str, object]:
    """Measure a case, from what was kept of it where that is there."""
    began = time.monotonic()
    place = kept / f"{folder.name}.pickle" if kept is not None else None
    if place is not None and place.exists():
        return measure(pickle.loads(place.read_bytes()), truth)  # noqa: S301  what this script wrote
    seen = replayed(folder)
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(pickle.dumps(seen))
    return {**measure(seen, truth), "seconds": round(time.monotonic() - began)}


def table(results: dict[str, dict[str, object]]) -> str:
    """How many of the cases are hit within 1, 3, 5 and 10."""
    lines = ["| | cases | top 1 | 3 | 5 | 10 |", "|---|---|---|---|---|---|"]
    for name, title in (("two", "two releases"), ("one", "one release")):
        ranks = [each[name] for each in results.values() if name in each]
        rates = []
        for most in (1, 3, 5, 10):
            hits = sum(isinstance(rank, int) and rank <= most for rank in ranks)
            rates.append(f"{hits} ({100 * hits // max(len(ranks), 1)} %)")
        lines.append(f"| {title} | {len(ranks)} | {' | '.join(rates)} |")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure cases one after the other; what is in the output already is not measured again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fixes", type=Path, required=True, help="case to commit, as JSON")
    parser.add_argument(
        "--cases", type=Path, nargs="*", default=[], help="folders with a folder for each case"
    )
    parser.add_argument("--mirror", type=Path, required=True, help="a git directory of the SDK")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="a folder of one's own for the replays (pickles)")
    parser.add_argument("--only", nargs="*", default=None)
    given = parser.parse_args(arguments)
    results = json.loads(given.output.read_text("utf-8")) if given.output.exists() else {}
    for name, commit in json.loads(given.fixes.read_text("utf-8")).items():
        if name in results or (given.only is not None and name not in given.only):
            continue
        case = name.rpartition("/")[2]
        folder = next((each / case for each in (*given.cases, UNSEEN) if (each / case).is_dir()), None)
        if folder is None:
            parser.error(f"{name}: no folder {case} in --cases")
        try:
            results[name] = study(folder, truth_of(given.mirror, commit), given.keep)
        except AgentproofError as error:
            results[name] = {"error": error.message}
        except Exception:  # noqa: BLE001  one case must not end the study
            results[name] = {"error": traceback.format_exc()[-600:]}
        print(name, json.dumps(results[name]), flush=True)
        given.output.write_text(json.dumps(results, indent=1), encoding="utf-8")
    print(table(results))


if __name__ == "__main__":
    main(sys.argv[1:])

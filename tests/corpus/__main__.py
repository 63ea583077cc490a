"""`python -m tests.corpus`: real cases on the releases that show them, and scripts that do nothing wrong.

    python -m tests.corpus                  all cases, on the buggy release and on the fixed one
    python -m tests.corpus sibling leaks    the cases whose names contain one of these
    python -m tests.corpus --healthy        the healthy scripts on 0.20.0 and 0.24.0: nothing may be found
    python -m tests.corpus --show           with the sentences behind each violated claim
    python -m tests.corpus --again          record anew; without it, kept recordings are judged again

Recordings are kept below `--keep` (default: a folder in the user's cache), so that a changed rule is tried
on all of them in seconds. Each release is resolved as of its own day. Exit 1 where a fixed release or a
healthy script draws a violation, where the recorder failed, or where a script printed something else than
its `case.json` says.
"""

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from agentproof.claims import explain
from agentproof.environment.wheel_store import cache_root
from agentproof.errors import AgentproofError

from .recordings import Case, Recording, Studio, cases, healthy

HEALTHY_ON = ("0.20.0", "0.24.0")

TRUE_ON_FIXED = {
    # The report is fixed; what else these show on the fixed release is still so there (INVARIANTS.md).
    ("checkpoint-usage-shared", "state-integrity"),
    ("nested-handoff-duplicates-calls", "stream-tells-result"),
    # #4071 and #4090: until 0.19.2 and 0.19.3 an exception did not tell the guardrail that tripped.
    ("blocked-stream-still-stored", "guardrails-reported"),
    ("tool-runs-after-tripwire", "guardrails-reported"),
    ("tripwire-leaves-answer-in-session", "guardrails-reported"),
    # #4146: until 0.19.3 a streamed handoff was announced as a tool call first.
    ("guardrails-lost-at-handoff", "stream-tells-result"),
    ("handoff-announced-late", "stream-tells-result"),
    ("handoff-callback-not-awaited", "stream-tells-result"),
    ("handoff-turn-not-stored", "stream-tells-result"),
    # #2171: until 0.6.7 a nested history told the calls twice.
    ("handoff-turn-not-stored", "told-once"),
    # #4097: until 0.19.3 a streamed result listed no tool guardrails.
    ("guardrails-lost-at-handoff", "guardrails-reported"),
    ("guardrails-lost-at-handoff", "stream-parity"),
    # #3931: until 0.19.0 a plain run lost its input when a model call was tried again.
    ("retry-loses-stored-input", "result-in-session"),
    ("retry-loses-stored-input", "stream-parity"),
    # #4413 and #4479: until 0.21.0 and 0.22.0 two states of one result shared decisions and usage.
    ("resume-grows-old-result", "state-integrity"),
}
BROKEN_WHEN_STREAMED = {"shared-entry-in-usage-total"}
"""Cases whose scripts raise once their runs are streamed (this one's model tells no usage in its stream), so
that nothing can be concluded where nothing is violated."""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.corpus", description=__doc__.splitlines()[0])
    parser.add_argument("only", nargs="*", help="texts that a case's name contains")
    parser.add_argument("--healthy", action="store_true", help="the healthy scripts instead of the cases")
    parser.add_argument("--folder", type=Path, help="take the cases or scripts from here")
    parser.add_argument("--on", action="append", metavar="VERSION", help="releases for the healthy scripts")
    parser.add_argument(
        "--keep", type=Path, default=cache_root() / "corpus", help="where recordings are kept"
    )
    parser.add_argument("--again", action="store_true", help="record anew")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--python", help="the Python to record on")
    parser.add_argument("--show", action="store_true", help="the sentences behind each violated claim")
    options = parser.parse_args()
    studio = Studio(options.keep, python=options.python, repeats=options.repeats, again=options.again)
    if options.healthy:
        scripts = healthy(options.folder) if options.folder else healthy()
        wanted = [s for s in scripts if not options.only or any(text in s.stem for text in options.only)]
        return _healthy(studio, wanted, options.on or HEALTHY_ON, show=options.show)
    found = cases(*([options.folder] if options.folder else []), only=options.only)
    return _cases(studio, found, show=options.show)


def _healthy(studio: Studio, scripts: Iterable[Path], versions: Iterable[str], *, show: bool) -> int:
    alarms = 0
    for script in scripts:
        for version in versions:
            recording = _try(studio, script, version)
            if recording is None:
                alarms += 1
                continue
            said = _found(recording)
            alarms += bool(recording.judgement.verdict != "holds" or recording.faults())
            print(
                f"{script.stem:<28} {version:<8} {recording.judgement.verdict:<13} "
                f"{_modes(recording)}  {said}"
            )
            _show(recording, show)
    print(f"{alarms} alarms")
    return 1 if alarms else 0


def _cases(studio: Studio, found: Iterable[Case], *, show: bool) -> int:
    wrong: list[str] = []
    named = total = 0
    print("| case | release | recorder | modes | printed as in case.json | verdict | violated |")
    print("|---|---|---|---|---|---|---|")
    for case in found:
        total += 1
        on: dict[str, Recording] = {}
        for which, version in (("buggy", case.buggy), ("fixed", case.fixed)):
            if version is None:
                continue
            started = time.monotonic()
            recording = _try(studio, case.script, version)
            if recording is None:
                wrong.append(f"{case.name} {version}: not recorded")
                continue
            on[which] = recording
            as_told = recording.printed() == case.facts[f"observed_{which}"]
            wrong += [f"{case.name} {version}: {fault}" for fault in recording.faults()]
            wrong += [] if as_told else [f"{case.name} {version}: printed {recording.printed()}"]
            if recording.judgement.verdict == "inconclusive" and not (
                case.name in BROKEN_WHEN_STREAMED and recording.judgement.reasons == ("streamed_failed",)
            ):
                wrong.append(f"{case.name} {version}: {', '.join(recording.judgement.reasons)}")
            if which == "fixed":
                wrong += [
                    f"{case.name} {version}: {name} is violated on the fixed release"
                    for name in recording.violated()
                    if (case.name, name) not in TRUE_ON_FIXED
                ]
            faults = f"{len(recording.faults())} faults" if recording.faults() else "no fault"
            print(
                f"| {case.name} | {version} ({which}) | {faults} | {_modes(recording)} "
                f"| {'yes' if as_told else 'NO'} | {recording.judgement.verdict} "
                f"| {_found(recording) or '-'} |",
                flush=True,
            )
            print(f"  {case.name} {version}: {time.monotonic() - started:.1f} s", file=sys.stderr)
            _show(recording, show)
        if "buggy" in on:
            news = on["buggy"].marks() - (on["fixed"].marks() if "fixed" in on else set())
            named += bool(news)
            if not news:
                print(f"  {case.name}: named by no claim", file=sys.stderr)
    print(
        f"\n{named} of {total} are named by a claim on the release that shows them alone; {len(wrong)} faults"
    )
    for line in wrong:
        print(f"  {line}")
    return 1 if wrong else 0


def _try(studio: Studio, script: Path, version: str) -> Recording | None:
    try:
        return studio.recording(script, version)
    except AgentproofError as error:
        print(f"  {script} {version}: {type(error).__name__}: {error}", file=sys.stderr)
        return None


def _modes(recording: Recording) -> str:
    words = {"same": "", "order": " (order)", "differ": " (differ)", "single": ""}
    return ", ".join(f"{each.mode}{words[each.agreement]}" for each in recording.manifest.recordings)


def _found(recording: Recording) -> str:
    short = {"as-written": "w", "streamed": "s", "both": "b"}
    parts = [
        f"{name} ({''.join(short[mode] for mode in modes)})" for name, modes in recording.violated().items()
    ]
    if recording.judgement.verdict == "inconclusive":
        parts.append(f"inconclusive: {', '.join(recording.judgement.reasons)}")
    return ", ".join(parts)


def _show(recording: Recording, show: bool) -> None:
    if not show:
        return
    for claim in recording.judgement.claims:
        for finding in claim.because if claim.status == "violated" else ():
            at = ", ".join(f"{ref.seq}" for ref in finding.events)
            print(f"      {claim.id} [{claim.mode} {at}] {explain(claim, finding)}")
            if finding.pointer:
                print(f"          {finding.pointer}  {str(finding.before)[:90]} → {str(finding.after)[:90]}")
    for fault in recording.faults():
        print(f"      fault: {fault}")
    conduct = recording.manifest.conduct
    for name in (*conduct.changed, *(f"{at.name} ({at.file}:{at.line})" for at in conduct.private_writes)):
        print(f"      the script changed the SDK: {name}")
    for each in recording.manifest.recordings:
        for pointer in each.differences[:5]:
            print(f"      {each.mode}: repeats differ at {pointer}")


if __name__ == "__main__":
    sys.exit(main())

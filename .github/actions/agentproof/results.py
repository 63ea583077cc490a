"""Turns what agentproof prints as JSON into outputs of a step. Standard library alone.

results.py field FILE KEY.KEY     one value of a JSON file (- for standard input), or of a bundle's manifest
results.py again BUNDLE CASE      what `record` is given to record a bundle again, a word a line
results.py outputs FILE           outputs for $GITHUB_OUTPUT, from lines of `record` or `compare`
"""

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

Shape = dict[str, Any]  # Any: a JSON object


def main(arguments: list[str]) -> None:
    """Run one of the two commands."""
    match arguments:
        case ["field", file, path]:
            print(field(json.loads(read(file)), path))
        case ["again", file, case]:
            print("\n".join(again(json.loads(read(file)), case)))
        case ["outputs", file]:
            lines = Path(file).read_text("utf-8").splitlines()
            print("\n".join(outputs([json.loads(line) for line in lines])))
        case _:
            raise SystemExit(__doc__)


def read(file: str) -> str | bytes:
    """A file, standard input, or the manifest of a bundle that is a directory or a zip."""
    if file == "-":
        return sys.stdin.read()
    if file.endswith(".zip"):
        with zipfile.ZipFile(file) as archive:
            return archive.read("manifest.json")
    place = Path(file)
    return (place / "manifest.json" if place.is_dir() else place).read_bytes()


def field(document: Shape, path: str) -> str:
    """One text of a document."""
    value: Any = document  # Any: a part of a JSON document
    for key in path.split("."):
        value = value[key]
    if not isinstance(value, str):
        raise SystemExit(f"{path} is no text")
    return value


def again(manifest: Shape, case: str) -> Iterator[str]:
    """Options, then the script, directory or tests, with arguments, after `--`."""
    reproduction = manifest["reproduction"]
    entry, arguments = reproduction["entry"], reproduction.get("arguments", [])
    tests = [f"{case}/{test}" for test in reproduction.get("tests", [])]
    words = [f"--with={each}" for each in reproduction.get("requires", [])]
    words.append(f"--sdk={manifest['target']['name']}=={manifest['target']['version']}")
    if tests:
        words += ["--", *tests]
    elif entry == "reproduction.py":
        words += ["--", f"{case}/{entry}", *arguments]
    else:
        words += [f"--entry={entry}", "--", case, *arguments]
    if any("\n" in word for word in words):
        raise SystemExit(f"{case}: an argument holds a line break")
    yield from words


def outputs(reports: list[Shape]) -> Iterator[str]:
    """`name=value`; values hold no line break, since JSON escapes them and ids are hexadecimal."""
    found = [each for report in reports for each in recordings(report)]
    yield f"recordings={json.dumps(found)}"
    yield f"verdicts={' '.join(sorted({each['verdict'] for each in found if each['verdict']}))}"
    for name in ("bundle_id", "evidence_id"):
        ids = dict.fromkeys(each[name] for each in found if each[name])
        yield f"{name.replace('_', '-')}s={' '.join(ids)}"


def recordings(report: Shape) -> Iterator[Shape]:
    """The recordings of one line: of a comparison all of them, else the one."""
    file = Path(report["artifact"]).name if report.get("artifact") else None
    if "rows" not in report:
        target, verdict = report["target"], report["verdict"]
        yield {
            "reproduction": (file or "").removesuffix(".agentproof.zip"),
            "target": target["version"] if target else None,
            "verdict": verdict["status"] if verdict else None,
            "outcome": None,
            "bundle_id": report["bundle_id"],
            "evidence_id": report["evidence_id"],
            "file": file,
        }
        return
    for row in report["rows"]:
        for cell in row["cells"]:
            recorded = cell.get("recorded") or {}
            yield {
                "reproduction": row["reproduction"],
                "target": cell["target"],
                "verdict": recorded.get("verdict"),
                "outcome": cell["outcome"],
                "bundle_id": recorded.get("bundle_id"),
                "evidence_id": recorded.get("evidence_id"),
                "file": file,
            }


if __name__ == "__main__":
    main(sys.argv[1:])

"""The action's scripts: what they make of inputs that mean harm, and that no input is text of a script."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.workflow import BASH, ROOT, evaluate

ACTION = ROOT / ".github" / "actions" / "agentproof"
FILES = [ACTION / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]


def steps_of(path: Path) -> list[dict[str, Any]]:  # Any: YAML
    document = yaml.safe_load(path.read_text("utf-8"))
    if "runs" in document:
        return list(document["runs"]["steps"])
    return [step for job in document["jobs"].values() for step in job["steps"]]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_no_expression_stands_in_a_script_and_every_action_is_pinned_by_commit(path: Path) -> None:
    for step in steps_of(path):
        assert "${{" not in step.get("run", "")
        uses = step.get("uses", "$/")
        assert uses.startswith("$/") or re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40}", uses), uses


@pytest.mark.parametrize("path", FILES[1:], ids=lambda path: path.name)
def test_a_workflow_has_no_permission_that_its_job_does_not_name(path: Path) -> None:
    document = yaml.safe_load(path.read_text("utf-8"))
    assert document["permissions"] == {}
    for job in document["jobs"].values():
        assert job["permissions"].pop("contents") == "read"
        assert job["permissions"] in ({}, {"id-token": "write", "attestations": "write"})
        assert job["timeout-minutes"]
    on = document[True]  # YAML 1.1 reads `on` as a truth value
    assert "pull_request_target" not in on


def test_every_input_is_documented_and_used_and_every_output_comes_from_a_step() -> None:
    document = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))
    text = (ACTION / "action.yml").read_text("utf-8")
    guide = (ROOT / "docs" / "how-to" / "ci.md").read_text("utf-8")
    for name, each in document["inputs"].items():
        assert each["description"]
        assert f"inputs.{name}" in text
        assert f"`{name}`" in guide, name
    ids = {step.get("id") for step in document["runs"]["steps"]}
    for name, each in document["outputs"].items():
        assert re.search(r"steps\.(\w+)\.", each["value"])[1] in ids  # type: ignore[index]  # fails the test
        assert f"`{name}`" in guide, name


def sourced(place: Path, script: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [BASH, "-c", f'source "$ACTION/steps.sh"; {script}'],
        cwd=place,
        env={
            "PATH": "/usr/bin:/bin",
            "ACTION": str(ACTION),
            "DIRECTORY": str(place / "results"),
            **environment,
        },
        capture_output=True,
        text=True,
        check=False,
    )


def test_paths_are_patterns_and_nothing_else(tmp_path: Path) -> None:
    for name in ("--help.py", "a b.py", "c.py", "10.py", "9.py", "$(touch pwned).py"):
        (tmp_path / name).touch()
    given = "  *.py  \n\n\t$(touch pwned)\n`touch pwned`\n; touch pwned\n-x\n"
    done = sourced(tmp_path, 'paths "$GIVEN"', GIVEN=given)
    found = done.stdout.splitlines()
    names = ["$(touch pwned).py", "./--help.py", "10.py", "9.py", "a b.py", "c.py"]
    assert sorted(found[:6]) == sorted(names)
    assert found.index("9.py") < found.index("10.py")
    assert found[6:] == ["$(touch pwned)", "`touch pwned`", "; touch pwned", "./-x"]
    assert not (tmp_path / "pwned").exists()


def test_a_line_break_in_an_output_does_not_begin_another_one(tmp_path: Path) -> None:
    place = tmp_path / "outputs"
    done = sourced(tmp_path, 'output name "$GIVEN"', GIVEN="x\nattest=true", GITHUB_OUTPUT=str(place))
    assert done.returncode == 1
    assert not place.exists()


def test_what_a_command_prints_cannot_speak_to_the_runner(tmp_path: Path) -> None:
    done = sourced(tmp_path, "as_data sh -c 'echo ::error::x >&2; exit 3'")
    first, said, last = done.stderr.splitlines()
    assert done.returncode == 3
    assert said == "::error::x"
    assert re.fullmatch(r"::stop-commands::[0-9a-f]{32}", first)
    assert last == f"::{first.removeprefix('::stop-commands::')}::"


def test_what_failed_is_one_line_each(tmp_path: Path) -> None:
    sourced(tmp_path, 'failed "$GIVEN"; failed other', GIVEN="a\n::add-mask::b%")
    assert (tmp_path / "results.failed").read_text() == "a ::add-mask::b%\nother\n"
    done = subprocess.run(
        [BASH, str(ACTION / "conclude.sh")],
        env={"PATH": "/usr/bin:/bin", "DIRECTORY": str(tmp_path / "results")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stdout == "::error::a ::add-mask::b%25\n::error::other\n"


@pytest.mark.parametrize(
    ("targets", "expect", "accepted"),
    [("", "fixed", False), ("latest", "violated", False), ("", "nonsense", False)],
)
def test_an_expectation_that_does_not_go_with_the_targets_is_refused(
    targets: str, expect: str, accepted: bool, tmp_path: Path
) -> None:
    done = subprocess.run(
        [BASH, str(ACTION / "record.sh")],
        env={
            "PATH": "/usr/bin:/bin",
            "DIRECTORY": str(tmp_path),
            "REPRODUCTIONS": "x.py",
            "TARGETS": targets,
            "EXPECT": expect,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode == 0) is accepted
    assert done.stdout.startswith("::error::the input expect is")


def test_results_become_outputs_of_one_line_each(tmp_path: Path) -> None:
    recorded = {
        "artifact": "/somewhere/a\nb.agentproof.zip",
        "target": {"version": "0.20.0"},
        "verdict": {"status": "violated"},
        "bundle_id": "b" * 64,
        "evidence_id": "e" * 64,
    }
    lost = {"target": "9.9", "outcome": "not_recorded", "failed": "no such release"}
    compared = {"artifact": "c.zip", "rows": [{"reproduction": "x", "cells": [lost]}]}
    place = tmp_path / "recordings.jsonl"
    place.write_text(json.dumps(recorded) + "\n" + json.dumps(compared) + "\n")
    done = subprocess.run(
        [sys.executable, str(ACTION / "results.py"), "outputs", str(place)],
        capture_output=True,
        text=True,
        check=True,
    )
    outputs = dict(line.split("=", 1) for line in done.stdout.splitlines())
    assert outputs.keys() == {"recordings", "verdicts", "bundle-ids", "evidence-ids"}
    assert [each["verdict"] for each in json.loads(outputs["recordings"])] == ["violated", None]
    assert (outputs["verdicts"], outputs["evidence-ids"]) == ("violated", "e" * 64)


@pytest.mark.parametrize(
    ("reproduction", "words"),
    [
        ({"entry": "reproduction.py", "arguments": ["-v", "x"]}, ["--", "CASE/reproduction.py", "-v", "x"]),
        ({"entry": "main.py"}, ["--entry=main.py", "--", "CASE"]),
        (
            {"entry": "test_a.py", "tests": ["test_a.py::test_b[x y]"], "requires": ["pytest>=8"]},
            ["--", "CASE/test_a.py::test_b[x y]"],
        ),
    ],
)
def test_a_bundle_is_recorded_again_as_it_was(
    reproduction: dict[str, object], words: list[str], tmp_path: Path
) -> None:
    target = {"name": "openai-agents", "version": "0.20.0"}
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"reproduction": reproduction, "target": target}))
    done = subprocess.run(
        [sys.executable, str(ACTION / "results.py"), "again", str(manifest), "CASE"],
        capture_output=True,
        text=True,
        check=True,
    )
    needs = [f"--with={each}" for each in reproduction.get("requires", [])]  # type: ignore[attr-defined]  # a list
    assert done.stdout.splitlines() == [*needs, "--sdk=openai-agents==0.20.0", *words]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("inputs.a != ''", True),
        ("always() && inputs.b != ''", False),
        ("inputs.b || 'latest'", "latest"),
        ("github.event_name == 'push' || github.event_name == 'x'", True),
        ("!(inputs.a == 'it''s')", False),
        ("steps.x.outputs.y", None),
    ],
)
def test_the_harness_reads_expressions_as_github_does(expression: str, value: object) -> None:
    contexts = {
        "inputs": {"a": "it's", "b": ""},
        "github": {"event_name": "push"},
        "steps": {},
        "always()": True,
    }
    assert evaluate(expression, contexts) == value

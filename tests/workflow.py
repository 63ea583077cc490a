"""A job of a workflow on this machine: `run` steps are started as GitHub's runner starts them.

    python -m tests.workflow .github/workflows/evidence.yml committed --event push

The job gets a clean clone as its workspace, a fresh environment for `setup-python`, and the files that steps
write outputs and summaries to. Actions of this repository are run; those of other repositories are not, but
what they would be given is kept. Expressions are evaluated as far as the files here use them.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]
BASH, GIT = (shutil.which(name) or name for name in ("bash", "git"))
OWN = "$/"
"""What a `uses` of an action of the workflow's own repository begins with."""


# Expressions

Value = Any  # what an expression comes to: text, a number, a truth value, a context or nothing

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^']|'')*')|(?P<sign>==|!=|&&|\|\||[()!.,])|(?P<name>[A-Za-z_][\w-]*))"
)


def evaluate(expression: str, contexts: Mapping[str, Value]) -> Value:
    """The value of an expression without `${{ }}`; an unknown part of it is an error."""
    tokens = list(_tokens(expression))
    value, rest = _or(tokens, contexts)
    if rest:
        raise ValueError(f"{expression!r}: what is {rest[0]!r}?")
    return value


def _tokens(expression: str) -> Iterator[str]:
    at = 0
    text = expression.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"{expression!r}: not understood at {text[at:]!r}")
        at = found.end()
        yield found.group().strip()


def _or(tokens: list[str], contexts: Mapping[str, Value]) -> tuple[Value, list[str]]:
    value, tokens = _and(tokens, contexts)
    while tokens[:1] == ["||"]:
        other, tokens = _and(tokens[1:], contexts)
        value = value or other
    return value, tokens


def _and(tokens: list[str], contexts: Mapping[str, Value]) -> tuple[Value, list[str]]:
    value, tokens = _equal(tokens, contexts)
    while tokens[:1] == ["&&"]:
        other, tokens = _equal(tokens[1:], contexts)
        value = value and other
    return value, tokens


def _equal(tokens: list[str], contexts: Mapping[str, Value]) -> tuple[Value, list[str]]:
    value, tokens = _one(tokens, contexts)
    while tokens[:1] in (["=="], ["!="]):
        other, rest = _one(tokens[1:], contexts)
        value = ((value or "") == (other or "")) is (tokens[0] == "==")
        tokens = rest
    return value, tokens


def _one(tokens: list[str], contexts: Mapping[str, Value]) -> tuple[Value, list[str]]:
    first, *rest = tokens
    if first == "!":
        value, rest = _one(rest, contexts)
        return not value, rest
    if first == "(":
        value, rest = _or(rest, contexts)
        return value, rest[1:]
    if first.startswith("'"):
        return first[1:-1].replace("''", "'"), rest
    if rest[:2] == ["(", ")"]:
        return contexts[f"{first}()"], rest[2:]
    if first in ("true", "false"):
        return first == "true", rest
    value = contexts[first]
    while rest[:1] == ["."]:
        value = value.get(rest[1]) if isinstance(value, Mapping) else None
        rest = rest[2:]
    return value, rest


def filled(text: str, contexts: Mapping[str, Value]) -> str:
    """A text with its `${{ }}` evaluated."""

    def fill(found: re.Match[str]) -> str:
        value = evaluate(found[1], contexts)
        return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)

    return re.sub(r"\$\{\{(.*?)\}\}", fill, text)


# Jobs


@dataclass
class Step:
    """What became of a step."""

    name: str
    outcome: str
    log: str = ""
    outputs: dict[str, str] = field(default_factory=dict)
    given: dict[str, str] = field(default_factory=dict)
    """What an action of another repository would be given."""


@dataclass
class Job:
    """A job as it runs."""

    home: Path
    event: Mapping[str, Value]
    inputs: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    """Beside what every step gets."""
    temp: Path | None = None
    """The runner's temporary directory, where two jobs share one."""
    instead: Mapping[str, str] = field(default_factory=dict)
    """Inputs that this repository's actions are given instead of the workflow's."""
    echo: bool = False
    steps: list[Step] = field(default_factory=list)
    failed: bool = False

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    @property
    def summary(self) -> str:
        place = self.home / "summary.md"
        return place.read_text("utf-8") if place.exists() else ""

    def step(self, name: str) -> Step:
        return next(step for step in self.steps if step.name == name)

    def run(self, definition: Mapping[str, Value]) -> "Job":
        """Run a job as a workflow defines it."""
        token = definition.get("permissions", {}).get("id-token") == "write"
        self.environment = {
            **self.environment,
            **({"ACTIONS_ID_TOKEN_REQUEST_URL": "https://token.invalid"} if token else {}),
        }
        self._steps(definition["steps"], {"inputs": self.inputs}, self.workspace)
        return self

    def action(self, place: Path, given: Mapping[str, str]) -> dict[str, str]:
        """Run a composite action; its outputs."""
        definition = yaml.safe_load((place / "action.yml").read_text("utf-8"))
        unknown = given.keys() - definition["inputs"].keys()
        if unknown:
            raise ValueError(f"{place.name} has no input {', '.join(sorted(unknown))}")
        inputs = {name: given.get(name, each.get("default")) for name, each in definition["inputs"].items()}
        missing = [name for name, value in inputs.items() if value is None]
        if missing:
            raise ValueError(f"{place.name} needs {', '.join(missing)}")
        contexts = self._steps(definition["runs"]["steps"], {"inputs": inputs}, place)
        return {name: filled(each["value"], contexts) for name, each in definition["outputs"].items()}

    def _steps(
        self, steps: list[dict[str, Value]], scope: Mapping[str, Value], place: Path
    ) -> dict[str, Value]:
        """Run steps in their order; a failure skips those whose `if` does not say otherwise."""
        known: dict[str, Value] = {}
        contexts = {"steps": known, "secrets": self.secrets, "github": self.event, **scope}
        failed = False
        for definition in steps:
            contexts |= {"always()": True, "success()": not failed, "failure()": failed}
            condition = str(definition.get("if", "success()"))
            if not re.search(r"\b(always|success|failure)\(\)", condition):
                condition = f"success() && ({condition})"
            step = Step(definition.get("name") or definition.get("uses", ""), "skipped")
            self.steps.append(step)
            if evaluate(condition, contexts):
                step.outcome = "success"
                self._step(step, definition, contexts, place)
                failed = failed or step.outcome == "failure"
            if "id" in definition:
                known[definition["id"]] = {"outputs": step.outputs, "outcome": step.outcome}
        self.failed = self.failed or failed
        return contexts

    def _step(
        self, step: Step, definition: Mapping[str, Value], contexts: Mapping[str, Value], place: Path
    ) -> None:
        if self.echo:
            print(f"\n== {step.name}", flush=True)
        given = {name: filled(str(each), contexts) for name, each in definition.get("with", {}).items()}
        if "run" in definition:
            values = {name: filled(str(each), contexts) for name, each in definition.get("env", {}).items()}
            self._script(step, definition["run"], values, place)
        elif definition["uses"].startswith(OWN):
            was = self.failed
            self.failed = False
            given |= self.instead
            step.outputs = self.action(self.workspace / definition["uses"].removeprefix(OWN), given)
            step.outcome = "failure" if self.failed else "success"
            self.failed = was or self.failed
        elif definition["uses"].startswith("actions/checkout@"):
            subprocess.run([GIT, "clone", "-q", str(ROOT), str(self.workspace)], check=True)
        else:
            step.given = given

    def _script(self, step: Step, script: str, values: Mapping[str, str], place: Path) -> None:
        outputs, summary = self.home / "outputs", self.home / "summary.md"
        outputs.write_bytes(b"")
        (self.temp or self.home / "temp").mkdir(parents=True, exist_ok=True)
        (self.home / "script.sh").write_text(script, encoding="utf-8")
        environment = {
            **clean_environment(),
            **self.environment,
            "CI": "true",
            "GITHUB_ACTIONS": "true",
            "GITHUB_ACTION_PATH": str(place),
            "GITHUB_OUTPUT": str(outputs),
            "GITHUB_STEP_SUMMARY": str(summary),
            "GITHUB_WORKSPACE": str(self.workspace),
            "RUNNER_TEMP": str(self.temp or self.home / "temp"),
            **values,
        }
        with subprocess.Popen(
            [BASH, "--noprofile", "--norc", "-eo", "pipefail", str(self.home / "script.sh")],
            cwd=self.workspace,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process:
            for line in process.stdout or ():
                step.log += line
                if self.echo:
                    print(line, end="", flush=True)
        if process.returncode:
            step.outcome = "failure"
        for line in outputs.read_text("utf-8").splitlines():
            name, equals, value = line.partition("=")
            if not equals:
                raise ValueError(f"{step.name}: {line!r} is no output")
            step.outputs[name] = value


def clean_environment() -> dict[str, str]:
    """This process's environment without what agentproof, GitHub or a virtual environment put there."""
    taken = ("AGENTPROOF_", "GITHUB_", "RUNNER_", "ACTIONS_", "PYTHON", "VIRTUAL_ENV")
    return {name: value for name, value in os.environ.items() if not name.startswith(taken)}


def python_environment(home: Path) -> dict[str, str]:
    """What `actions/setup-python` gives: a Python of the job's own, first on the path."""
    subprocess.run([sys.executable, "-m", "venv", str(home / "python")], check=True)
    return {"PATH": f"{home / 'python' / 'bin'}{os.pathsep}{os.environ['PATH']}"}


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.workflow", description=__doc__.splitlines()[0])
    parser.add_argument("workflow", type=Path)
    parser.add_argument("job")
    parser.add_argument("--event", default="push")
    parser.add_argument("--input", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument(
        "--with",
        dest="instead",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="give this repository's actions another input than the workflow does",
    )
    options = parser.parse_args()
    definition = yaml.safe_load(options.workflow.read_text("utf-8"))["jobs"][options.job]
    home = Path(tempfile.mkdtemp(prefix="workflow-"))
    try:
        job = Job(
            home,
            event={"event_name": options.event, "sha": "HEAD"},
            inputs=dict(each.split("=", 1) for each in options.input),
            environment=python_environment(home),
            instead=dict(each.split("=", 1) for each in options.instead),
            echo=True,
        ).run(definition)
        print(f"\n{job.summary}")
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return int(job.failed)


if __name__ == "__main__":
    sys.exit(main())

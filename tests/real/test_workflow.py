"""The action and the workflows of this repository, step by step as GitHub's runner would run them."""

import json
import os
import shlex
import shutil
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import xmlschema
import yaml

from agentproof.bundle.store import read_bundle, write_bundle
from agentproof.models.manifest import Manifest
from agentproof.trust.signing import HeldKey
from tests.forge import REPORTER, STRANGER, name_of
from tests.workflow import ROOT, Job, clean_environment, python_environment

pytestmark = [pytest.mark.real, pytest.mark.slow]

ACTION = ROOT / ".github" / "actions" / "agentproof"
WORKFLOW = yaml.safe_load((ROOT / ".github" / "workflows" / "evidence.yml").read_text("utf-8"))
SCRIPT = "bundles/leak/reproduction.py"


@dataclass
class Project:
    """Somebody's repository that uses the action, and a runner that keeps its temporary directory."""

    home: Path
    environment: Mapping[str, str]

    @property
    def workspace(self) -> Path:
        return self.home / "workspace"

    def use(self, **given: str) -> tuple[Job, dict[str, str]]:
        """A job with the action as its only step."""
        home = Path(tempfile.mkdtemp(prefix="job-", dir=self.home))
        (home / "workspace").symlink_to(self.workspace)
        job = Job(home, event={}, environment=self.environment, temp=self.home / "temp")
        named = {name.replace("_", "-"): value for name, value in given.items()}
        return job, job.action(ACTION, named)

    def git(self, *arguments: str) -> None:
        command = [shutil.which("git") or "git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
        subprocess.run([*command, *arguments], cwd=self.workspace, check=True, capture_output=True)

    def keep(self, archive: Path, place: str) -> None:
        write_bundle(
            read_bundle(archive), self.workspace / place, wheels=self.workspace / "bundles" / "wheels"
        )

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-qm", "x")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    home = tmp_path_factory.mktemp("project")
    made = Project(home, python_environment(home))
    (made.workspace / "bundles" / "leak").mkdir(parents=True)
    shutil.copy(ROOT / "bundles" / "sibling-approval" / "reproduction.py", made.workspace / SCRIPT)
    made.git("init", "-q")
    (made.workspace / "bundles" / "allowed_signers").write_text(
        f"{name_of(REPORTER)} {REPORTER.public.line}\n"
    )
    made.commit()
    return made


def private_key(key: HeldKey = REPORTER) -> str:
    return key.to_openssh().decode()


@pytest.fixture(scope="module")
def recorded(project: Project) -> tuple[Job, dict[str, str]]:
    """The script on the release that its header names, and on a later one, signed with a secret key."""
    job, outputs = project.use(reproductions=SCRIPT, expect="violated", signing_key=private_key())
    assert not job.failed, [step.log for step in job.steps]
    project.keep(Path(outputs["directory"]) / "leak.agentproof.zip", "bundles/leak/0.20.0")
    project.commit()
    return job, outputs


def test_the_steps_record_sign_report_and_upload(recorded: tuple[Job, dict[str, str]]) -> None:
    job, outputs = recorded
    place = Path(outputs["directory"])
    (found,) = json.loads(outputs["recordings"])
    assert (found["reproduction"], found["target"], found["verdict"]) == ("leak", "0.20.0", "violated")
    assert outputs["verdicts"] == "violated"
    assert (
        outputs["evidence-ids"]
        == Manifest.from_bytes(read_bundle(place / found["file"]).manifest).evidence_id
    )
    assert {path.name for path in place.iterdir()} == {
        "leak.agentproof.zip",
        "leak.html",
        "recordings.jsonl",
    }
    upload = job.step("Upload zips and pages")
    assert (upload.outcome, upload.given["path"]) == ("success", str(place))
    assert "| `leak.agentproof.zip` | `openai-agents 0.20.0` | violated | `approval-respected`" in job.summary
    assert job.step("Have GitHub attest the zips").outcome == "skipped"
    assert not list(job.home.parent.glob("temp/agentproof/key.*"))
    assert all(private_key().splitlines()[1] not in step.log for step in job.steps)


def test_what_agentproof_prints_is_no_command_to_the_runner(recorded: tuple[Job, dict[str, str]]) -> None:
    job, _ = recorded
    open_until = None
    for line in job.step("Record").log.splitlines():
        if line.startswith("::stop-commands::"):
            open_until = f"::{line.removeprefix('::stop-commands::')}::"
        elif line == open_until:
            open_until = None
        elif open_until is None:
            assert line == "recording leak"


def test_committed_evidence_is_recorded_again_and_the_base_branch_names_the_judges(
    project: Project, recorded: tuple[Job, dict[str, str]]
) -> None:
    given = {
        "reproductions": "bundles/*/[0-9]*",
        "expect": "committed",
        "bundles": "bundles/",
        "trust": "HEAD:bundles/allowed_signers",
    }
    job, outputs = project.use(**given, signing_key=private_key(STRANGER))
    assert not job.failed, [step.log for step in job.steps]
    assert outputs["evidence-ids"] == recorded[1]["evidence-ids"]
    assert "| `leak/0.20.0` | `openai-agents 0.20.0` | violated |" in job.summary.split("Kept bundles")[1]
    assert (Path(outputs["directory"]) / "check.junit.xml").exists()

    # A pull request that brings a bundle of a stranger's together with a trust file that names them.
    shutil.rmtree(project.workspace / "bundles" / "leak" / "0.20.0")
    project.keep(Path(outputs["directory"]) / "leak-0.20.0.agentproof.zip", "bundles/leak/0.20.0")
    (project.workspace / "bundles" / "allowed_signers").write_text(
        f"{name_of(STRANGER)} {STRANGER.public.line}\n"
    )
    try:
        job, _ = project.use(**given)
    finally:
        project.git("checkout", "-q", "--", "bundles")
        project.git("clean", "-qfd")
    assert job.failed
    assert (
        "::error::a kept bundle is INVALID, or signed by nobody who is trusted\n" in job.step("Conclude").log
    )
    assert "UNTRUSTED" in job.summary


def test_targets_are_compared_and_a_regression_fails_the_job_with_its_pages(
    project: Project, recorded: tuple[Job, dict[str, str]]
) -> None:
    job, outputs = project.use(reproductions="bundles/*/[0-9]*", targets="0.21.0", expect="fixed")
    assert not job.failed, [step.log for step in job.steps]
    outcomes = {each["target"]: each["outcome"] for each in json.loads(outputs["recordings"])}
    assert outcomes == {"0.20.0": "baseline", "0.21.0": "fixed"}
    assert "| `leak` | <ins>violated</ins> | fixed |" in job.summary

    scripts = project.workspace / "before.py"
    nested = (ROOT / "bundles" / "nested-approval" / "reproduction.py").read_text("utf-8")
    # What it shows came with 0.20.0 (docs/bisections.md).
    scripts.write_text(nested.replace("openai-agents==0.20.0", "openai-agents==0.19.4"), "utf-8")
    try:
        job, outputs = project.use(reproductions="before.py", targets="0.20.0")
    finally:
        scripts.unlink()
    assert job.failed
    assert "::error::a reproduction regressed, or is not as expected\n" in job.step("Conclude").log
    assert "**REGRESSED**" in job.summary
    assert job.step("Upload zips and pages").outcome == "success"
    assert {path.name for path in Path(outputs["directory"]).iterdir()} == {
        "comparison.agentproof.zip",
        "comparison.html",
        "comparison.junit.xml",
        "recordings.jsonl",
    }


def test_another_verdict_fails_the_job_and_github_attests_where_it_may(project: Project) -> None:
    with_token = {**project.environment, "ACTIONS_ID_TOKEN_REQUEST_URL": "https://token.invalid"}
    job, outputs = replace(project, environment=with_token).use(
        reproductions=SCRIPT, expect="holds", attest="true"
    )
    assert job.failed
    assert "::error::leak: not the expected verdict, or an inconclusive one\n" in job.step("Conclude").log
    given = job.step("Have GitHub attest the zips").given
    assert given == {"subject-path": f"{outputs['directory']}/*.agentproof.zip"}
    job, _ = project.use(reproductions=SCRIPT, attest="true")
    assert not job.failed
    assert job.step("Have GitHub attest the zips").outcome == "skipped"
    assert "::notice::not attested" in job.step("Record").log


def test_what_check_compare_and_matrix_write_as_junit_is_of_its_schema(
    project: Project, recorded: tuple[Job, dict[str, str]], tmp_path: Path
) -> None:
    home = project.home / "temp" / "agentproof"
    bundle = Path(recorded[1]["directory"]) / "leak.agentproof.zip"
    targets = ("--with", "0.20.0", "--with", "0.21.0")
    asked = {
        "check": ("check-current-bundle", str(bundle)),
        "compare": ("compare", str(bundle), *targets, "--output", str(tmp_path / "c.agentproof.zip")),
        "matrix": ("matrix", str(project.workspace / SCRIPT), *targets, "--output", str(tmp_path / "m")),
    }
    schema = xmlschema.XMLSchema(ROOT / "tests" / "junit.xsd")
    for name, arguments in asked.items():
        file = tmp_path / f"{name}.xml"
        done = subprocess.run(
            [str(home / "venv" / "bin" / "agentproof"), *arguments, "--junit", str(file)],
            env={
                **clean_environment(),
                **project.environment,
                "AGENTPROOF_CACHE_DIR": str(home / "cache"),
                "AGENTPROOF_CONFIG_DIR": str(home / "config"),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert file.exists(), f"{name}: {done.stderr}"
        schema.validate(file)


# A runner that gives its users no namespaces


SUDO = """#!/usr/bin/env python3
import json, os, socket, sys
arguments = [each for each in sys.argv[1:] if each != "-n"]
with socket.socket(socket.AF_UNIX) as client:
    client.connect(os.environ["ROOT_SOCKET"])
    client.sendall(json.dumps([arguments, os.getcwd()]).encode() + b"\\n")
    answer = json.loads(client.makefile().readline())
sys.stdout.write(answer["stdout"])
sys.stderr.write(answer["stderr"])
sys.exit(answer["code"])
"""
"""Has root run a command, as the real one: here root is the test's process."""

WITHIN = 'echo 0 >/proc/sys/user/max_user_namespaces && exec bash "$@"'
INNER = "1000"


@contextmanager
def root_at(place: Path) -> Iterator[None]:
    """Root, who runs what `SUDO` asks for. User 1000 within is this one without."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen()

        def serve() -> None:
            while True:
                try:
                    client, _ = listener.accept()
                except OSError:
                    return
                with client:
                    arguments, directory = json.loads(client.makefile().readline())
                    known = [each.replace(f"{INNER}:{INNER}", "0:0") for each in arguments]
                    done = subprocess.run(
                        known,
                        cwd=directory,
                        env=clean_environment(),
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    answer = {"stdout": done.stdout, "stderr": done.stderr, "code": done.returncode}
                    client.sendall(json.dumps(answer).encode() + b"\n")

        server = threading.Thread(target=serve)
        server.start()
        try:
            yield
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            server.join()


@pytest.mark.skipif(os.geteuid() != 0, reason="root plays the part of sudo")
def test_where_users_get_no_namespace_root_records_by_sudo(project: Project, tmp_path: Path) -> None:
    first, inside = tmp_path / "first", tmp_path / "inside"
    unshare = f"unshare --user --map-user={INNER} --map-group={INNER} --keep-caps"
    # The runner starts `bash`; this one gives its right to user namespaces away, and finds `sudo`.
    shell = f'#!/bin/sh\nexport PATH={inside}:$PATH\nexec {unshare} sh -c {shlex.quote(WITHIN)} sh "$@"\n'
    for place, text in ((first / "bash", shell), (inside / "sudo", SUDO)):
        place.parent.mkdir()
        place.write_text(text)
        place.chmod(0o755)
    environment = {**project.environment, "ROOT_SOCKET": str(tmp_path / "root")}
    with root_at(tmp_path / "root"), pytest.MonkeyPatch.context() as patch:
        patch.setattr("tests.workflow.BASH", str(first / "bash"))
        job, outputs = replace(project, environment=environment).use(reproductions=SCRIPT, expect="violated")
    log = "\n".join(step.log for step in job.steps)
    assert not job.failed, log
    assert "recording as root, which gives each script a user of its own" in log
    bundle = read_bundle(Path(outputs["directory"]) / "leak.agentproof.zip")
    assert Manifest.from_bytes(bundle.manifest).isolation.network == "namespace"


# This repository's own workflow


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("proposed", {"event_name": "pull_request", "pull_request": {"base": {"sha": "HEAD"}}}),
        ("committed", {"event_name": "push", "sha": "HEAD"}),
    ],
)
def test_the_committed_bundles_are_current_and_their_evidence_is_seen_again(
    name: str, event: dict[str, object], tmp_path: Path
) -> None:
    job = Job(tmp_path, event={**event, "event": event}, environment=python_environment(tmp_path))
    job.run(WORKFLOW["jobs"][name])
    assert not job.failed, "\n".join(step.log for step in job.steps)


def test_by_hand_the_committed_bundles_are_compared_with_any_release(tmp_path: Path) -> None:
    event = {"event_name": "workflow_dispatch", "sha": "HEAD"}
    job = Job(tmp_path, event=event, inputs={"version": "0.21.0"}, environment=python_environment(tmp_path))
    job.run(WORKFLOW["jobs"]["latest"])
    assert not job.failed, "\n".join(step.log for step in job.steps)
    assert "| `sibling-approval` | <ins>violated</ins> | fixed |" in job.summary

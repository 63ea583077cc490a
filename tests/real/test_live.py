"""A script with a real model, through the command: asked once of a server on loopback, then of nobody."""

import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentproof.bundle.store import read_bundle
from agentproof.models.exchanges import EXCHANGES, Exchanges
from tests.command import agentproof
from tests.live.provider import Provider, serving
from tests.sandboxed import choice

pytestmark = pytest.mark.real

HOST = "api.openai.com"
KEY = "sk-proj-q7Zt0Vw3XyB1nM9kLpRsdF5abcdefGh"
SCRIPT = """
import asyncio

from agents import Agent, Runner, function_tool


@function_tool
def weather(city: str) -> str:
    return f"rain in {city}"


async def main():
    agent = Agent(name="clerk", instructions="Be brief.", tools=[weather])
    result = await Runner.run(agent, "What is the weather?")
    print(result.final_output)


asyncio.run(main())
"""
Record = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    choice("namespace")
    with serving() as found:
        yield found


@pytest.fixture
def record(provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Record:
    """Records a text with the server in the place of the provider, as `b.zip`."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    def run(text: str, *options: str, to: str | None = None) -> subprocess.CompletedProcess[str]:
        (tmp_path / "repro.py").write_text(text)
        live = ("--live-to", f"{HOST}={to or provider.url}")
        return agentproof(
            "record", "repro.py", "--sdk", "0.24.0", *live, "--output", "b.zip", *options, place=tmp_path
        )

    return run


@pytest.fixture(scope="module")
def bundle(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The script of above, recorded."""
    place = tmp_path_factory.mktemp("live")
    (place / "repro.py").write_text(SCRIPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", KEY)
        done = agentproof(
            "record",
            "repro.py",
            "--sdk",
            "0.24.0",
            "--live-to",
            f"{HOST}={provider.url}",
            "--output",
            "b.zip",
            place=place,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    (place / "told").write_text(done.stdout + done.stderr)
    return place / "b.zip"


@pytest.fixture
def nobody(monkeypatch: pytest.MonkeyPatch, provider: Provider) -> Iterator[None]:
    """No key, and whoever asks the server is seen."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = len(provider.asked)
    yield
    assert len(provider.asked) == before


def _exchanges(place: Path) -> Exchanges:
    return Exchanges.from_bytes(read_bundle(place).members[EXCHANGES])


def _json(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:  # Any: a report
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_a_script_is_recorded_with_a_model_that_answers(bundle: Path, provider: Provider) -> None:
    told = (bundle.parent / "told").read_text()
    assert f"asks {HOST} at {provider.url}, which is not the provider, with your OPENAI_API_KEY" in told
    assert re.search(r"answered +2 requests \(\S+-2026\) in .* s; 36 tokens; 0 keys kept", told)
    assert re.search(
        r"sealed +as-written .2, streamed .2 answered from the recording .*: repeats agree", told
    )
    assert "HOLDS" in told
    assert KEY.encode() not in b"".join(read_bundle(bundle).members.values())
    assert {headers["authorization"] for _, _, headers, _ in provider.asked} == {f"Bearer {KEY}"}
    checked = _json(agentproof("check-current-bundle", bundle, "--json"))
    assert checked["status"] == "CURRENT"
    (model,) = (line for line in checked["stated"] if line.startswith("model: "))
    assert f"answered by {provider.url} in the place of {HOST} (not the provider)" in model
    assert f"recorded from {HOST}" not in model


def test_no_key_is_told_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "repro.py").write_text(SCRIPT)
    done = agentproof("record", "repro.py", "--live", place=tmp_path)
    assert done.returncode == 2
    assert "--live api.openai.com: OPENAI_API_KEY is not set in your environment" in done.stderr
    assert not list(tmp_path.glob("*.zip"))


@pytest.mark.slow
@pytest.mark.usefixtures("nobody")
def test_a_replay_asks_nobody(bundle: Path) -> None:
    done = agentproof("replay", bundle)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "SAME" in done.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("nobody")
def test_a_comparison_with_another_release_is_answered_from_the_bundle(bundle: Path, tmp_path: Path) -> None:
    place = tmp_path / "c.zip"
    done = agentproof("compare", bundle, "--with", "0.14.8", "--output", place)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    assert re.search(r"asked +request 1: .*model ", done.stdout + done.stderr), done.stdout + done.stderr
    checked = agentproof("check-current-bundle", place, "--json")
    assert _json(checked)["status"] == "CURRENT", checked.stdout


@pytest.mark.slow
@pytest.mark.usefixtures("nobody")
def test_a_matrix_is_answered_from_the_bundle(bundle: Path, tmp_path: Path) -> None:
    done = agentproof("matrix", bundle, "--with", "0.24.0", "--output", tmp_path / "m.zip", "--json")
    assert done.returncode in (0, 1), done.stdout + done.stderr
    (row,) = _json(done)["rows"]
    assert [(each["outcome"], each["recorded"]["verdict"]) for each in row["cells"]] == [
        ("baseline", "holds")
    ]


@pytest.mark.slow
@pytest.mark.usefixtures("nobody")
def test_an_explanation_is_answered_from_the_bundle(bundle: Path, tmp_path: Path) -> None:
    done = agentproof("explain", bundle, "--with", "0.20.0", "--output", tmp_path / "e.json")
    assert done.returncode in (0, 1), done.stdout + done.stderr


REFUSING = {
    "401": ("refused OPENAI_API_KEY (401); nothing was recorded", ()),
    "max": ("--max-requests 1: the script asked for more; nothing was recorded", ("--max-requests", "1")),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", REFUSING)
def test_what_is_no_evidence_is_not_recorded(record: Record, tmp_path: Path, case: str) -> None:
    words, options = REFUSING[case]
    model = ", model='401'" if case == "401" else ""
    done = record(SCRIPT.replace("tools=[weather]", f"tools=[weather]{model}"), *options)
    assert done.returncode == 4, done.stdout + done.stderr
    assert words in done.stderr
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.slow
def test_a_host_that_is_not_there_is_told(record: Record, tmp_path: Path) -> None:
    done = record(SCRIPT, to="http://127.0.0.1:9")
    assert done.returncode == 4
    assert "http://127.0.0.1:9 cannot be reached from here; nothing was recorded" in done.stderr
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.slow
def test_a_key_in_the_script_is_refused(record: Record, tmp_path: Path, provider: Provider) -> None:
    asked = len(provider.asked)
    done = record(f"{SCRIPT}\n# {KEY}\n")
    assert done.returncode == 2
    assert "--live OPENAI_API_KEY: its value stands in repro.py" in done.stderr
    assert len(provider.asked) == asked
    assert not (tmp_path / "b.zip").exists()


@pytest.mark.slow
def test_a_script_that_asks_nothing_is_recorded_as_it_is(record: Record, tmp_path: Path) -> None:
    done = record("import agents\nprint('nothing')\n")
    assert f"the script asked nothing of {HOST}" in done.stderr
    assert EXCHANGES not in read_bundle(tmp_path / "b.zip").members


@pytest.mark.slow
def test_a_script_that_wants_a_provider_is_told_how_it_gets_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "repro.py").write_text(SCRIPT.replace("tools=[weather]", "model='gpt-4o'"))
    done = agentproof("record", "repro.py", "--sdk", "0.24.0", place=tmp_path)
    assert done.returncode == 1
    told = " ".join(done.stdout.split())
    assert "the script asks api.openai.com for gpt-4o with OPENAI_API_KEY" in told
    assert "`OPENAI_API_KEY=… agentproof record repro.py --live`" in told


FAULTS = {
    "400": ([400], "openai.BadRequestError"),
    "500": ([500, 500, 500], "openai.InternalServerError"),
    "429x2": ([429, 429, 200] * 2, None),
    "drop": ([None, None, None], "openai.APIConnectionError"),
    "cut": ([200, 200, 200], "openai.APIConnectionError"),
}
"""What the server answers, and what the script then ends with."""


@pytest.mark.slow
@pytest.mark.parametrize("model", FAULTS)
def test_what_goes_wrong_is_recorded_and_goes_wrong_again(
    record: Record, tmp_path: Path, provider: Provider, monkeypatch: pytest.MonkeyPatch, model: str
) -> None:
    statuses, ending = FAULTS[model]
    done = record(SCRIPT.replace("tools=[weather]", f"tools=[weather], model={model!r}"))
    assert "repeats agree" in done.stderr, done.stderr
    assert done.returncode == (0 if ending is None else 1), done.stdout
    assert ending is None or ending in done.stdout
    place = tmp_path / "b.zip"
    assert [each.answer.status for each in _exchanges(place).exchanges] == statuses
    asked = len(provider.asked)
    monkeypatch.delenv("OPENAI_API_KEY")
    replayed = agentproof("replay", place)
    assert replayed.returncode == 0, replayed.stdout + replayed.stderr
    assert "SAME" in replayed.stdout
    assert len(provider.asked) == asked


@pytest.mark.slow
@pytest.mark.usefixtures("nobody")
def test_a_recorded_script_is_written_with_a_scripted_model(bundle: Path, tmp_path: Path) -> None:
    done = agentproof("init", "again", "--from", bundle, place=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[1:] == [
        "  one model gives the 2 recorded answers",
        "  as there, no claim is violated",
    ]
    assert "next: `agentproof record again.py --sdk 0.24.0`" in done.stderr
    text = (tmp_path / "again.py").read_text()
    assert "ScriptedModel" in text
    assert agentproof("init", "again", "--from", bundle, place=tmp_path).returncode == 4


@pytest.mark.slow
def test_a_test_of_a_live_recording_holds_what_was_answered(
    record: Record, provider: Provider, tmp_path: Path
) -> None:
    record(SCRIPT, "--should-output", "snow")
    asked = len(provider.asked)
    made = agentproof("test", "b.zip", "--output", "test_it.py", place=tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    text = (tmp_path / "test_it.py").read_text()
    assert "ScriptedModel" in text
    assert 'assert "snow" in str(result.final_output)' in text
    assert "What is the weather?" in text
    assert not any(word in text for word in (KEY, HOST, "agentproof"))
    assert len(provider.asked) == asked

"""Every client that a script may have goes through the relay as it is, and none ever holds the key."""

import os
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentproof.bundle.store import read_bundle
from agentproof.live.keys import find_key, key_spellings
from agentproof.models.exchanges import EXCHANGES, Exchanges
from tests.live.provider import serving
from tests.live.relayed import KEY, PLACEHOLDER, VARIABLE
from tests.sandboxed import choice

pytestmark = [pytest.mark.real, pytest.mark.slow]

SCRIPT = '''
"""Ask with each client that is there, whatever the model says: the same question, the key in a header."""
import json, os, ssl, urllib.request

URL = "https://api.openai.com/v1/responses"
KEY = os.environ["OPENAI_API_KEY"]
HEADERS = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}


def body(name):
    return json.dumps({"model": "echo", "input": name}).encode()


def by_urllib(context=None):
    asked = urllib.request.Request(URL, body("urllib"), HEADERS)
    return urllib.request.urlopen(asked, context=context).status


def by_certifi():
    import certifi
    return by_urllib(ssl.create_default_context(cafile=certifi.where()))


def by_requests():
    import requests
    return requests.post(URL, body("requests"), headers=HEADERS).status_code


def by_httpx():
    import httpx
    return httpx.post(URL, content=body("httpx"), headers=HEADERS).status_code


def by_httpx_untrusting():
    import httpx
    with httpx.Client(trust_env=False) as client:
        return client.post(URL, content=body("httpx"), headers=HEADERS).status_code


def by_httpx2():
    import httpx2
    return httpx2.post(URL, content=body("httpx2"), headers=HEADERS).status_code


def by_aiohttp():
    import asyncio, aiohttp

    async def ask():
        async with aiohttp.ClientSession() as session:
            async with session.post(URL, data=body("aiohttp"), headers=HEADERS) as told:
                await told.read()
                return told.status

    return asyncio.run(ask())


def by_openai():
    import openai
    told = openai.OpenAI().with_raw_response.responses.create(model="m", input="openai")
    return told.http_response.status_code


def by_websockets():
    from websockets.sync.client import connect
    from websockets.exceptions import InvalidStatus
    try:
        connect(URL.replace("https", "wss"), additional_headers=HEADERS).close()
    except InvalidStatus as refused:  # the server speaks no websocket, and says so
        return refused.response.status_code


import agents  # the SDK: what the recording is of

for name, ask in sorted(globals().copy().items()):
    if name.startswith("by_"):
        try:
            print(name, ask())
        except ImportError:
            print(name, "is not there")
        except Exception as error:
            print(name, type(error).__name__)
'''  # fmt: skip


class Scans:
    """Reads the memory of the processes in the sandbox, again and again, while it is entered."""

    def __init__(self) -> None:
        self.found: Counter[str] = Counter()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._needles = [("key", each) for each in key_spellings(KEY)]
        self._needles.append(("placeholder", PLACEHOLDER.encode()))

    def __enter__(self) -> "Scans":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if b"recorder.pyz" in (process / "cmdline").read_bytes():
                        self._scan(process)
                except OSError:  # it has ended
                    continue

    def _scan(self, process: Path) -> None:
        if PLACEHOLDER.encode() not in (process / "environ").read_bytes():
            return  # of another recording
        self.found["scans"] += 1
        with (process / "mem").open("rb", buffering=0) as memory:
            for line in (process / "maps").read_text().splitlines():
                span = re.match(r"([0-9a-f]+)-([0-9a-f]+) rw", line)
                if span is None:
                    continue
                start, end = int(span[1], 16), int(span[2], 16)
                try:
                    memory.seek(start)
                    data = memory.read(min(end - start, 2**26))
                except (OSError, ValueError, OverflowError):
                    continue
                for name, needle in self._needles:
                    self.found[name] += needle in data


def _files(*roots: Path) -> Iterator[tuple[Path, bytes]]:
    for root in roots:
        yield from ((path, path.read_bytes()) for path in root.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("release", "options"),
    [
        ("0.24.0", ("--with", "aiohttp")),
        ("0.20.0", ("--with", "aiohttp")),
        ("0.14.8", ("--as-of", "2026-04-30")),
        ("0.8.4", ("--as-of", "2026-02-15", "--with", "websockets")),
    ],
)
def test_each_client_is_answered_and_the_key_is_nowhere(
    release: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    choice("namespace")
    (tmp_path / "repro.py").write_text(SCRIPT)
    command = [sys.executable, "-m", "agentproof", "record", "repro.py", "--sdk", release, *options]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    environment = {**os.environ, VARIABLE: KEY, "TMPDIR": str(scratch)}
    with serving() as provider, Scans() as scans:
        done = subprocess.run(
            [*command, "--live-to", f"api.openai.com={provider.url}", "--output", "b.zip"],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        asked = list(provider.asked)
    assert (tmp_path / "b.zip").exists(), done.stderr
    bundle = read_bundle(tmp_path / "b.zip")
    trace = bundle.members["traces/as-written.json"].decode()
    told = dict(re.findall(r"(by_\w+) ([\w ]+?)\\n", trace))
    there = {name: said for name, said in told.items() if said != "is not there"}
    assert set(there.values()) == {"200"}, told
    assert there.keys() >= {"by_urllib", "by_certifi", "by_requests", "by_openai", "by_websockets"}, told
    assert {"by_httpx", "by_httpx2"} & there.keys(), told
    # Every one of them reached the server with the key, and no run after that did.
    exchanges = Exchanges.from_bytes(bundle.members[EXCHANGES])
    assert len(asked) == len(exchanges.exchanges) == len(there)
    assert {headers.get("authorization") for _, _, headers, _ in asked} == {f"Bearer {KEY}"}
    # Nor was it where the script runs, nor is it in anything that was written.
    assert scans.found["scans"] > 3
    assert scans.found["placeholder"] > 0
    assert scans.found["key"] == 0
    keys = {VARIABLE: KEY}
    assert find_key((done.stdout + done.stderr).encode(), keys) is None
    roots = [tmp_path, Path(os.environ["AGENTPROOF_CACHE_DIR"]), Path(os.environ["AGENTPROOF_CONFIG_DIR"])]
    assert [path for path, data in _files(*roots) if path.suffix != ".whl" and find_key(data, keys)] == []

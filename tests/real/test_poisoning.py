"""What lies beside a script, or gets into its environment, is the script's own affair or has no effect.

What poisons the caches is tried in `test_environment.py`, what an installer may leave in the unit tests.
"""

import json
import os
import subprocess
import sys
from importlib import _bootstrap_external
from pathlib import Path

import pytest

from agentproof.bundle.store import read_bundle
from agentproof.models.manifest import Manifest
from tests.command import agentproof

pytestmark = pytest.mark.real

ROOT = Path(__file__).parents[2]
HEADER = '# /// script\n# dependencies = ["openai-agents==0.20.0"]\n# ///\n'


def record(directory: Path, source: str, **host: str) -> "subprocess.CompletedProcess[str]":
    (directory / "script.py").write_text(HEADER + source)
    return agentproof(
        "record", "script.py", "--output", "out.zip", place=directory, env={**os.environ, **host}
    )


def printed(directory: Path) -> str:
    """What the script wrote to stdout, as written."""
    trace = json.loads(read_bundle(directory / "out.zip").members["traces/as-written.json"])
    (text,) = [event["text"] for event in trace["events"] if event["kind"] == "script.wrote"]
    return str(text)


@pytest.mark.parametrize("place", ["agents.py", "agents/__init__.py"])
def test_what_stands_in_the_sdks_place_is_not_recorded_as_the_sdk(tmp_path: Path, place: str) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("class Runner:\n    pass\n")
    done = record(tmp_path, "import agents\nprint(agents.Runner)\n")
    assert done.returncode == 2, done.stderr
    assert f"the script imported agents from <script>/{place}, not from the wheel" in done.stderr
    assert not (tmp_path / "out.zip").exists()


def test_a_part_of_the_sdk_from_elsewhere_is_not_recorded_as_the_sdk(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()  # a project: what stands in it comes along
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts" / "usage.py").write_text("class Usage:\n    pass\n")
    source = (
        "import sys, pathlib\nimport agents\n"
        "agents.__path__.insert(0, str(pathlib.Path(__file__).parent / 'parts'))\n"
        "del sys.modules['agents.usage']\nimport agents.usage\n"
    )
    done = record(tmp_path, source)
    assert done.returncode == 2, done.stderr
    assert "the script imported agents.usage from <script>/parts/usage.py" in done.stderr


LOOK = """
import agents, helper, pathlib
try:
    import ghost
except ImportError:
    print("no ghost")
print(helper.VALUE)
for place in (agents.__file__, agents.__cached__):
    path = pathlib.Path(place)
    for target in (path, path.with_name("new.py"), path.parent.parent / "new.pth"):
        try:
            target.write_bytes(b"VALUE = 'evil'")
            print("wrote", target)
        except OSError:
            print("kept")
print(sorted(name for name in __import__("sys").modules if "customize" in name))
"""
EVIL = "import os\nos._exit(66)\n"


def forged(source: Path, target: Path) -> None:
    """Bytecode for `source` that says something else, valid in time stamp and size."""
    status = source.stat()
    target.parent.mkdir(exist_ok=True)
    code = compile("VALUE = 'evil'\n", str(source), "exec")
    # What py_compile uses; the type stubs leave it out.
    make = _bootstrap_external._code_to_timestamp_pyc  # type: ignore[attr-defined]
    target.write_bytes(make(code, int(status.st_mtime), status.st_size))


def test_what_python_would_run_unasked_is_not_run(tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("VALUE = 'good'\n")
    forged(helper, tmp_path / "__pycache__" / f"helper.{sys.implementation.cache_tag}.pyc")
    forged(helper, tmp_path / "helper.pyc")
    forged(helper, tmp_path / "ghost.pyc")
    for name in ("sitecustomize.py", "usercustomize.py"):
        (tmp_path / name).write_text(EVIL)
    (tmp_path / "evil.pth").write_text("import os; os._exit(66)\n")
    home = tmp_path / "home"
    user = home / ".local" / "lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    user.mkdir(parents=True)
    (user / "evil.pth").write_text("import os; os._exit(66)\n")
    (user / "usercustomize.py").write_text(EVIL)
    startup = tmp_path / "startup.py"
    startup.write_text(EVIL)
    # Ours is kept from them by PYTHONPATH, PYTHONNOUSERSITE: the script's interpreter is what they are for.
    done = record(
        tmp_path,
        LOOK,
        **{"HOME": str(home), "PYTHONNOUSERSITE": "1", "PYTHONSTARTUP": str(startup), "PYTHONINSPECT": ""},
    )
    assert done.returncode in (0, 1), done.stderr
    said = printed(tmp_path)
    assert said.splitlines() == ["no ghost", "good", *["kept"] * 6, "[]"]
    manifest = Manifest.from_bytes(read_bundle(tmp_path / "out.zip").manifest)
    assert manifest.reproduction.files == ("helper.py", "script.py")

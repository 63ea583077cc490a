"""What a script did to the SDK: rules of `agentproof._recorder.conduct`."""

import sys
import types
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from agentproof._recorder import baseline, conduct, genuine, surroundings
from agentproof._recorder.plan import Plan

SDK = """
LIMIT = 10
_client = None

class Runner:
    _cache = {}

    def run(self):
        return self._prepare()

    def _prepare(self):
        return 1

    @classmethod
    def make(cls):
        return cls()

def configure(client):
    global _client
    _client = client

def helper():
    return 1

def scale(number=2, *, by=1):
    return number * by

def keep(function):
    def call():
        return function()
    return call

@keep
def kept():
    return 1

class Special(Runner):
    pass

class Slotted:
    __slots__ = ("held",)
"""


_HELD = {
    baseline: (
        *("noted", "_functions", "_places", "_insides", "_given", "_closures"),
        *("_watched", "_values", "_sizes", "_seen"),
    ),
    genuine: ("_bytecode", "_sources", "_codes", "_places", "_site", "_package", "_installed", "_sdk"),
    surroundings: ("_found", "_codes", "_modules"),
}
"""What these modules keep of one process."""


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    path = tmp_path / "site" / "tinysdk.py"
    path.parent.mkdir()
    path.write_text(SDK)
    module = types.ModuleType("tinysdk")
    module.__file__ = str(path)
    exec(compile(SDK, str(path), "exec"), module.__dict__)  # noqa: S102  # the SDK of this test
    monkeypatch.setitem(sys.modules, "tinysdk", module)
    monkeypatch.setattr(conduct, "_modules", set())
    monkeypatch.setattr(conduct, "_during", set())
    monkeypatch.setattr(conduct, "_tests_run", set())
    for holder, names in _HELD.items():
        for name in names:
            monkeypatch.setattr(holder, name, type(getattr(holder, name))())
    genuine.hold(plan_of(tmp_path))
    conduct.before("tinysdk")
    return module


def plan_of(tmp_path: Path, source: str = "", *, tests: Sequence[str] = ()) -> Plan:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    (root / "script.py").write_text(source)
    return Plan(
        {
            "control": str(tmp_path),
            "root": str(root),
            "entry": "script.py",
            "modes": ["as-written"],
            "work": {},
            "distribution": "tinysdk",
            "adapter": "",
            "package": "tinysdk",
            "site_packages": str(tmp_path / "site"),
            "tests": list(tests),
        }
    )


def told(tmp_path: Path, source: str = "", *, tests: Sequence[str] = ()) -> dict[str, list[object]]:
    return conduct.after(plan_of(tmp_path, source, tests=tests), ["script.py"])


def test_an_untouched_sdk_is_not_mentioned(sdk: types.ModuleType, tmp_path: Path) -> None:
    assert told(tmp_path) == {"changed": [], "private_writes": [], "private_reads": []}


def test_the_sdks_own_settings_are_no_change(sdk: types.ModuleType, tmp_path: Path) -> None:
    sdk.configure("client")
    assert told(tmp_path)["changed"] == []


@pytest.mark.parametrize(
    ("owner", "name", "value"),
    [
        ("tinysdk", "helper", lambda: 2),
        ("tinysdk", "LIMIT", 3),
        ("tinysdk.Runner", "run", lambda self: 2),
        ("tinysdk.Runner", "make", classmethod(lambda cls: None)),
        ("tinysdk.Runner", "added", lambda self: 2),
    ],
)
def test_a_replaced_object_is_named(
    sdk: types.ModuleType, tmp_path: Path, owner: str, name: str, value: object
) -> None:
    target = sdk.Runner if owner.endswith("Runner") else sdk
    setattr(target, name, value)
    assert told(tmp_path)["changed"] == [f"{owner}.{name}"]


@pytest.mark.parametrize(
    ("line", "name", "kind"),
    [
        ("runner._cache = {}", "_cache", "private_writes"),
        ("del runner._cache", "_cache", "private_writes"),
        ("print(runner._cache)", "_cache", "private_reads"),
        ("setattr(runner, '_cache', 1)", "_cache", "private_writes"),
        ("getattr(runner, '_cache')", "_cache", "private_reads"),
        ("from tinysdk import _client", "_client", "private_reads"),
        ("patch('tinysdk._client')", "tinysdk._client", "private_reads"),
    ],
)
def test_a_private_name_of_the_sdk_is_listed_with_its_line(
    sdk: types.ModuleType, tmp_path: Path, line: str, name: str, kind: str
) -> None:
    found = told(tmp_path, f"import tinysdk\n{line}\n")
    assert found.pop(kind) == [{"name": name, "file": "script.py", "line": 2}]
    assert all(not places for places in found.values())


@pytest.mark.parametrize(
    "source",
    [
        "class Mine:\n    def __init__(self):\n        self._cache = 1\n\nprint(Mine()._cache)\n",
        "print(thing._nothing_the_sdk_knows)\n",
        "def _prepare():\n    pass\n\nmodule._prepare()\n",
        "for _ in range(3):\n    pass\n",
    ],
)
def test_a_private_name_of_the_scripts_own_is_no_use_of_the_sdk(
    sdk: types.ModuleType, tmp_path: Path, source: str
) -> None:
    found = told(tmp_path, source)
    assert (found["private_writes"], found["private_reads"]) == ([], [])


def test_what_a_test_puts_back_is_named_all_the_same(sdk: types.ModuleType, tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    held = vars(sdk)
    helper, held["helper"] = held["helper"], lambda: 2
    conduct.during(plan)
    held["helper"] = helper
    assert told(tmp_path)["changed"] == ["tinysdk.helper"]


TESTS = """
def helper(runner):
    runner._cache = 0

def test_one(runner):
    runner._cache = 1

class TestMore:
    def test_two(self, runner):
        runner._cache = 2

    async def test_three(self, runner):
        runner._cache = 3
"""


@pytest.mark.parametrize(
    ("run", "lines"),
    [
        (["script.py::test_one"], [3, 6]),
        (["script.py::TestMore::test_two[a-b]"], [3, 10]),
        (["script.py::test_one", "script.py::TestMore::test_three"], [3, 6, 13]),
        ([], [3]),
    ],
)
def test_a_test_that_was_not_run_did_nothing_to_the_sdk(
    sdk: types.ModuleType, tmp_path: Path, run: list[str], lines: list[int]
) -> None:
    for name in run:
        conduct.test_run(name)
    found: list[dict[str, object]] = told(tmp_path, TESTS, tests=["script.py"])["private_writes"]  # type: ignore[assignment]
    assert [place["line"] for place in found] == lines


def test_a_function_of_a_script_may_be_called_test(sdk: types.ModuleType, tmp_path: Path) -> None:
    assert len(told(tmp_path, TESTS)["private_writes"]) == 4


def yes(self: object = None) -> bool:
    return True


def _exchange_code(sdk: types.ModuleType) -> None:
    sdk.Runner._prepare.__code__ = yes.__code__


def _exchange_default(sdk: types.ModuleType) -> None:
    sdk.scale.__defaults__ = (3,)


def _exchange_keyword(sdk: types.ModuleType) -> None:
    sdk.scale.__kwdefaults__["by"] = 3


def _exchange_closure(sdk: types.ModuleType) -> None:
    sdk.kept.__closure__[0].cell_contents = yes


def _exchange_wrapped_code(sdk: types.ModuleType) -> None:
    sdk.kept.__closure__[0].cell_contents.__code__ = yes.__code__


def _exchange_base(sdk: types.ModuleType) -> None:
    sdk.Special.__bases__ = (type("Between", (sdk.Runner,), {"run": yes}),)


def _put_in_descriptor(sdk: types.ModuleType) -> None:
    sdk.Runner.limit = property(yes)


def _exchange_slot(sdk: types.ModuleType) -> None:
    sdk.Slotted.held = property(yes)


def _exchange_by_builtin(sdk: types.ModuleType) -> None:
    sdk.Runner.run = print


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (_exchange_code, "Runner._prepare"),
        (_exchange_default, "scale"),
        (_exchange_keyword, "scale"),
        (_exchange_closure, "kept"),
        (_exchange_wrapped_code, "kept"),
        (_exchange_base, "Special.__bases__"),
        (_put_in_descriptor, "Runner.limit"),
        (_exchange_slot, "Slotted.held"),
        (_exchange_by_builtin, "Runner.run"),
    ],
)
def test_what_lies_behind_a_name_of_the_sdk_is_compared(
    change: Callable[[types.ModuleType], None], name: str, sdk: types.ModuleType, tmp_path: Path
) -> None:
    change(sdk)
    assert told(tmp_path)["changed"] == [f"tinysdk.{name}"]


LATER = {
    "another function under a name": "def helper():\n    return 2\n",
    "a function that the file does not have": SDK + "def added():\n    return 1\n",
    "another literal": SDK.replace("LIMIT = 10", "LIMIT = 3"),
    "another body": SDK.replace("return self._prepare()", "return 7"),
    "a name before a builtin": SDK + "isinstance = lambda *given: True\n",
}


@pytest.mark.parametrize("text", LATER.values(), ids=LATER)
def test_a_module_is_compared_with_its_file_also_when_it_was_made_from_another_text(
    text: str, sdk: types.ModuleType
) -> None:
    twin = types.ModuleType("tinysdk")
    twin.__file__ = sdk.__file__
    exec(compile(text, str(sdk.__file__), "exec"), twin.__dict__)  # noqa: S102  # what an import hook does
    assert list(genuine.differences("tinysdk", twin))


def test_a_module_that_its_file_makes_is_no_difference(sdk: types.ModuleType) -> None:
    assert list(genuine.differences("tinysdk", sdk)) == []


def test_code_is_the_same_whatever_it_adapted_to(sdk: types.ModuleType) -> None:
    for _ in range(100):
        sdk.Runner().run()
    assert genuine.is_genuine(sdk.Runner.run.__code__)
    assert not genuine.is_genuine(sdk.Runner.run.__code__.replace(co_consts=(None, 8)))


def test_a_glance_tells_what_is_put_back_later(sdk: types.ModuleType) -> None:
    baseline.watch()
    assert not baseline.glance()
    kept = sdk.Runner.run
    sdk.Runner.run = yes
    assert baseline.glance()
    sdk.Runner.run = kept
    sdk.__dict__["_client"] = object()  # the SDK's own setting
    baseline.glance()
    assert not baseline.glance()


WRITES = [
    'vars(runner)["_cache"] = 1',
    'runner.__dict__["_cache"] = 1',
    'object.__setattr__(runner, "_cache", 1)',
    "runner.__dict__.update(_cache=1)",
    'vars(runner).update({"_cache": 1})',
    'operator.setitem(vars(runner), "_cache", 1)',
    'del vars(runner)["_cache"]',
]


@pytest.mark.parametrize("line", WRITES)
def test_a_private_name_is_written_by_whatever_way(line: str, sdk: types.ModuleType, tmp_path: Path) -> None:
    assert told(tmp_path, line)["private_writes"] == [{"name": "_cache", "file": "script.py", "line": 1}]


def test_a_dictionary_of_the_scripts_own_is_no_write(sdk: types.ModuleType, tmp_path: Path) -> None:
    assert told(tmp_path, 'mine["_cache"] = 1\nmine.update(_cache=1)')["private_writes"] == []

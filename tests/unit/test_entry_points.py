"""Which names of a release count as public entry points, and what is said of them."""

from pathlib import Path

from tests import coverage
from tests.entry_points import entry_points

_FILES = {
    "__init__.py": "from .run import Runner\nfrom .shapes import Shape, Answer\nfrom ._inner import hidden\n"
    "from .hooks import Hooks\n__all__ = ['Runner', 'Answer', 'Shape', 'Hooks', 'flush_all', 'SETTING']\n"
    "SETTING = 1\ndef flush_all(): ...\ndef set_key(key): ...\n",
    "run.py": "from .base import Base\nclass Runner(Base):\n    async def work(self): ...\n"
    "    def cancel(self): ...\n    def name_of(self): ...\n    @property\n    def close(self): ...\n"
    "    def _run(self): ...\n    def to_json(self): ...\n",
    "base.py": "class Base:\n    async def inherited(self): ...\n",
    "shapes.py": "from typing import Protocol\nclass Shape(Protocol):\n    async def run(self): ...\n"
    "class Answer:\n    def approve(self): ...\n    def to_json(self): ...\n",
    "hooks.py": "class Hooks:\n    async def on_start(self): ...\n    async def left(self):\n"
    "        '''The script's.'''\n        raise NotImplementedError\n",
    "_inner.py": "async def hidden(): ...\n",
    "lazy/__init__.py": "__all__: list[str] = []\nif True:\n    __all__.extend(['Late'])\n",
    "lazy/late.py": "class Late:\n    async def go(self): ...\n    async def _no(self): ...\n",
    "extensions/thing.py": "class Thing:\n    async def close(self): ...\nclass _Own:\n"
    "    async def run(self): ...\n",
}


def _release(directory: Path) -> Path:
    for name, text in _FILES.items():
        path = directory / "agents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return directory


def test_what_is_listed_and_starts_steers_or_ends_work_counts(tmp_path: Path) -> None:
    assert [f"{each.owner}.{each.method}" for each in entry_points(_release(tmp_path))] == [
        "agents.flush_all",
        "agents.extensions.thing:Thing.close",
        "agents.lazy.late:Late.go",
        "agents.run:Runner.cancel",
        "agents.run:Runner.work",
        "agents.shapes:Answer.approve",
        "agents.shapes:Answer.to_json",
    ]


def test_a_method_is_recorded_where_it_or_its_class_with_all_below_is_replaced(tmp_path: Path) -> None:
    points = {f"{each.owner}.{each.method}": each for each in entry_points(_release(tmp_path))}
    hooked = coverage.Hooked(
        {"agents.base:Base": frozenset({"work"})}, frozenset({"agents.shapes:Answer.approve"})
    )
    told = {name: coverage.status(point, hooked)[0] for name, point in points.items()}
    assert [name for name, status in told.items() if status == "recorded"] == [
        "agents.run:Runner.work",
        "agents.shapes:Answer.approve",
    ]
    assert told["agents.run:Runner.cancel"] == "not watched"


def test_what_the_page_does_not_list_is_found(tmp_path: Path) -> None:
    assert "agents.run:Runner.run" in coverage.listed()
    assert "agents.lazy.late:Late.go" in coverage.unlisted(_release(tmp_path))


def test_the_page_says_recorded_of_what_was_found_replaced() -> None:
    hooked = coverage.Hooked.read()
    told = coverage.listed()
    replaced = {name for name in hooked.replaced if name in told}
    below = {f"{cls}.{name}" for cls, names in hooked.trees.items() for name in names}
    assert (replaced | (below & told.keys())) <= {name for name, said in told.items() if "recorded" in said}

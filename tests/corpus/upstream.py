"""`python -m tests.corpus.upstream CHECKOUT DIRECTORY`: upstream's regression test of #4414, for any release.

The test came with openai-agents 0.21.0 and its file cannot be imported on 0.20.0, the last release that has
the bug: `agents.testing` is missing there, and more. So this one test is cut out of a checkout of
openai/openai-agents-python, word for word, with the imports that it uses; what plays the model is the class
that upstream's own tests used at v0.20.0. As upstream's conftest does, ours keeps traces from being exported.
Nothing of upstream's is kept in this repository.
"""

import argparse
import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

TEST = "test_resume_recursively_nested_agent_as_tool_decision"
FILE = "tests/test_run_state.py"
BESIDE = {"tests/fake_model.py": "v0.20.0", "tests/test_responses.py": "v0.21.0"}
MODEL = """from .fake_model import FakeModel


class ScriptedModel(FakeModel):
    def extend(self, turns):
        self.add_multiple_turn_outputs(turns)
"""
CONFTEST = """from agents import set_tracing_disabled

set_tracing_disabled(True)
"""


def main() -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("checkout", type=Path, help="a clone of openai/openai-agents-python with its tags")
    parser.add_argument("directory", type=Path, help="where to write the test, with what it needs")
    options = parser.parse_args()
    (options.directory / "tests").mkdir(parents=True)
    (options.directory / "tests" / "__init__.py").write_bytes(b"")
    (options.directory / "tests" / "conftest.py").write_text(CONFTEST, "utf-8")
    for path, revision in BESIDE.items():
        (options.directory / path).write_text(_shown(options.checkout, revision, path), "utf-8")
    (options.directory / FILE).write_text(cut(_shown(options.checkout, "v0.21.0", FILE)), "utf-8")
    print(f"{options.directory / FILE}::{TEST}")
    return 0


def _shown(checkout: Path, revision: str, path: str) -> str:
    command = ["git", "-C", str(checkout), "show", f"{revision}:{path}"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, encoding="utf-8").stdout


def cut(source: str) -> str:
    """The one test of a module, with the imports that it uses."""
    tree = ast.parse(source)
    (test,) = (node for node in tree.body if isinstance(node, ast.AsyncFunctionDef) and node.name == TEST)
    used = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    first = min([test.lineno, *(decorator.lineno for decorator in test.decorator_list)])
    body = "\n".join(source.splitlines()[first - 1 : test.end_lineno])
    return "\n".join([*_imports(tree, used), MODEL, "", body, ""])


def _imports(tree: ast.Module, used: set[str]) -> Iterator[str]:
    for node in tree.body:
        if (
            not isinstance(node, ast.Import | ast.ImportFrom)
            or getattr(node, "module", None) == "agents.testing"
        ):
            continue
        node.names = [alias for alias in node.names if (alias.asname or alias.name) in {*used, "annotations"}]
        if node.names:
            yield ast.unparse(node)


if __name__ == "__main__":
    sys.exit(main())

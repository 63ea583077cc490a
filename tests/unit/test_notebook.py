"""A notebook as a script: nbconvert's form, and a plain interpreter runs what awaits at the top."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from agentproof.errors import UsageError
from agentproof.record.notebook import script_of
from agentproof.record.reproduction import read_reproduction
from agentproof.record.selection import select


def notebook(*cells: str, language: str = "python") -> bytes:
    """A notebook with these code cells."""
    made: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "metadata": {}, "source": cell} for cell in cells
    ]
    metadata = {"kernelspec": {"language": language, "name": language}}
    return json.dumps({"cells": made, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def run(tmp_path: Path, *cells: str) -> list[str]:
    """What the script of these cells prints, in an interpreter that knows of no notebooks."""
    (tmp_path / "made.py").write_bytes(script_of(notebook(*cells), "n.ipynb").source)
    command = [sys.executable, "-W", "error", str(tmp_path / "made.py")]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()


def test_the_form_is_that_of_nbconvert() -> None:
    data = json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": ["# Title\n", "text"]},
                {
                    "cell_type": "code",
                    "execution_count": 3,
                    "metadata": {},
                    "outputs": [{"output_type": "stream", "text": "a secret"}],
                    "source": ["import json\n", "print('a')"],
                },
                {"cell_type": "raw", "metadata": {}, "source": "raw"},
                {"cell_type": "code", "execution_count": None, "metadata": {}, "source": "x = 1"},
            ],
            "metadata": {},
            "nbformat": 4,
        }
    ).encode()
    assert script_of(data, "n.ipynb").source.decode() == (
        "#!/usr/bin/env python\n# coding: utf-8\n\n# # Title\n# text\n\n# In[3]:\n\n\n"
        "import json\nprint('a')\n\n\n"
        "# In[ ]:\n\n\nx = 1\n"
    )


def test_cells_share_one_loop_and_one_namespace(tmp_path: Path) -> None:
    printed = run(
        tmp_path,
        "import asyncio\nasync def double(x):\n    await asyncio.sleep(0)\n    return 2 * x\n",
        "task = asyncio.create_task(double(4))",
        'from math import tau as t\nfirst: int = await double(1)\nlate: str\ntext = """a\n  b"""\n'
        "class Held:\n    value: int = first\nprint(repr(text), Held.__qualname__, int(t))",
        "async with asyncio.Lock():\n    print(first, await task)",
        "print(Held.value, [await double(n) for n in range(3)])",
    )
    assert printed == ["'a\\n  b' Held 6", "2 8", "2 [0, 2, 4]"]


def test_what_makes_the_environment_is_left_out_and_told(tmp_path: Path) -> None:
    made = script_of(
        notebook("%pip install -q openai-agents\n!pip install x\n%matplotlib inline\nprint(1)"), "n"
    )
    assert made.left_out == ("%pip install -q openai-agents", "!pip install x", "%matplotlib inline")
    assert run(tmp_path, "%pip install x\nprint(1)") == ["1"]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("x = 1\n!ls -l", "code cell 2, line 2: `!ls -l`"),
        ("%%bash\nls", "code cell 2, line 1: `%%bash`"),
        ("files = !ls", "code cell 2, line 1: `files = !ls`"),
        ("x = (1\n% 2)\nprint?", "code cell 2, line 3: `print?`"),
        ("def f(:", "code cell 2, line 1: "),
        ("return 1", "code cell 2, line 1: 'return' outside function"),
    ],
)
def test_what_cannot_run_is_named(cell: str, said: str) -> None:
    with pytest.raises(UsageError, match="code cell 2") as caught:
        script_of(notebook("a = 1", cell), "n.ipynb")
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "data", [b"{", b"[]", b'{"cells": [1]}', b'{"cells": []}', notebook("1 + 1", language="R")]
)
def test_what_is_no_notebook_in_python_is_refused(data: bytes) -> None:
    with pytest.raises(UsageError):
        script_of(data, "n.ipynb")


def test_a_notebook_brings_the_modules_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "helper.py").write_text("VALUE = 1\n")
    (tmp_path / "repro.ipynb").write_bytes(notebook("import helper\nprint(helper.VALUE)"))
    made = read_reproduction(select(str(tmp_path / "repro.ipynb")))
    assert made.entry == "repro.py"
    assert sorted(made.files) == ["helper.py", "repro.py"]
    (tmp_path / "repro.py").write_text("VALUE = 1\n")
    (tmp_path / "pyproject.toml").write_text("")
    with pytest.raises(UsageError, match=r"repro\.py beside it has that name"):
        read_reproduction(select(str(tmp_path / "repro.ipynb")))

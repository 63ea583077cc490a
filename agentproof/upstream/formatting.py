"""Source as upstream formats it: by ruff, with that project's own line length and order of imports."""

import subprocess
from functools import cache
from typing import Final

from ..errors import CannotDoError

LINE_LENGTH: Final = 100
_SECONDS: Final = 60
_CHECK: Final = (
    *("check", "--quiet", "--fix", "--unsafe-fixes", "--exit-zero", "--select", "F401,F811,F841,I"),
    *("--config", "lint.isort.combine-as-imports=true"),
    *("--config", "lint.isort.split-on-trailing-comma=false"),
    *("--config", 'lint.isort.known-first-party=["agents"]'),
)
_FORMAT: Final = ("format", "--quiet", "--config", "format.skip-magic-trailing-comma=true")
"""What fits on a line is put there: what a comma held apart in the script is mostly gone."""


def formatted(source: str) -> str:
    """The source without what it imports and does not use, sorted and formatted.

    Raises:
        CannotDoError: ruff is not there, or does not take the source.
    """
    for arguments in (_CHECK, _FORMAT):
        source = _ruff(source, *arguments)
    return source


def _ruff(source: str, *arguments: str) -> str:
    settings = ("--isolated", "--no-cache", "--line-length", str(LINE_LENGTH), "--stdin-filename", "test.py")
    done = subprocess.run(
        [_program(), arguments[0], *settings, *arguments[1:], "-"],
        input=source.encode(),
        capture_output=True,
        timeout=_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        raise CannotDoError(
            f"ruff does not take the test: {done.stderr.decode('utf-8', 'replace').strip()[:500]}"
        )
    return done.stdout.decode()


@cache
def _program() -> str:
    import ruff  # type: ignore[import-untyped]  # noqa: PLC0415  it looks for its program when imported

    try:
        return str(ruff.find_ruff_bin())
    except FileNotFoundError as error:
        raise CannotDoError(
            "the ruff package is installed without its program", hint="reinstall ruff"
        ) from error

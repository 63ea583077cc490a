"""Writes `tests/conformance/`: `python -m tests.vectors`. A test holds the two together.

A vector is a bundle, how a reader looks at it, and what a checker must say. The bundles are forged, so
that they are small and the same in every run.
"""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentproof.models.wire import encode
from tests import forge
from tests.vector_cases import READERS, VECTORS

PLACE = Path(__file__).parent / "conformance"


def files() -> Iterator[tuple[str, bytes]]:
    """Every generated file, by its path below `tests/conformance`."""
    yield "trust/reporter", f"reporter@example {forge.REPORTER.public.line}\n".encode()
    yield "trust/another", f"another@example {forge.MAINTAINER.public.line}\n".encode()
    for name, options in (
        ("endorsing", 'namespaces="agentproof-endorsed"'),
        ("expired", 'valid-before="20250101Z"'),
    ):
        yield f"trust/{name}", f"reporter@example {options} {forge.REPORTER.public.line}\n".encode()
    both = (
        f"reporter@example {forge.REPORTER.public.line}\nmaintainer@example {forge.MAINTAINER.public.line}\n"
    )
    yield "trust/both", both.encode()
    yield "trust/revoked", f"# It was lost.\n{forge.REPORTER.public.fingerprint}\n".encode()
    yield forge.WHEEL_NAME, forge.WHEEL
    for vector in VECTORS:
        expected: dict[str, Any] = {
            "reader": READERS[vector.reader],
            "status": vector.status,
            "failed": {"check": vector.check, "reason": vector.reason} if vector.check else None,
        }
        yield f"{vector.name}/bundle.zip", vector.make()
        yield f"{vector.name}/expected.json", encode(expected)
        said = f"{vector.status}" + (
            f": `{vector.check}` fails with `{vector.reason}`" if vector.check else ""
        )
        reader = f"Reader: {vector.reader} ({json.dumps(READERS[vector.reader])})."
        yield f"{vector.name}/README.md", f"# {vector.name}\n\n{vector.why}\n\n{reader}\n\n{said}.\n".encode()


def main() -> None:
    """Write the vectors anew."""
    for old in PLACE.iterdir():
        if old.is_dir():
            shutil.rmtree(old)
    for path, data in files():
        place = PLACE / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


if __name__ == "__main__":
    main()

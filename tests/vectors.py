"""Writes what is new to `tests/conformance/`: `python -m tests.vectors`. A test holds the two together.

A vector is a bundle, how a reader looks at it, and what a checker must say. The bundles are forged, so
that they are small. A bundle that is there stays as it is for ever: later tools, with other rules, must read
those that today's made.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from agentproof.models.wire import encode
from tests import forge
from tests.vector_cases import READERS, VECTORS

PLACE = Path(__file__).parent / "conformance"
SUMS = PLACE / "SHA256SUMS"
"""Of every bundle, as `sha256sum --check` reads it."""


def files() -> Iterator[tuple[str, bytes]]:
    """Every generated file but the bundles, by its path below `tests/conformance`."""
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
        if vector.verdict is not None:
            expected |= {"verdict": vector.verdict, "beyond": list(vector.beyond)}
        yield f"{vector.name}/expected.json", encode(expected)
        said = f"{vector.status}" + (
            f": `{vector.check}` fails with `{vector.reason}`" if vector.check else ""
        )
        reader = f"Reader: {vector.reader} ({json.dumps(READERS[vector.reader])})."
        yield f"{vector.name}/README.md", f"# {vector.name}\n\n{vector.why}\n\n{reader}\n\n{said}.\n".encode()


def sums() -> str:
    """What `SUMS` must say of the bundles that lie there."""
    bundles = sorted(PLACE.glob("*/bundle.zip"))
    return "".join(
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(PLACE)}\n" for path in bundles
    )


def main() -> None:
    """Write what a reader must say anew, and each bundle that is not there yet."""
    for path, data in files():
        place = PLACE / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    for vector in VECTORS:
        bundle = PLACE / vector.name / "bundle.zip"
        if not bundle.exists():
            bundle.write_bytes(vector.make())
    SUMS.write_text(sums(), "utf-8")


if __name__ == "__main__":
    main()

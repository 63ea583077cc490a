"""What happens to a bundle's text between two people, and every small change of it.

    python -m tests.texts [PATH…] [--positions 200]

takes the bundles at PATHs (default: the committed ones) through all of it, and prints how many texts were
tried and what became of them: restored to the same bytes, refused, or, which must not be, something else.
"""

import argparse
import html
import re
import sys
import textwrap
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from agentproof.bundle.store import (
    Bundle,
    Shelf,
    as_text,
    files_in,
    find_bundles,
    read_bundle,
    without_wheel,
    zip_bytes,
)
from agentproof.bundle.text import decoded, find_blocks
from agentproof.bundle.zip import stored_zip
from agentproof.errors import BundleError
from agentproof.render.embedded import folded
from tests import committed
from tests.mutations import mutated

PROSE = "Hello @octocat,\n\nsee #1 & <b>this</b>:\n\n"


def copied(block: str) -> Iterator[tuple[str, str]]:
    """Texts from which the bundle comes back as it was, each with a name."""
    yield "as it is", block
    yield "in prose", f"{PROSE}{block}\n\nRegards\n-- \nme\n"
    yield "CRLF", block.replace("\n", "\r\n")
    yield "CR", block.replace("\n", "\r")
    yield "trailing blanks", re.sub("$", "  \t", block, flags=re.M)
    yield "no-break spaces behind", re.sub("$", "\u00a0", block, flags=re.M)
    yield "no-break spaces for blanks", block.replace(" ", "\u00a0")
    yield "no-break spaces within", re.sub("(?<=[A-Za-z0-9+/]{50})(?=[A-Za-z0-9+/])", "\u00a0", block)
    yield "wrapped in a mail, quoted where it was not broken", textwrap.indent(_wrapped(block, 76), "> ")
    yield "wrapped in a mail, quoted once", _wrapped(textwrap.indent(block, "> "), 72)
    yield "indented", textwrap.indent(block, "      ")
    yield "quoted", textwrap.indent(block, "> ", lambda _: True)
    yield "quoted three times, CRLF", textwrap.indent(block, ">> > ", lambda _: True).replace("\n", "\r\n")
    yield "quoted in HTML", html.escape(textwrap.indent(block, "> ", lambda _: True))
    yield "escaped as numbers", block.replace("+", "&#43;").replace("/", "&#x2F;").replace("=", "&#61;")
    yield "escaped twice", html.escape(block.replace("=", "&#61;"))
    yield "empty lines between", block.replace("\n", "\n\n")
    yield "broken at 40", _wrapped(block, 40)
    yield "on one line", block.replace("\n", " ")
    yield "with soft hyphens", re.sub(r"([A-Za-z0-9+/]{50})(?=[A-Za-z0-9+/])", "\\1\u00ad", block)
    yield "with a byte order mark", f"\ufeff{block}"


def _wrapped(block: str, width: int) -> str:
    return "\n".join(piece for line in block.split("\n") for piece in _pieces(line, width))


def _pieces(line: str, width: int) -> list[str]:
    return [line[at : at + width] for at in range(0, len(line), width)] or [""]


def spoilt(block: str) -> Iterator[tuple[str, str]]:
    """Texts in which something is missing or wrong, each with a name."""
    lines = block.split("\n")
    middle = len(lines) // 2
    yield "cut in the middle", "\n".join(lines[:middle])
    yield "cut in a line", block[: len(block) * 2 // 3]
    yield "without its end", "\n".join(lines[:-1])
    yield "without its beginning", "\n".join(lines[5:])
    yield "without a line", "\n".join(lines[:middle] + lines[middle + 1 :])
    yield "with a line twice", "\n".join([*lines[:middle], lines[middle], *lines[middle:]])
    yield (
        "two lines exchanged",
        "\n".join([*lines[:middle], lines[middle + 1], lines[middle], *lines[middle + 2 :]]),
    )
    yield "in capitals", "\n".join([*lines[:3], *(line.upper() for line in lines[3:-1]), lines[-1]])
    yield "as quoted-printable", block.replace("=", "=3D").replace(lines[middle], f"{lines[middle]}=")
    yield "with dots in it", block.replace(lines[middle], f"{lines[middle][:40]}...")
    yield "with a reply in it", block.replace(lines[middle], f"{lines[middle]}\nI do not get this line.")
    yield "of another bundle", re.sub("sha256:.{8}", "sha256:00000000", block)
    yield "of another length", re.sub(r"length: \d", "length: 9", block)


def changed(block: str, *, positions: int) -> Iterator[tuple[str, str]]:
    """The changes of `mutations.mutated` at so many places."""
    step = max(len(block) // positions, 1)
    for name, data in mutated(block.encode("ascii"), step=step):
        yield name, decoded(data)


def outcome(text: str, data: bytes) -> str:
    """`restored` to these bytes, `other`, `nothing` where no block is seen, else why it was refused."""
    try:
        blocks = find_blocks(text)
        if not blocks:
            return "nothing"
        return "restored" if all(stored_zip(files_in(block).items()) == data for block in blocks) else "other"
    except BundleError as error:
        return error.reason


def thin(place: Path) -> Bundle:
    """The bundle at a place, as text has it."""
    return without_wheel(read_bundle(place, wheels=Shelf(committed.STORE / "wheels")))


def try_bundle(bundle: Bundle, *, positions: int) -> tuple[Counter[str], list[str]]:
    """What became of all texts of one bundle, and those of which became what must not."""
    block, data = as_text(bundle), zip_bytes(bundle)
    counts: Counter[str] = Counter()
    wrong = []
    whole = folded(bundle)
    for name, text in [*copied(block), ("folded", whole), ("twice", f"{whole}\n\nand\n\n{block}")]:
        became = outcome(text, data)
        counts[f"copied: {became}"] += 1
        if became != "restored":
            wrong.append(f"{name}: {became}")
    for name, text in spoilt(block):
        became = outcome(text, data)
        counts[f"spoilt: {'refused' if became not in ('restored', 'other') else became}"] += 1
        if became in ("restored", "other", "nothing"):
            wrong.append(f"{name}: {became}")
    for name, text in changed(block, positions=positions):
        became = outcome(text, data)
        counts[f"changed: {became if became in ('restored', 'other') else 'refused'}"] += 1
        if became == "other":
            wrong.append(f"{name}: {became}")
    return counts, wrong


def main() -> int:
    """Try all and print the counts; 1 where something became what it must not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("paths", nargs="*", type=Path, default=[committed.STORE])
    parser.add_argument("--positions", type=int, default=200)
    given = parser.parse_args()
    started = time.process_time()
    whole: Counter[str] = Counter()
    wrong: list[str] = []
    places = [place for path in given.paths for place in find_bundles(path)]
    for place in places:
        counts, bad = try_bundle(thin(place), positions=given.positions)
        whole += counts
        wrong += [f"{place}: {each}" for each in bad]
    print(
        f"{len(places)} bundles, {sum(whole.values()):,} texts, {time.process_time() - started:.0f} s of CPU"
    )
    for what, count in sorted(whole.items()):
        print(f"  {what:28} {count:,}")
    print("\n".join(wrong[:20]))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())

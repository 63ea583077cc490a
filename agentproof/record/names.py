"""What a bundle can name: looked at before anything is made, so that no run is lost to a name.

A bundle's names are ASCII (`_folder.is_safe_path`). A script with another name is recorded under the
nearest one; everything else that cannot be named is refused.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath
from typing import Final

from ..bundle.folder import is_safe_path
from ..errors import UsageError
from ..models.wire import MAX_TEXT

RESERVED: Final = ("manifest.json", "pylock.toml", "attestations", "traces", "states", "wheels")
"""Names at the top of a bundle that a reproduction's own files cannot have."""
RENAME: Final = (
    f"rename it: a bundle's names are ASCII, at most 240 letters and 8 directories deep, and none of "
    f"{', '.join(RESERVED)}"
)
_LONGEST: Final = 100
_ODD = re.compile(r"[^A-Za-z0-9_+.,=@()~!#%& -]+")


def is_nameable(path: str) -> bool:
    """Whether a file of a reproduction can have this path in a bundle."""
    return is_safe_path(path) and path.partition("/")[0].lower() not in RESERVED


def entry_name(name: str, taken: Iterable[str]) -> str:
    """The name of a script in a bundle: its own, else the nearest that a bundle can have and nobody has."""
    if is_nameable(name):
        return name
    plain = unicodedata.normalize("NFKD", name.removesuffix(".py")).encode("ascii", "ignore").decode("ascii")
    stem = " ".join(_ODD.sub(" ", plain).split())[:_LONGEST].strip(" .-")
    others = {each.partition("/")[0].lower() for each in taken if each != name}
    for stem_again in (stem, "reproduction", *(f"reproduction-{number}" for number in range(2, 100))):
        found = f"{stem_again}.py"
        if stem_again and is_nameable(found) and found.lower() not in others:
            return found
    raise UsageError(f"{name!r} is a name that no bundle can hold", hint=RENAME)


def check_texts(what: str, texts: Iterable[str]) -> None:
    """Refuse a text that a manifest cannot hold.

    Raises:
        UsageError: one is too long, or no Unicode.
    """
    for text in texts:
        if len(text) > MAX_TEXT:
            raise UsageError(
                f"{what} {text[:40]!r}… has {len(text)} letters, over the limit of {MAX_TEXT}",
                hint="shorten it; what is long belongs into a file that the script reads",
            )
        if not text.isascii():
            try:
                text.encode("utf-8")
            except UnicodeEncodeError as error:
                raise UsageError(
                    f"{what} {text!r} is no UTF-8, which a bundle's texts are", hint="write it in UTF-8"
                ) from error


def check_mentioned(files: Mapping[str, bytes], *, entry: str) -> None:
    """Refuse files that a script names in its own text, or imports, and that no bundle can name.

    What is there and not mentioned is not in the way: it is most likely not used.

    Raises:
        UsageError: there is one.
    """
    odd = [path for path in files if path != entry and not is_nameable(path)]
    if not odd:
        return
    sources = [data.decode("utf-8", "replace") for path, data in files.items() if path.endswith(".py")]
    text = unicodedata.normalize("NFKC", "\n".join(sources))
    for path in odd:
        parts = [part for part in PurePosixPath(path).parts if not is_nameable(part)]
        for part in parts or [PurePosixPath(path).name]:
            name = unicodedata.normalize("NFKC", part.removesuffix(".py"))
            if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text):
                raise UsageError(f"the script uses {path!r}, a name that no bundle can hold", hint=RENAME)

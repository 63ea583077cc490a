"""Findings that are known already, with the reason: a hunt tells them apart, so that it speaks of news."""

import json
from collections.abc import Sequence
from fnmatch import fnmatchcase
from importlib.resources import files
from pathlib import Path

from ..errors import FormatError, UsageError
from ..models.wire import ListOf, Text, Wire
from .search import Signature


class KnownFinding(Wire):
    """Which findings are meant, and what is known of them."""

    signature: Text
    """As a hunt prints it; `*` stands for anything, as in fnmatch."""
    reason: Text
    """A defect with its bundle or issue, a thing that is meant, or a race."""


class KnownFindings(Wire):
    """A file of them."""

    known: ListOf[KnownFinding]


def read_known(paths: Sequence[Path]) -> list[KnownFinding]:
    """What is shipped, and what these files add.

    Raises:
        UsageError: a file cannot be read, or is none of this shape.
    """
    shipped = files("agentproof.hunt").joinpath("known.json").read_text("utf-8")
    found = list(KnownFindings.from_shape(json.loads(shipped)).known)
    for path in paths:
        try:
            found += KnownFindings.from_shape(json.loads(path.read_text("utf-8"))).known
        except (OSError, ValueError, FormatError) as error:
            raise UsageError(
                f"--known {path}: {error}", hint='{"known": [{"signature": "rule …", "reason": "…"}]}'
            ) from error
    return found


def reason_of(signature: Signature, known: Sequence[KnownFinding]) -> str | None:
    """Why a finding is no news; None: it is."""
    return next((each.reason for each in known if fnmatchcase(str(signature), each.signature)), None)

"""Where this agentproof comes from: the address in its own metadata, and the commit that was installed.

1. The address is the metadata's (`[project.urls]`: Repository, Source or Homepage), https, and plain enough
   to stand in a command.
2. The commit is what the installer wrote down (PEP 610), else that of the checkout that was installed, if
   that is as committed and a branch of its remote has it.
"""

import json
import re
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from ..errors import AgentproofError
from . import git

_ADDRESS: Final = re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9_.~-]+)+")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_LABELS: Final = ("repository", "source", "sourcecode", "github", "homepage")
"""The well-known labels of project URLs that may name a repository, normalised, the best one first."""


def repository_of(urls: Iterable[str]) -> str | None:
    """The repository's address in metadata's `Project-URL` lines (`Label, URL`); None where there is none."""
    found: dict[str, str] = {}
    for line in urls:
        label, _, url = line.partition(",")
        url = url.strip().removesuffix("/").removesuffix(".git")
        if _ADDRESS.fullmatch(url):
            found.setdefault(re.sub(r"[\W_]+", "", label).lower(), url)
    return next((found[label] for label in _LABELS if label in found), None)


def address_and_commit(distribution: str) -> tuple[str | None, str | None]:
    """Where the installed distribution comes from, each as far as it is known."""
    try:
        own = metadata.distribution(distribution)
    except metadata.PackageNotFoundError:
        return None, None
    address = repository_of(own.metadata.get_all("Project-URL") or ())
    return (None, None) if address is None else (address, _commit(_direct_url(own)))


def _direct_url(own: metadata.Distribution) -> dict[str, Any]:  # Any: JSON
    try:
        found = json.loads(own.read_text("direct_url.json") or "{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _commit(direct: dict[str, Any]) -> str | None:  # Any: JSON
    vcs, url = direct.get("vcs_info"), direct.get("url")
    if isinstance(vcs, dict):
        commit = vcs.get("commit_id")
        return commit if isinstance(commit, str) and _COMMIT.fullmatch(commit) else None
    if "dir_info" not in direct or not isinstance(url, str) or not url.startswith("file:"):
        return None
    checkout = Path(unquote(urlsplit(url).path))
    try:
        head = git.resolve(checkout)
        committed = git.files(checkout, head)
        changed = [path for path in git.changes(checkout, head) if path in committed]
        remote = git.run(checkout, "for-each-ref", "--count=1", f"--contains={head.id}", "refs/remotes/")
    except AgentproofError:
        return None
    return head.id if remote and not changed else None

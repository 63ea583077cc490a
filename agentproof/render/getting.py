"""What agentproof is, for somebody who never heard of it, and the one command that gets it and checks a file.

The name `agentproof` on the package index belongs to somebody else's project. So no command is ever printed
that asks an index for a name: only `DISTRIBUTION @ git+ADDRESS@COMMIT`, and where address or commit is not
known, the distribution and the version are told.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from .. import __version__

DISTRIBUTION: Final = "agentproof-bundles"


@dataclass(frozen=True)
class Getting:
    """Where this agentproof can be had; `environment.own` finds out."""

    address: str | None = None
    """Of its repository, `https://…`, as its metadata says."""
    commit: str | None = None
    """That it is, where its repository has it."""

    def words(self) -> str:
        """What it is, and where from."""
        what = (
            "agentproof runs a script unmodified on a pinned wheel of the SDK and writes what happened into "
            "one signed file, which anybody can check offline."
        )
        name = f"It is the distribution `{DISTRIBUTION}`, version `{__version__}`"
        if self.address is None:
            return f"{what} {name}, installed from a checkout of its repository, not from a package index."
        at = f" at `{self.commit[:10]}`" if self.commit is not None else ""
        return f"{what} {name}, installed from {self.address}{at}, not from a package index."

    def commands(self, file: str) -> Iterator[str]:
        """A console's lines that check the file, and replay it; `file` is quoted for a shell."""
        run = "agentproof"
        if self.address is not None and self.commit is not None:
            run = f'uvx --from "{DISTRIBUTION} @ git+{self.address}@{self.commit}" agentproof'
        yield f"{run} check-current-bundle {file}"
        yield f"{run} replay {file}"

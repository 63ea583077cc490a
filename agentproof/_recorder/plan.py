"""What the host asks for: the plan beside the recorder in the control directory (standard library only)."""

import json
import os
from typing import Any, Dict, List, Optional

from .events import seal_of_children


class Plan:
    """One run of the recorder: which script, in which modes, where to write."""

    def __init__(self, document: Dict[str, Any]) -> None:
        self.control: str = document["control"]
        self.root: str = document["root"]
        self.entry: str = document["entry"]
        self.arguments: List[str] = list(document.get("arguments", ()))
        self.modes: List[str] = list(document["modes"])
        self.work: Dict[str, str] = dict(document["work"])
        self.distribution: str = document["distribution"]
        self.package: str = document["package"]
        self.adapter: str = document["adapter"]
        self.site_packages: str = document["site_packages"]
        self.network: str = document.get("network", "audit-hook")
        """Which isolation the host applied; only a network namespace has a loopback of its own."""
        self.names: List[str] = list(document.get("names", ()))
        """Hosts that lead to a recording of a provider's answers, or to the one that is being made."""
        self.seeded: bool = bool(document.get("seeded", False))
        """Whether `random` begins in the same state in every run."""
        self.serves: Dict[str, Any] = dict(document.get("serves") or {})
        """For a fork server (`forkserver`): what it imports, and what it runs to warm up."""
        self.is_trial: bool = bool(document.get("trial", False))
        """Whether nothing is concluded from this run, so that it need not say what was done to the SDK."""
        self.child: Optional[Dict[str, Any]] = document.get("child")
        """For a process that the script started: its number, its parent event, what it is to run."""
        self.tests: List[str] = list(document.get("tests", ()))
        """pytest node ids below the root; then these are run instead of the entry."""
        self.seal: str = document.get("seal", "")
        """The key of what this process writes down; empty where the host gave none."""
        self.path = ""

    @classmethod
    def read(cls, path: str) -> "Plan":
        """Read a plan, and take the key away from where the script could read it."""
        with open(path, encoding="utf-8") as stream:
            document = json.load(stream)
        plan = cls(document)
        plan.path = path
        if plan.child is not None:
            document.pop("seal", None)
            with open(path, "w", encoding="utf-8") as stream:
                json.dump(document, stream)
        key = os.path.join(plan.control, "seal.key")
        if plan.child is None and os.path.exists(key):
            with open(key, encoding="ascii") as stream:
                plan.seal = stream.read()
            os.unlink(key)
        return plan

    @property
    def script(self) -> str:
        """The absolute path of the entry."""
        return os.path.join(self.root, self.entry)

    @property
    def loopback(self) -> bool:
        """True where the script may talk to itself."""
        return self.network == "namespace"

    def for_child(self, mode: str, child: Dict[str, Any]) -> Dict[str, Any]:
        """The plan of a process that the script starts in `mode`."""
        return {
            "control": self.control,
            "root": self.root,
            "entry": self.entry,
            "arguments": self.arguments,
            "modes": [mode],
            "work": self.work,
            "distribution": self.distribution,
            "package": self.package,
            "adapter": self.adapter,
            "site_packages": self.site_packages,
            "network": self.network,
            "names": self.names,
            "seeded": self.seeded,
            "trial": self.is_trial,
            "child": child,
            "seal": self.seal if self.child is not None or not self.seal else seal_of_children(self.seal),
        }

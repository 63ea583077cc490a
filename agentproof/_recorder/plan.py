"""What the host asks for: the plan beside the recorder in the control directory (standard library only)."""

import json
import os
from typing import Any, Dict, List, Optional


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
        self.child: Optional[Dict[str, Any]] = document.get("child")
        """For a process that the script started: its number, its parent event, what it is to run."""
        self.tests: List[str] = list(document.get("tests", ()))
        """pytest node ids below the root; then these are run instead of the entry."""
        self.path = ""

    @classmethod
    def read(cls, path: str) -> "Plan":
        """Read a plan."""
        with open(path, encoding="utf-8") as stream:
            plan = cls(json.load(stream))
        plan.path = path
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
            "child": child,
        }

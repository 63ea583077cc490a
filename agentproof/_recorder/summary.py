"""The last word of a process: what it loaded, what the script did to the SDK, what was not seen.

Written at once and at the very end; its presence means that the mode ended by itself. Standard
library only.
"""

import glob
import json
import os
from typing import Any, Dict, List, Tuple

from . import audit, conduct, loaded, snapshots
from .events import journal
from .plan import Plan


class Summary:
    """Collects what `<mode>.end.json` says."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.gaps: List[Tuple[str, ...]] = []
        """What was not captured: (what, why) or (what, why, code)."""
        self.is_hooked = False

    def write(self) -> None:
        """Write the summary; the ones of the script's other processes are merged into the first's."""
        with audit.Unwatched():
            document = self._document()
            if self._plan.child is None:
                self._merge(document)
            path = journal().member("end.json")
            with open(path + ".part", "w", encoding="utf-8") as stream:
                stream.write(journal().sealed(document, last=True))
            os.replace(path + ".part", path)

    def _document(self) -> Dict[str, Any]:
        files = loaded.files(self._plan)
        document: Dict[str, Any] = {"loaded": [], "conduct": {}, "files": files, "coverage": []}
        document["observed_ms"] = round(1000 * snapshots.budget.spent)
        document["passed_ms"] = round(1000 * snapshots.budget.passed)
        document["missed"] = sorted(audit.seen.missed)
        if self._plan.is_trial:
            return document
        try:
            document["loaded"] = loaded.modules(self._plan)
            document["conduct"] = conduct.after(self._plan, files)
        except Exception as error:
            journal().failed("conduct", error)
            self.gaps.append(("conduct", "the recorder failed: {}".format(type(error).__name__)))
        names = ("what", "why", "code")
        document["coverage"] = [dict(zip(names, gap, strict=False)) for gap in sorted(set(self.gaps))]
        return document

    def _merge(self, document: Dict[str, Any]) -> None:
        pattern = os.path.join(glob.escape(self._plan.control), journal().mode + ".*.end.json")
        for path in sorted(glob.glob(pattern)):
            with open(path, encoding="utf-8") as stream:
                other = json.load(stream)
            for name in ("loaded", "files", "coverage", "missed"):
                document[name] += [each for each in other[name] if each not in document[name]]
            document["files"].sort()
            document["loaded"].sort(key=lambda each: each["module"])
            for name, places in other["conduct"].items():
                mine = document["conduct"].setdefault(name, [])
                mine += [each for each in places if each not in mine]

"""What keeps a script's own end, and what its reporter expects of it, from saying anything of the SDK."""

import re
from typing import Final

from ...models.events import Failure, ModelFailed, RunEnded, ScriptEnded, SdkImported
from ...models.values import text_of
from .evidence import Evidence, View

_KEY: Final = re.compile(r"\b[A-Z][A-Z0-9_]*API_?KEY\b|\bapi_key\b")


def excuses(evidence: Evidence, *, keys: bool) -> frozenset[str]:
    """Reasons, as `judge.REASONS` has them, why the script did not come to show anything; in some mode.

    With `keys`, a run that failed for want of a provider's key is one.
    """
    found = (_excuse(view, keys=keys) for view in evidence.views.values())
    return frozenset(code for code in found if code is not None)


def _excuse(view: View, *, keys: bool) -> str | None:
    end = view.script_end
    if end is not None and end.premise == "environment":
        return "environment_missing"
    if end is not None and end.premise == "before_sdk":
        return "before_sdk"
    if not view.of(SdkImported):
        return "sdk_not_imported"
    if not keys:
        return None
    errors = [
        *(event.error for event in view.of(RunEnded)),
        *(event.error for event in view.of(ModelFailed)),
        *(event.error for event in view.of(ScriptEnded)),
    ]
    return "environment_missing" if any(map(_lacks_key, errors)) else None


def _lacks_key(error: Failure | None) -> bool:
    return (
        error is not None
        and not error.type.startswith("builtins:")
        and bool(_KEY.search(text_of(error.message)))
    )

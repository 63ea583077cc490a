"""Where an error that left the reproduction came from (standard library only)."""

import os
from typing import Any, Dict, List, Optional

from . import premises
from .events import watching
from .plan import Plan


def of(error: BaseException, plan: Plan) -> Dict[str, Any]:
    """`frames`: those in the reproduction's own files, innermost last; and `raised_in` where there are any.

    That is `own` where the innermost frame of all is one of them, `sdk` where a frame of the SDK stands
    below the last of them, and else `other`. And `premise`, where the error is about something that the
    script takes for granted (see `premises`).
    """
    root = os.path.join(plan.root, "")
    frames: List[Dict[str, Any]] = []
    raised_in: Optional[str] = None
    places: List[premises.Place] = []
    through_sdk = False
    trace = error.__traceback__
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename.startswith(root):
            name = getattr(code, "co_qualname", code.co_name)
            frames.append({"file": code.co_filename[len(root) :], "line": trace.tb_lineno, "function": name})
            through_sdk = through_sdk or raised_in == "sdk"
            raised_in = "own"
            places.append((code, trace.tb_lineno))
        elif raised_in is not None:
            module = str(trace.tb_frame.f_globals.get("__name__"))
            if module.partition(".")[0] == plan.package:
                raised_in = "sdk"
            elif raised_in == "own":
                raised_in = "other"
        trace = trace.tb_next
    fields: Dict[str, Any] = {"frames": frames, "raised_in": raised_in}
    if raised_in != "sdk":
        with watching("premises"):
            premise = premises.of(error, places, through_sdk=through_sdk, plan=plan)
            if premise is not None:
                fields["premise"] = premise
    return fields

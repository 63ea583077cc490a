"""Whether anybody can still reach an object (standard library only).

A result and a state that refer to each other live on until Python's collector comes by, and when it does
depends on how much was allocated before: two recordings of one script would differ in what was still there
to be looked at. So what is asked is what the collector would find if it came now, by its own rule: an
object is reachable if something refers to it that is not itself reached only from such objects. Nothing is
collected and nothing is kept alive by asking, so the script's finalizers and weak references see what they
would see without the recorder.
"""

import gc
import sys
import types
import weakref
from typing import Any, Dict, List

_MOST = 400
"""Whatever this many objects lead to is taken to be in use."""


def is_reachable(ref: "weakref.ref[Any]") -> bool:
    """False when the object is gone, or when only the collector has yet to take it away."""
    known = _held(ref)
    asked = list(known)
    while asked:
        told = _holders(known, asked)
        ours = _references_of_ours()
        for key in asked:
            if sys.getrefcount(known[key]) - ours > told.counts[key]:
                return True  # held by a running function, by the interpreter, or by an extension
        if told.is_rooted or len(known) + len(told.holders) > _MOST:
            return True
        known.update(told.holders)
        asked = list(told.holders)
        told.holders.clear()
    return False


def _held(ref: "weakref.ref[Any]") -> Dict[int, Any]:
    found = ref()
    return {} if found is None else {id(found): found}


class _Told:
    """Who refers to the objects that were asked about."""

    def __init__(self, asked: List[int]) -> None:
        self.counts = dict.fromkeys(asked, 0)
        """How often each of them is referred to by what the collector knows."""
        self.holders: Dict[int, Any] = {}
        """Those that refer to them and were not known before."""
        self.is_rooted = False


def _holders(known: Dict[int, Any], asked: List[int]) -> _Told:
    told = _Told(asked)
    targets = tuple(known[key] for key in asked)
    for holder in gc.get_referrers(*targets):
        if holder is known or holder is targets:
            continue
        for found in gc.get_referents(holder):
            if id(found) in told.counts:
                told.counts[id(found)] += 1
        if id(holder) not in known:
            told.holders[id(holder)] = holder
            told.is_rooted = told.is_rooted or isinstance(holder, types.ModuleType)
    return told


def _references_of_ours() -> int:
    """How many references `getrefcount` sees of an object that only our own dictionary holds."""
    probe = {0: object()}
    return sys.getrefcount(probe[0])

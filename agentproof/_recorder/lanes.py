"""Lanes: which task or thread does something, and what must have come before (standard library only).

1. Each asyncio task is a lane, and so is each thread. A call that a task hands to a worker thread
   (`asyncio.to_thread`), and a callback of the event loop, is a lane of its own.
2. A lane has a frontier: the events that its next event directly follows. A new lane begins with the
   frontier of the lane that made it, also when that one had no event so far.
3. Lanes that a lane made and that are over when it goes on belong to its past; work that is still
   going on has no edge to what comes later.
4. Nor has work that nobody waits for, even when it happens to be over: a task is loose once its maker
   went on without it, until somebody waits for it after all. Otherwise the edges of a trace would
   tell of the machine's speed.
"""

import asyncio
import asyncio.base_events
import contextvars
import sys
import threading
import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

from . import patching
from .interrupts import Held
from .patching import hide, patch

_current: "contextvars.ContextVar[Optional[Lane]]" = contextvars.ContextVar("agentproof_lane", default=None)
"""The lane that code in this context belongs to, unless a task or thread of its own says otherwise."""

joiners: "List[Callable[[Lane], List[str]]]" = []
"""Each gives the last events of other processes that a lane started and that have ended."""


class Lane:
    """One line of events, each after the one before."""

    __slots__ = (
        "__weakref__",
        "_start",
        "children",
        "frontier",
        "kind",
        "last",
        "loose",
        "maker",
        "name",
        "owner",
        "thread",
    )

    def __init__(self, kind: str, owner: Any = None, maker: "Optional[Lane]" = None) -> None:
        self.kind = kind  # "task", "thread" or "call"
        self.name: Optional[str] = None
        self.last: Optional[str] = None
        self.children: List[Lane] = []
        self.owner: Optional["weakref.ref[Any]"] = weakref.ref(owner) if owner is not None else None
        self.thread = threading.get_ident()
        self.frontier: List[str] = []
        self.loose = False
        self.maker = maker
        if maker is not None:
            maker.join()
            self.frontier = list(maker.frontier)
            maker.children.append(self)
        self._start = frozenset(self.frontier)

    def is_over(self) -> bool:
        """True when nothing that somebody waits for can happen in this lane any more."""
        if self.owner is None:
            return self.kind == "call"  # whoever handed the call over goes on when it is done
        owner = self.owner()
        if owner is None:
            return True
        return bool(owner.done()) if self.kind == "task" else not owner.is_alive()

    def join(self) -> None:
        """Take the lanes that this one made, and that are over, into its past."""
        for finished in joiners:
            self.frontier += [name for name in finished(self) if name not in self.frontier]
        if not self.children:
            return
        going_on: List[Lane] = []
        for child in self.children:
            if not child.is_over():
                going_on.append(child)
                continue
            if child.loose:
                continue
            child.join()
            # What the child began with is before everything in its frontier, or still part of it;
            # and what of it this lane has left behind is before everything in this frontier.
            news = [n for n in child.frontier if n not in child._start or n in self.frontier]
            kept = [n for n in self.frontier if n not in child._start and n not in news]
            self.frontier = kept + news
            going_on += child.children
        self.children = going_on

    def go_on(self) -> None:
        """Something happens in this lane: what it made and does not wait for is loose from now on."""
        for child in self.children:
            if child.kind == "task" and not child.loose and not child.is_awaited():
                child.loose = True
        lane: Optional[Lane] = self
        while lane is not None:
            if lane.loose and lane.is_awaited():
                lane.loose = False
            lane = lane.maker

    def is_awaited(self) -> bool:
        """True when somebody waits for this lane's task to end."""
        task = self.owner() if self.owner is not None else None
        callbacks = getattr(task, "_callbacks", None)
        return any(_waits(entry[0] if isinstance(entry, tuple) else entry) for entry in callbacks or ())


def _waits(callback: Any) -> bool:
    """True for a callback by which asyncio wakes somebody up: an `await`, `gather`, `wait`, a group."""
    function = getattr(callback, "__func__", getattr(callback, "func", callback))
    module = getattr(function, "__module__", None) or type(callback).__module__
    if not str(module).startswith(("asyncio", "_asyncio", "builtins")):
        return False
    code = getattr(function, "__code__", None)
    if code is not None and "outer" in code.co_freevars:
        # A `gather` that was over when the first of its tasks failed waits for none of the others.
        outer = function.__closure__[code.co_freevars.index("outer")].cell_contents
        return not outer.done()
    return True


class Lanes:
    """All lanes of one process."""

    def __init__(self, process: str) -> None:
        self._process = process
        self._count = 0
        self._tasks: "weakref.WeakKeyDictionary[Any, Lane]" = weakref.WeakKeyDictionary()
        self._threads: "weakref.WeakKeyDictionary[Any, Lane]" = weakref.WeakKeyDictionary()

    def restart(self, process: str) -> None:
        """Go on in a process that was just forked: what came before is its past."""
        before = self.current()
        before.join()
        self._process = process
        self._count = 0
        self._tasks = weakref.WeakKeyDictionary()
        self._threads = weakref.WeakKeyDictionary()
        lane = Lane("thread")
        lane.frontier = list(before.frontier)
        self._threads[threading.current_thread()] = lane
        task = _running_task()
        if task is not None:
            self._tasks[task] = lane
        _current.set(lane)

    def of_task(self, task: Any) -> Lane:
        """The lane of a task."""
        lane = self._tasks.get(task)
        if lane is None:
            lane = self._tasks[task] = Lane("task", task, _current.get() or self._of_thread())
        return lane

    def of_thread(self, thread: Any, maker: Lane) -> None:
        """Note that `maker` started a thread."""
        self._threads[thread] = Lane("thread", thread, maker)

    def current(self) -> Lane:
        """The lane of the code that runs now."""
        task = _running_task()
        if task is not None:
            return self.of_task(task)
        lane = _current.get()
        thread = threading.current_thread()
        if lane is None or lane is self._threads.get(thread):
            return self._of_thread()
        if thread is threading.main_thread() and asyncio._get_running_loop() is None:
            return self._of_thread()
        if lane.kind != "call" or lane.thread != threading.get_ident():
            # A context from elsewhere: a call handed to this thread, or a callback of the event loop.
            lane = Lane("call", None, lane)
            _current.set(lane)
        return lane

    def happened(self, lane: Lane, name: str) -> List[str]:
        """Note that `name` is the lane's newest event and give what it directly follows."""
        lane.join()
        lane.go_on()
        after = lane.frontier
        lane.frontier = [name]
        lane.last = name
        return after

    def follow(self, task: Any) -> None:
        """What happens next in the current lane comes after what `task` has done so far."""
        followed = self.of_task(task)
        followed.join()
        if followed.last is None:
            return
        lane = self.current()
        lane.join()
        lane.frontier += [name for name in followed.frontier if name not in lane.frontier]

    def name(self, lane: Lane) -> str:
        """The lane's name, given at its first event."""
        if lane.name is None:
            self._count += 1
            lane.name = "{}:{}".format(self._process, self._count)
        return lane.name

    def _of_thread(self) -> Lane:
        thread = threading.current_thread()
        lane = self._threads.get(thread)
        if lane is None:
            lane = self._threads[thread] = Lane("thread")
        return lane

    def _of_new_task(self) -> Optional[Lane]:
        with Held():
            try:
                return Lane("task", None, self.current())
            except Exception as error:
                patching.fault("lanes", error)
                return None

    def make_task(self, original: Any, loop: Any, coroutine: Any, options: Dict[str, Any]) -> Any:
        """Create a task with its lane: the context that it copies names the lane."""
        lane = self._of_new_task()
        if lane is None:
            return original(loop, coroutine, **options)
        context = options.get("context")
        token = None
        if context is None:
            token = _current.set(lane)
        else:
            context.run(_current.set, lane)
        try:
            task = original(loop, coroutine, **options)
        finally:
            if token is not None:
                _current.reset(token)
        try:
            lane.owner = weakref.ref(task)
            self._tasks[task] = lane
        except TypeError:
            lane.kind = "call"  # a task of a kind that cannot be referred to weakly
        return task


def _running_task() -> Any:
    if asyncio._get_running_loop() is None:
        return None
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def install(lanes: Lanes) -> None:
    """Tell `lanes` of each task and thread when it is made."""

    def make(original: Any) -> Any:
        def create_task(self: Any, coro: Any, **options: Any) -> Any:
            try:
                return lanes.make_task(original, self, coro, options)
            except BaseException as raised:
                hide(raised)
                raise

        return create_task

    patch(asyncio.base_events.BaseEventLoop, "create_task", make)

    def watch(event: str, arguments: Tuple[Any, ...]) -> None:
        if event in ("_thread.start_new_thread", "_thread.start_joinable_thread"):
            with Held():
                try:
                    thread = getattr(arguments[0], "__self__", None)
                    if isinstance(thread, threading.Thread):
                        lanes.of_thread(thread, lanes.current())
                except Exception as error:
                    patching.fault("lanes", error)

    sys.addaudithook(watch)

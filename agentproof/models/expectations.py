"""What a reporter says should have happened: options of `record`, or keys of the script's header.

Rules:
1. Each has a text. A text that is to be printed stands on one line; an exception is named by its class, with
   or without its module; a tool by its name, with `=N` for how often.
2. Two of them MUST NOT contradict: a text that is to be printed holds none that is not to be, nothing is to
   be raised where something is, a tool runs in one way.
3. There are no patterns: a bundle's regular expression would be a stranger's program in every check.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from ..errors import UsageError
from .wire import MAX_TEXT, Count, ListOf, Text, Wire, exactly

NAMES: Final = (
    "should",
    "should-print",
    "should-not-print",
    "should-raise",
    "should-not-raise",
    "should-run",
    "should-not-run",
    "should-output",
)
"""The keys under `[tool.agentproof]`; with two dashes before them, the options."""

_CLASS = re.compile(r"[^\W\d]\w*(?:[.:][^\W\d]\w*)*")
_COUNTED = re.compile(r"(?P<tool>.+)=(?P<times>[0-9]{1,9})", re.DOTALL)


class ToolExpectation(Wire):
    """How often a tool should run."""

    tool: Text
    times: Count | None = None
    """Absent: at least once."""


class Expectations(Wire):
    """Everything that one reproduction expects; in the order in which it was said."""

    should: Text | None = None
    """What should happen, in a sentence for people; stated, and judged by nothing."""
    should_print: ListOf[Text] = ()
    """Some line of stdout contains it."""
    should_not_print: ListOf[Text] = ()
    """No line of stdout contains it."""
    should_raise: ListOf[Text] = ()
    """An exception of this class ends the script or one of its runs, caught or not."""
    should_not_raise: Annotated[Literal[True], exactly(bool)] | None = None
    """No exception does."""
    should_run: ListOf[ToolExpectation] = ()
    should_not_run: ListOf[Text] = ()
    should_output: ListOf[Text] = ()
    """The last run's final output contains it."""

    @property
    def judged(self) -> bool:
        """Whether there is one that is judged."""
        return bool(self.to_judged())

    def to_judged(self) -> dict[str, Any]:  # Any: a JSON document
        """Those that are judged, as plain data: a part of the evidence."""
        return {name: part for name, part in self.to_shape().items() if name != "should"}

    def __bool__(self) -> bool:
        return bool(self.to_shape())


NOTHING: Final = Expectations()


@dataclass(frozen=True)
class Given:
    """Expectations as somebody wrote them, and how errors call each of them."""

    texts: Mapping[str, object] = field(default_factory=dict)
    """By their names in `NAMES`: a text, a list of texts, or True."""
    prefix: str = "--"

    def read(self) -> Expectations:
        """Understand them.

        Raises:
            UsageError: one is empty, of another type, or contradicts another one.
        """
        shape: dict[str, Any] = {}  # Any: a wire shape
        for name, value in self.texts.items():
            where = f"{self.prefix}{name}"
            key = name.replace("-", "_")
            if name == "should-not-raise":
                if value is not True:
                    raise UsageError(f"{where} takes no text", hint=f"{where} alone: true in a header")
                shape[key] = True
            elif name == "should":
                shape[key] = _text(value, where)
            else:
                texts = [
                    _text(each, where) for each in (value if isinstance(value, list | tuple) else [value])
                ]
                shape[key] = [_READ.get(name, _as_it_is)(text, where) for text in dict.fromkeys(texts)]
        never = [each["tool"] for each in shape.get("should_run", ()) if each.get("times") == 0]
        if never:
            # `=0` says the same as `--should-not-run`.
            shape["should_run"] = [each for each in shape["should_run"] if each.get("times") != 0]
            shape["should_not_run"] = [*dict.fromkeys([*shape.get("should_not_run", ()), *never])]
        found = Expectations.from_shape({key: part for key, part in shape.items() if part not in ([], None)})
        check_consistent(found)
        return found


def combine(first: Expectations, second: Expectations) -> Expectations:
    """Both together, those of `first` before those of `second`; the sentence is the second one's, if it has
    one.

    Raises:
        UsageError: they contradict.
    """
    mine, theirs = first.to_shape(), second.to_shape()
    shape = {**mine, **theirs}
    for name in mine.keys() & theirs.keys():
        if isinstance(mine[name], list):
            shape[name] = [*mine[name], *(each for each in theirs[name] if each not in mine[name])]
    found = Expectations.from_shape(shape)
    check_consistent(found)
    return found


def includes(whole: Expectations, part: Expectations) -> bool:
    """Whether all that `part` judges is judged by `whole` too."""
    mine, theirs = whole.to_judged(), part.to_judged()
    return all(
        name in mine and (all(each in mine[name] for each in value) if isinstance(value, list) else True)
        for name, value in theirs.items()
    )


def check_consistent(expectations: Expectations) -> None:
    """Refuse what cannot be.

    Raises:
        UsageError: two contradict; both are named.
    """
    for wanted in expectations.should_print:
        for unwanted in expectations.should_not_print:
            if unwanted in wanted:
                _refuse(f"should-print {wanted!r}", f"should-not-print {unwanted!r}")
    if expectations.should_raise and expectations.should_not_raise:
        _refuse(f"should-raise {expectations.should_raise[0]}", "should-not-raise")
    times: dict[str, int | None] = {}
    for each in expectations.should_run:
        if each.tool in expectations.should_not_run:
            _refuse(_run_words(each.tool, each.times), f"should-not-run {each.tool}")
        before = times.setdefault(each.tool, each.times)
        if None not in (before, each.times) and before != each.times:
            _refuse(_run_words(each.tool, before), _run_words(each.tool, each.times))


def _run_words(tool: str, times: int | None) -> str:
    return f"should-run {tool}" + (f"={times}" if times is not None else "")


def _refuse(one: str, other: str) -> None:
    raise UsageError(f"{one} and {other} contradict", hint="leave one of them out")


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{where}: a {type(value).__name__} is no text")
    if not value.strip():
        raise UsageError(
            f"{where} {value!r}: it is empty", hint="say what should have happened, in its words"
        )
    if len(value) > MAX_TEXT:
        raise UsageError(f"{where}: longer than {MAX_TEXT} characters", hint="a part of it is enough")
    return value


def _line(text: str, where: str) -> str:
    if "\n" in text or "\r" in text:
        raise UsageError(
            f"{where} {text!r}: lines are looked at one by one, and it has a line break",
            hint=f"give {where} once for each line",
        )
    return text


def _class(text: str, where: str) -> str:
    if not _CLASS.fullmatch(text):
        raise UsageError(f"{where} {text!r}: no name of a class", hint="such as MaxTurnsExceeded")
    return text


def _counted(text: str, where: str) -> dict[str, object]:
    found = _COUNTED.fullmatch(text)
    return {"tool": found["tool"], "times": int(found["times"])} if found else {"tool": text}


def _as_it_is(text: str, where: str) -> str:
    return text


_READ: Mapping[str, Any] = {  # Any: functions of a text, each to a shape of its own
    "should-print": _line,
    "should-not-print": _line,
    "should-raise": _class,
    "should-run": _counted,
}


def to_options(expectations: Expectations) -> list[str]:
    """The options of a command line that say the same."""
    found: list[str] = []
    for name, value in expectations.to_shape().items():
        option = f"--{name.replace('_', '-')}"
        for each in value if isinstance(value, list | tuple) else [value]:
            if each is True:
                found.append(option)
            elif isinstance(each, dict):
                times = f"={each['times']}" if "times" in each else ""
                found += [option, f"{each['tool']}{times}"]
            else:
                found += [option, each]
    return found


def from_options(options: Iterable[tuple[str, object]]) -> Expectations:
    """What the command line gives, under the names of `NAMES`; what was not given is left out.

    Raises:
        UsageError: as `Given.read`.
    """
    return Given({name: value for name, value in options if value not in (None, (), False)}).read()


__all__ = [
    "NAMES",
    "NOTHING",
    "Expectations",
    "Given",
    "ToolExpectation",
    "combine",
    "from_options",
    "check_consistent",
    "includes",
]

"""A script that talks to a provider: asked once, then answered from what was recorded, for ever.

1. One run, as written, may ask the hosts that were named (`--live`), through `live.capture`: the script has
   a placeholder, the key stays on this side.
2. What was asked and answered is a member of the bundle (`exchanges.json`). Every run that is kept is
   answered from it (`live.sealed`), each by its own copy, and so is every replay: nobody is asked again.
3. What each request got, and how it differs from what was recorded, is in the manifest (`provider`).
"""

import ipaddress
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from ..environment.venv import PreparedEnvironment
from ..errors import CannotDoError, UsageError
from ..isolation import runner
from ..isolation.levels import WAY_TO_NAMESPACES, Choice
from ..isolation.supervision import Limits
from ..live.keys import find_key
from ..live.providers import Endpoint, parse
from ..models.diff import Absent
from ..models.exchanges import Exchanges
from ..models.manifest import Answered, AskedOtherwise, Provider, ProviderHost, Target
from ..models.trace import Mode
from ..models.values import Value, from_state
from ..models.wire import bounded, compact
from ..sdk import KNOWN
from .progress import Progress
from .reproduction import Reproduction
from .secrets import Redactor
from .variables import Variables, check_unwritten

if TYPE_CHECKING:
    # What asks and what answers bring asyncio and TLS, and are there only where there is a provider.
    from ..live.capture import Summary
    from ..live.sealed import Row

MAX_REQUESTS: Final = 100
_MOST_REFUSED: Final = 5
_LARGE: Final = 200
"""Letters of a side of a difference, as JSON."""
_UNAUTHORIZED: Final = 401


@dataclass(frozen=True)
class Live:
    """Whom a script may ask."""

    endpoints: tuple[Endpoint, ...]
    keys: Mapping[str, str] = field(repr=False)
    """The keys, by the variable that each comes from."""
    to: Mapping[str, str] = field(default_factory=dict)
    """Loopback addresses that are asked instead of a host."""
    max_requests: int = MAX_REQUESTS


def parse_live(
    options: Sequence[str],
    *,
    to: Sequence[str],
    max_requests: int,
    environment: Mapping[str, str],
) -> Live | None:
    """Understand `--live [HOST[:PORT][/PATH][=ENV]]`, each, and `--live-to HOST=http://127.0.0.1:PORT`; None
    where neither was given.

    Raises:
        UsageError: one makes no sense, or the environment does not have a key.
    """
    instead = dict(map(_address, to))
    endpoints = [parse(each) for each in options]
    named = {each.host for each in endpoints}
    endpoints += [parse(host) for host in instead if host not in named]
    if not endpoints:
        return None
    keys: dict[str, str] = {}
    for each in endpoints:
        if each.variable is None or each.variable in keys:
            continue
        if value := environment.get(each.variable, ""):
            keys[each.variable] = value
        elif each.host not in instead:
            raise UsageError(
                f"--live {each.host}: {each.variable} is not set in your environment",
                hint=f"{each.variable}=… agentproof record … --live, or --live {each.host}=NAME where "
                "another variable has the key",
            )
    return Live(tuple(endpoints), keys, instead, max_requests)


def _address(text: str) -> tuple[str, str]:
    host, equals, address = text.partition("=")
    parts = urlsplit(address)
    try:
        port, name = parts.port, parts.hostname or ""
        is_near = name == "localhost" or ipaddress.ip_address(name).is_loopback
    except ValueError:
        port, is_near = None, False
    plain = parts.scheme == "http" and parts.path in ("", "/") and not parts.query and parts.username is None
    if not (equals and host and port and is_near and plain):
        raise UsageError(
            f"--live-to {text}: not HOST=http://127.0.0.1:PORT",
            hint="plain HTTP to loopback alone: a server of a test's, or a gateway on this machine",
        )
    return host, f"http://{parts.netloc}"


def check_isolated(choice: Choice) -> None:
    """Refuse levels at which names cannot lead to us.

    Raises:
        CannotDoError: it is not `namespace`.
    """
    if choice.level != "namespace":
        raise CannotDoError(
            f"a provider's answers need isolation level namespace, and this machine has {choice.level}",
            hint=f"`agentproof doctor` says why; {WAY_TO_NAMESPACES}",
        )


def ask(
    environment: PreparedEnvironment,
    reproduction: Reproduction,
    live: Live,
    *,
    target: Target,
    isolation: Choice,
    limits: Limits,
    variables: Variables,
    redact: Redactor | None,
    progress: Progress,
) -> Reproduction:
    """Run the script once, as written, with the provider; the same with what was answered.

    It is the same as it was where the script asked for nothing.

    Raises:
        CannotDoError: nothing was answered that could be evidence, or more was asked than allowed.
        UsageError: a key stands in the script.
    """
    _check_keys(live, reproduction)
    for line in _warning(live):
        progress.done("live", line)
    from ..live.capture import Capture  # noqa: PLC0415

    capture = Capture(live.endpoints, live.keys, live.to, max_requests=live.max_requests)
    progress.working("running the script with the provider")
    runner.run_recordings(
        environment,
        reproduction,
        sdk=KNOWN[target.name],
        isolation=isolation,
        limits=limits,
        repeats=1,
        modes=("as-written",),
        variables=variables.values,
        progress=progress.working,
        provider=runner.Provider(live.endpoints, lambda _: capture),
    )
    exchanges = capture.exchanges().model_copy(update={"target": target.sha256})
    summary = capture.summary()
    for refusal in summary.refused[:_MOST_REFUSED]:
        progress.done("refused", f"{refusal.method} {refusal.host}{refusal.path}: {refusal.reason}")
    _check_answers(exchanges, live, summary)
    if not exchanges.exchanges:
        progress.done("live", f"the script asked nothing of {_hosts(live.endpoints)}")
        return reproduction
    progress.done("answered", f"{_told(summary)}; 0 keys kept")
    if redact is not None:
        exchanges = exchanges.changed(redact)
    return replace(reproduction, exchanges=exchanges)


def _check_keys(live: Live, reproduction: Reproduction) -> None:
    try:
        check_unwritten(Variables(live.keys), reproduction.files, reproduction.arguments)
    except UsageError as error:
        raise UsageError(
            error.message.replace("--env", "--live"), hint="take it out there; the script reads the variable"
        ) from error


def _warning(live: Live) -> Iterator[str]:
    for host in dict.fromkeys(each.host for each in live.endpoints):
        variables = dict.fromkeys(each.variable for each in live.endpoints if each.host == host)
        with_keys = [f"your {name}" for name in variables if name in live.keys]
        key = f" with {' and '.join(with_keys)}, which stays outside the sandbox" if with_keys else ""
        there = f" at {live.to[host]}, which is not the provider," if host in live.to else ""
        yield f"asks {host}{there}{key}"
    if set(live.keys) and not {each.host for each in live.endpoints} <= live.to.keys():
        yield f"this can cost you money: at most {live.max_requests} requests go out (--max-requests)"
    yield "the prompts and the answers go into the bundle"


def _hosts(endpoints: Iterable[Endpoint]) -> str:
    return ", ".join(dict.fromkeys(each.host for each in endpoints))


def _told(summary: "Summary") -> str:
    count = f"{summary.requests} request{'' if summary.requests == 1 else 's'}"
    what = [*summary.models, *([f"{summary.streamed} streamed"] if summary.streamed else [])]
    tokens = f"; {summary.tokens:,} tokens" if summary.tokens is not None else ""
    of = f" ({'; '.join(what)})" if what else ""
    return f"{count}{of} in {summary.seconds:.1f} s{tokens}"


def _check_answers(exchanges: Exchanges, live: Live, summary: "Summary") -> None:
    if any("--max-requests" in refusal.reason for refusal in summary.refused):
        raise CannotDoError(
            f"--max-requests {live.max_requests}: the script asked for more; nothing was recorded",
            hint=f"--max-requests {2 * live.max_requests}, if it really takes that many",
        )
    if (name := find_key(exchanges.to_bytes(), live.keys)) is not None:
        raise CannotDoError(
            f"the key in {name} stands in what was answered, so nothing was written",
            hint="see what the script sends, and where it takes the key from",
        )
    for endpoint in live.endpoints:
        ways = [each.answer for each in exchanges.exchanges if each.host == endpoint.name]
        if not ways:
            continue
        if all(each.end == "unreachable" for each in ways):
            where = live.to.get(endpoint.host, endpoint.name)
            raise CannotDoError(
                f"{where} cannot be reached from here; nothing was recorded",
                hint="see that it answers, then again",
            )
        if all(each.status == _UNAUTHORIZED for each in ways):
            name = endpoint.variable or "no key"
            raise CannotDoError(
                f"{endpoint.name} refused {name} ({ways[0].status}); nothing was recorded",
                hint=f"see that {name} holds a key of {endpoint.name} that is valid",
            )


def sealed(exchanges: Exchanges | None, *, mask: Callable[[str], str] | None) -> runner.Provider | None:
    """Who answers from what was recorded; `mask` is what was done to it before it was kept."""
    if exchanges is None:
        return None
    from ..live.sealed import Sealed  # noqa: PLC0415

    endpoints = tuple(
        Endpoint(host=each.name, port=each.port, variable=each.variable, paths=each.paths)
        for each in exchanges.hosts
    )
    return runner.Provider(endpoints, lambda mode: Sealed(exchanges, streamed=mode == "streamed", mask=mask))


def provider_of(exchanges: Exchanges | None, run: runner.Observation) -> Provider | None:
    """What the manifest says of it."""
    if exchanges is None:
        return None
    from ..live.sealed import Sealed  # noqa: PLC0415

    rows: dict[tuple[Any, ...], Answered] = {}  # Any: what sorts them
    used: set[int] = set()
    for repeat in run.answered:
        for mode, answering in repeat.items():
            if not isinstance(answering, Sealed):
                raise TypeError("a recording that is kept is answered from what was recorded")
            for row in answering.outcome().rows:
                used |= {row.exchange} if row.exchange is not None else set()
                made = _answered(mode, row)
                if made.by != "exact" or made.synthesised:
                    rows.setdefault(_place(made), made)
    return Provider(
        hosts=tuple(ProviderHost(host=each.name, port=each.port, to=each.to) for each in exchanges.hosts),
        recorded=exchanges.recorded,
        target=exchanges.target or "",
        requests=len(exchanges.exchanges),
        request_ids=tuple(exchanges.request_ids()),
        answers=tuple(rows[key] for key in sorted(rows)),
        unused=tuple(sorted(set(range(len(exchanges.exchanges))) - used)),
    )


def _place(row: Answered) -> tuple[str, int, str, tuple[str, ...]]:
    place = -1 if row.exchange is None else row.exchange
    return row.mode, place, row.by, tuple(each.pointer for each in row.differences)


def _answered(mode: Mode, row: "Row") -> Answered:
    return Answered(
        mode=mode,
        exchange=row.exchange,
        by=row.level,
        synthesised=row.synthesised or None,
        differences=tuple(
            AskedOtherwise(
                pointer=bounded(each.pointer), recorded=_part(each.before), asked=_part(each.after)
            )
            # What is the same but for ids has other ids every time.
            for each in (row.changes if row.level != "same" else ())
        ),
    )


def _part(side: Any) -> Value | None:  # Any: JSON
    """A side of a difference as a value; a large one as the beginning of its JSON."""
    if isinstance(side, Absent) or side is None:
        return None
    value = from_state(side)
    text = compact(value).decode()
    return value if len(text) <= _LARGE else f"{text[:_LARGE]}…"

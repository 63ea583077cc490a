"""The partial order of a trace."""

from hypothesis import given, settings
from hypothesis import strategies as st

from agentproof.claims.trace.order import Order
from agentproof.models.events import Event, TraceEnded
from tests.claims.builder import Script, evidence


def _event(seq: int, after: tuple[int, ...] | None) -> Event:
    return TraceEnded(kind="trace.ended", seq=seq, after=after, trace="W1")


def test_events_of_one_lane_are_ordered() -> None:
    script = Script()
    first = script.run()
    script.end(first)
    view = evidence(script.exit()).view
    assert view.happens_before(view.event(1), view.event(3))
    assert not view.happens_before(view.event(3), view.event(1))
    assert not view.happens_before(view.event(3), view.event(3))


def test_two_lanes_are_parallel_until_they_are_joined() -> None:
    script = Script()
    with script.lane() as one:
        run = script.run()
        script.end(run)
    with script.lane() as other:
        run = script.run()
        script.end(run)
    script.join(one, other)
    view = evidence(script.exit()).view
    first, second, last = view.event(one[0]), view.event(other[0]), view.event(len(view.events))
    assert not view.happens_before(first, second)
    assert not view.happens_before(second, first)
    assert view.happens_before(first, last)
    assert view.happens_before(second, last)


def test_what_nobody_waited_for_comes_before_nothing() -> None:
    script = Script()
    with script.lane() as background:
        script.run()
    view = evidence(script.exit()).view
    assert not view.happens_before(view.event(background[0]), view.event(len(view.events)))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_happens_before_is_reachability_over_after(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 14))
    events = []
    reach: dict[int, set[int]] = {}
    for seq in range(1, size + 1):
        after = data.draw(st.none() | st.sets(st.integers(1, seq - 1), max_size=3) if seq > 1 else st.none())
        edges = ({seq - 1} if seq > 1 else set()) if after is None else after
        events.append(_event(seq, None if after is None else tuple(sorted(after))))
        reach[seq] = set(edges).union(*(reach[one] for one in edges))
    order = Order(events)
    for first in events:
        for second in events:
            assert order.happens_before(first, second) == (first.seq in reach[second.seq])
    chosen = data.draw(st.lists(st.sampled_from(events), min_size=1))
    before_any, before_all = order.before_any(chosen), order.before_all(chosen)
    for event in events:
        assert before_any(event) == any(order.happens_before(event, one) for one in chosen)
        assert before_all(event) == all(order.happens_before(event, one) for one in chosen)


def test_nothing_comes_before_any_or_all_of_no_events() -> None:
    order = Order([_event(1, None)])
    assert not order.before_any([])(_event(1, None))
    assert not order.before_all([])(_event(1, None))

"""What differs between repeats in nothing but what was printed has one spelling."""

import pytest

from agentproof.models.printed import settle


@pytest.mark.parametrize(
    ("one", "other", "settled"),
    [
        ("took 0.05s\n", "took 0.06s\n", "took <varies>\n"),
        ("took 0.9s\n", "took 11.25s\n", "took <varies>\n"),
        ("5ms", "1.2s", "<varies>"),
        (
            "2026-12-01 00:12:32,123 INFO go",
            "2026-12-01 00:12:32,541 INFO go",
            "<varies> INFO go",
        ),
        ("at 2026-12-01T00:12:32.1Z", "at 2026-12-01T00:12:33.0Z", "at <varies>"),
        ("[12:03:04] x", "[12:03:05] x", "[<varies>] x"),
        ("pid 123, done 3", "pid 4567, done 3", "pid <varies>, done 3"),
        ("in /x/tmpabcdefgh", "in /x/tmpzzzzyyyy", "in /x/<varies>"),
        ("id 3fa9c1", "id b7c001", "id <varies>"),
        ("1e-05 s", "2.5e-05 s", "<varies> s"),
        ("went left", "went right", "<varies>"),
        ("-1", "1", "<varies>"),
        ("a\nb 1\nc", "a\nb 2\nc", "a\nb <varies>\nc"),
        ("a\nb 1\nx\nc", "a\nb 2\nc", "a\nb <varies>\n<varies>\nc"),
        ("a\n", "a\n", "a\n"),
    ],
)
def test_what_varies_is_a_placeholder(one: str, other: str, settled: str) -> None:
    assert settle([one, other]) == settled
    assert settle([other, one]) == settled


def test_two_recordings_of_one_behaviour_are_the_same_bytes() -> None:
    first = settle(["0.051s for 3 calls, pid 9", "0.049s for 3 calls, pid 10"])
    second = settle(["1.2s for 3 calls, pid 811", "0.98s for 3 calls, pid 7"])
    assert first == second == "<varies> for 3 calls, pid <varies>"


def test_any_number_of_repeats_is_settled_at_once() -> None:
    assert settle(["t 1", "t 2", "t 1"]) == "t <varies>"

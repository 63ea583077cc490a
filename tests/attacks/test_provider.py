"""A bundle with a provider's answers: what binds them, and what a verdict makes of how they were given."""

from collections.abc import Callable
from typing import Any

import pytest

from agentproof.bundle.store import Bundle
from agentproof.check.bundle import CheckedBundle, Reader, check_bundle
from agentproof.limits import MAX_EXCHANGES_BYTES
from agentproof.models.exchanges import EXCHANGES
from agentproof.models.manifest import Provider
from agentproof.models.wire import encode
from tests import forge


def check(bundle: Bundle) -> CheckedBundle:
    return check_bundle(bundle, reader=Reader(trust=forge.trust_in(forge.REPORTER), sources=forge.sources()))


def failed(checked: CheckedBundle) -> str:
    return next(f"{each.reason}: {each.detail}" for each in checked.report.checks if each.status == "failed")


def judged(checked: CheckedBundle) -> tuple[str, tuple[str, ...]]:
    assert checked.judgement is not None
    return checked.judgement.verdict, checked.judgement.reasons


def test_a_provider_s_answers_are_a_member_like_any_other() -> None:
    checked = check(forge.draft_of_live().seal())
    assert checked.status == "CURRENT"
    assert judged(checked) == ("violated", ())
    model = next(line for line in checked.report.stated if line.startswith("model: "))
    assert model == (
        "model: recorded from api.openai.com on 2026-11-30: 2 requests, request ids req_0, req_1; "
        "the provider's answers are the signer's word"
    )


def test_answers_of_another_server_are_never_the_provider_s() -> None:
    checked = check(forge.draft_of_live(to="http://127.0.0.1:4010").seal())
    model = next(line for line in checked.report.stated if line.startswith("model: "))
    assert (
        "answered by http://127.0.0.1:4010 in the place of api.openai.com (not the provider); the answers"
        in model
    )
    assert "recorded from api.openai.com" not in model


def _a_byte(made: forge.Draft) -> None:
    made.extra[EXCHANGES] = made.extra[EXCHANGES].replace(b"Hello.", b"Hallo.", 1)


def _another_s(made: forge.Draft) -> None:
    other = forge.exchanges(forge.exchange(0, text="Yes."), forge.exchange(1, text="No."))
    made.extra[EXCHANGES] = encode(other)


def _cut_off(made: forge.Draft) -> None:
    made.extra[EXCHANGES] = made.extra[EXCHANGES][:-100]


def _too_large(made: forge.Draft) -> None:
    other = forge.exchanges(forge.exchange(0, text="x" * MAX_EXCHANGES_BYTES), forge.exchange(1))
    made.extra[EXCHANGES] = encode(other)


def _one_less(made: forge.Draft) -> None:
    made.extra[EXCHANGES] = encode(forge.exchanges(forge.exchange(0)))


def _not_there(made: forge.Draft) -> None:
    del made.extra[EXCHANGES]


def _nobody_s(made: forge.Draft) -> None:
    del made.manifest["provider"]


def _said(**changed: Any) -> Callable[[forge.Draft], None]:  # Any: parts of a provider's shape
    def change(made: forge.Draft) -> None:
        made.manifest["provider"].update(changed)

    return change


@pytest.mark.parametrize(
    ("forged", "reason"),
    [
        (_a_byte, "other_evidence"),
        (_another_s, "other_evidence"),
        (_cut_off, "not_canonical|malformed|not JSON|bad_json"),
        (_too_large, "too_large"),
        (_one_less, "malformed"),
        (_not_there, "missing"),
        (_nobody_s, "unlisted"),
        (_said(hosts=[{"host": "api.anthropic.com", "port": 443}]), "hosts"),
        (_said(hosts=[{"host": "api.openai.com", "port": 443, "to": "http://127.0.0.1:1"}]), "hosts"),
        (_said(recorded="2026-11-29T12:00:00Z"), "recorded"),
        (_said(target="00" * 32), "target"),
        (_said(requests=3), "requests"),
        (_said(request_ids=["req_0"]), "request_ids"),
        (_said(unused=[2]), "names what is not in"),
        (_said(answers=[{"mode": "as-written", "by": "exact", "exchange": 2}]), "names what is not in"),
        (_said(answers=[{"mode": "as-written", "by": "same"}]), "an exchange without an answer"),
        (_said(answers=[{"mode": "as-written", "by": "refused", "exchange": 0}]), "without an answer"),
    ],
)
def test_what_was_answered_is_bound(forged: Callable[[forge.Draft], None], reason: str) -> None:
    made = forge.draft_of_live()
    forged(made)
    checked = check(made.seal())
    assert checked.status == "INVALID"
    assert any(each in failed(checked) for each in reason.split("|")), failed(checked)


def test_times_and_request_ids_are_no_evidence() -> None:
    one, other = forge.draft_of_live(), forge.draft_of_live()
    document = forge.exchanges(forge.exchange(0), forge.exchange(1))
    document["recorded"] = other.manifest["provider"]["recorded"] = "2027-01-01T00:00:00Z"
    for place, each in enumerate(document["exchanges"]):
        each["answer"]["headers"]["x-request-id"] = f"other_{place}"
        each["answer"]["chunks"][0][0] = 9
    other.manifest["provider"]["request_ids"] = ["other_0", "other_1"]
    other.extra[EXCHANGES] = encode(document)
    other.reidentified()
    assert one.manifest["evidence_id"] == other.manifest["evidence_id"]
    assert check(other.seal()).status == "CURRENT"


ASKED = {"mode": "as-written", "exchange": 0}


@pytest.mark.parametrize(
    ("answer", "here", "elsewhere"),
    [
        ({**ASKED, "by": "same"}, ("violated", ()), ("violated", ())),
        ({**ASKED, "by": "question"}, ("inconclusive", ("asked_differently",)), ("violated", ())),
        ({**ASKED, "by": "items"}, ("inconclusive", ("asked_differently",)), ("violated", ())),
        ({**ASKED, "by": "shape"}, ("inconclusive", ("asked_differently",)), ("violated", ())),
        ({"mode": "as-written", "by": "refused"}, ("inconclusive", ("asked_differently",)), ("violated", ())),
    ],
)
def test_what_shows_a_violation_shows_it_elsewhere_too(
    answer: forge.Shape, here: tuple[str, tuple[str, ...]], elsewhere: tuple[str, tuple[str, ...]]
) -> None:
    assert judged(check(forge.draft_of_live(answer).seal())) == here
    assert judged(check(forge.draft_of_live(answer, target="12" * 32).seal())) == elsewhere


@pytest.mark.parametrize(
    ("by", "reasons"),
    [
        ("question", ()),
        ("items", ()),
        ("shape", ("answered_another_question",)),
        ("refused", ("left_the_recording",)),
    ],
)
def test_nothing_holds_by_the_answer_to_another_question(by: str, reasons: tuple[str, ...]) -> None:
    answer = {"mode": "as-written", "by": by, **({} if by == "refused" else {"exchange": 0})}
    made = forge.draft_of_live(answer, target="12" * 32)
    made.traces, made.states = (held := forge.draft(holds=True)).traces, held.states
    made.judged()
    expected = "inconclusive" if reasons else "holds"
    assert judged(check(made.seal())) == (expected, reasons)


def test_claims_that_compare_the_modes_say_nothing_of_a_stream_that_we_made() -> None:
    answer = {"mode": "streamed", "exchange": 0, "by": "exact", "synthesised": True}
    checked = check(forge.draft_of_live(answer).seal())
    assert judged(checked) == ("violated", ())  # as written it is too
    assert checked.judgement is not None
    both = {claim.status for claim in checked.judgement.claims if claim.mode == "both"}
    assert both == {"not_observed"}


def test_what_was_asked_otherwise_is_told_once() -> None:
    row = {
        "by": "question",
        "exchange": 0,
        "differences": [{"pointer": "/model", "recorded": "gpt-5", "asked": "gpt-4.1"}],
    }
    shape = forge.draft_of_live(
        *({"mode": mode, **row} for mode in ("as-written", "streamed")), {"mode": "streamed", "by": "refused"}
    ).manifest["provider"]
    assert list(Provider.from_shape(shape).asked_otherwise()) == [
        'request 1: model "gpt-5" \N{RIGHTWARDS ARROW} "gpt-4.1"',
        "a request that was not recorded: no answer was given",
    ]

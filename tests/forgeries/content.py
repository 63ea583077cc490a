"""Forged contents: traces, states, the conclusion, members."""

from collections.abc import Callable
from dataclasses import replace

from agentproof.claims import AUTHORED
from agentproof.models.wire import encode
from tests import forge
from tests.forge import Draft, Shape
from tests.forgeries._tools import (
    OTHER,
    Forger,
    Forgery,
    assign,
    claims,
    drop,
    event,
    events,
    member,
    members,
    on_bundle,
)


def _swap_traces(draft: Draft) -> None:
    draft.traces["as-written"], draft.traces["streamed"] = (
        draft.traces["streamed"],
        draft.traces["as-written"],
    )


def _other_state(draft: Draft) -> None:
    digest = next(iter(draft.states))
    draft.states[digest] = draft.states[digest].replace(b"Pay 100.", b"Pay 999.")


def _extra_state(draft: Draft) -> None:
    data = encode({"spare": True})
    draft.states[forge.sha256(data)] = data


def _missing_state(draft: Draft) -> None:
    del draft.states[next(iter(draft.states))]


def _traces_of_another_run(draft: Draft) -> None:
    other = forge.draft(holds=True)
    draft.traces, draft.states = other.traces, other.states


def _traces_of_another_run_rejudged(draft: Draft) -> None:
    judgement = draft.manifest["judgement"]
    _traces_of_another_run(draft)
    draft.judged()
    draft.manifest["judgement"] = judgement


def _one_mode_only(draft: Draft) -> None:
    del draft.traces["streamed"]
    draft.manifest["recordings"] = draft.manifest["recordings"][:1]
    draft.judged()


def _flip_verdict(draft: Draft) -> None:
    judgement = draft.manifest["judgement"]
    judgement["verdict"] = "holds"
    for claim in judgement["claims"]:
        if claim["status"] == "violated":
            claim["status"] = "holds"
            claim.pop("because")


def _holds_by_leaving_out(draft: Draft) -> None:
    judgement = draft.manifest["judgement"]
    judgement["verdict"] = "holds"
    judgement["claims"] = [claim for claim in judgement["claims"] if claim["status"] != "violated"]


def _without_claims(draft: Draft) -> None:
    draft.manifest["judgement"] = {
        "claims": [],
        "reasons": ["nothing_observed"],
        "verdict": "inconclusive",
    }


def _holds_by(**stated: object) -> Forger:
    """What is violated is said to hold, by rules that the reader's tool does not have."""

    def hold(draft: Draft) -> None:
        judgement = draft.manifest["judgement"]
        judgement["verdict"] = "holds"
        for claim in judgement["claims"]:
            if claim["status"] == "violated":
                claim.pop("because")
                claim.update(stated, status="holds")
                if "kind" in stated:
                    claim["kind"] = claim["id"] = f"{claim['id']}-{stated['kind']}"

    return hold


def _of_an_old_version(make: Callable[[Draft], object]) -> Forger:
    def old(draft: Draft) -> None:
        make(draft)
        draft.manifest["recorder"]["agentproof"] = "0.0.1"

    return old


def _invented_claim(draft: Draft) -> None:
    draft.manifest["recorder"]["agentproof"] = "0.0.1"
    draft.manifest["judgement"]["claims"].append(
        {
            "id": "ours",
            "kind": "tool-runs",
            "version": AUTHORED["tool-runs"].VERSION,
            "mode": "as-written",
            "arguments": {"tool": "pay", "times": 1},
            "status": "holds",
            "sites": 1,
        }
    )


def _holding(claims: list[Shape]) -> Shape:
    return next(claim for claim in claims if claim["status"] == "holds")


def _without_the_tool(events: list[Shape]) -> None:
    events.remove(next(event for event in events if event["kind"] == "tool.started"))


def _finding(claims: list[Shape]) -> Shape:
    found: list[Shape] = [each for claim in claims for each in claim.get("because", ())]
    return next(each for each in found if "pointer" in each)


FORGERIES = [
    # Traces and states
    Forgery("traces of another run", _traces_of_another_run, "other_evidence"),
    Forgery(
        "traces of another run, evidence id recomputed, verdict kept",
        _traces_of_another_run_rejudged,
        "other_verdict",
    ),
    Forgery("modes exchanged", _swap_traces, "other_mode"),
    Forgery("one mode left out", _one_mode_only, None),
    Forgery(
        "the final output changed, ids recomputed", event("run.ended", 1, final_output="Not paid."), None
    ),
    Forgery("a tool run removed, ids recomputed", drop("tool.started"), None),
    Forgery(
        "a tool run removed, nothing recomputed",
        events(_without_the_tool, judged=False),
        "other_evidence",
    ),
    Forgery("the start of the script removed", drop("script.started"), "other_run"),
    Forgery(
        "the start of the script later", events(lambda events: events.insert(1, events.pop(0))), "other_run"
    ),
    Forgery(
        "the start of the script twice",
        events(lambda events: events.insert(0, dict(events[0]))),
        "other_run",
    ),
    Forgery(
        "events numbered with a hole",
        lambda draft: draft.traces["as-written"]["events"].pop(3),
        "malformed",
    ),
    Forgery(
        "an event of an unknown kind",
        events(lambda events: events.append({"kind": "evil"}), judged=False),
        "malformed",
    ),
    Forgery(
        "an event with an unknown field",
        events(lambda events: events[0].update(x=1), judged=False),
        "malformed",
    ),
    Forgery("what stdout said", event("script.wrote", text="PAID 0\n"), None),
    Forgery("a state's content under its old digest", _other_state, "other_bytes"),
    Forgery("a state that nobody refers to", _extra_state, "unlisted"),
    Forgery("a state left out", _missing_state, "missing"),
    # The conclusion
    Forgery("verdict changed", assign("judgement.verdict", "holds"), "other_verdict"),
    Forgery("verdict and claims changed", _flip_verdict, "other_verdict"),
    Forgery("violated claims removed", _holds_by_leaving_out, None),
    Forgery("violated claims removed by an old version", _of_an_old_version(_holds_by_leaving_out), None),
    Forgery("all claims removed", claims(list.clear), "other_verdict"),
    Forgery("all claims removed, and the verdict", _without_claims, None),
    Forgery("a claim that holds removed", claims(lambda claims: claims.remove(_holding(claims))), None),
    Forgery("claims in another order", claims(list.reverse), "other_claims"),
    Forgery("a claim twice", claims(lambda claims: claims.insert(0, claims[0])), "other_claims"),
    Forgery("a claim of another version", claims(lambda claims: claims[0].update(version=99)), None),
    Forgery("violated claims of a version to come", _holds_by(version=99), None),
    Forgery("violated claims of a version that never was", _holds_by(version=0), None),
    Forgery("violated claims of unknown kinds", _holds_by(kind="a"), None),
    Forgery(
        "a claim of another kind", claims(lambda claims: claims[0].update(kind="evil")), "malformed_claim"
    ),
    Forgery(
        "a claim's status",
        claims(lambda claims: _holding(claims).update(status="not_observed")),
        "other_claims",
    ),
    Forgery("a claim's sites", claims(lambda claims: _holding(claims).update(sites=99)), "other_claims"),
    Forgery(
        "a finding's pointer",
        claims(lambda claims: _finding(claims).update(pointer="/x")),
        "other_claims",
    ),
    Forgery("an authored claim that the header does not have", _invented_claim, "other_claims"),
    Forgery("reasons for no reason", assign("judgement.reasons", ["no_run"]), "other_claims"),
    Forgery("evidence id", assign("evidence_id", "0" * 64), "other_evidence"),
    # Members
    Forgery(
        "another schema",
        on_bundle(
            lambda bundle: replace(
                bundle, manifest=bundle.manifest.replace(b'"version": 0\n', b'"version": 1\n')
            )
        ),
        "unknown_version",
    ),
    Forgery("a member that the format does not know", member("notes.txt", b"x"), "unlisted"),
    Forgery("a trace that no recording names", member("traces/third.json", b"x"), "unlisted"),
    Forgery("a file that the manifest does not list", on_bundle(members(**{"evil.py": b"x"})), "unlisted"),
    Forgery("a member deleted", on_bundle(members(**{"traces/streamed.json": None})), "missing"),
    Forgery(
        "a member of another bundle",
        on_bundle(members(**{"traces/as-written.json": OTHER.members["traces/as-written.json"]})),
        "other_bytes",
    ),
    Forgery(
        "the manifest of another bundle",
        on_bundle(lambda bundle: replace(bundle, manifest=OTHER.manifest)),
        "other_bytes",
    ),
    Forgery(
        "the wheel of another bundle",
        on_bundle(members(**{f"wheels/{forge.WHEEL_NAME}": b"other"})),
        "other_bytes",
    ),
    Forgery("an attestation listed as a member", member("attestations/recorded-0.json", b"{}"), "unlisted"),
]

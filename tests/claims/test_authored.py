"""Authored claims: read from a header, judged, and refused when mistyped."""

import tomllib
from typing import Any

import pytest

from agentproof.claims import AUTHORED, explain, judge, read_claims
from agentproof.claims.authored import parse_arguments, value_at
from agentproof.errors import BundleError, FormatError, UsageError
from agentproof.models.manifest import ClaimResult, Judgement
from tests.claims.builder import Script, evidence, function_call, judged, message, state_json


def _judge(header: str, *scripts: Script) -> Judgement:
    tables = tomllib.loads(header)["claims"]
    authored = read_claims(tables, modes=[script.mode for script in scripts], path="r.py")
    asked = tuple(judge.ClaimRequest(c.id, c.kind, c.version, c.mode, c.arguments) for c in authored)
    return judged(*scripts, claims=asked)


def _claim(body: str, script: Script) -> ClaimResult:
    (result,) = _judge(f"[[claims]]\n{body}", script).claims
    return result


def _told(body: str, script: Script) -> list[str]:
    result = _claim(body, script)
    assert result.status == "violated"
    return [explain(result, finding) for finding in result.because]


@pytest.fixture
def script() -> Script:
    """Two top-level runs: `add` then `pay` in the first, nothing in the second, which raises."""
    script = Script()
    run = script.run()
    script.model(run, "go", function_call("c1", "add"))
    script.tool(run, "c1", "add", output="3")
    script.tool(run, "call_1", "pay")
    result = script.end(
        run,
        final_output="done 3",
        output_type="builtins:str",
        waits_for=["call_2"],
        items=[message("done 3")],
        input_list=[message("go", "user"), message("done 3")],
        session="D1",
        session_after=[message("go", "user")],
    )
    script.made(result, state_json(current_turn=2, ratio=0.5))
    script.add("probe.observed", label="seen", value={"n": [1, 2]})
    script.add("probe.checked", label="one approval", passed=True)
    script.add("probe.checked", label="no leak", passed=False)
    run = script.run()
    error = {"type": "agents.exceptions:MaxTurnsExceeded", "message": "", "bases": ["agents:AgentsException"]}
    script.end(run, "raised", error=error)
    return script.exit()


@pytest.mark.parametrize(
    "body",
    [
        'kind = "tool-runs"\ntool = "pay"\ntimes = 1',
        'kind = "tool-runs"\ntool = "pay"\ncall_id = "call_9"\ntimes = 0',
        'kind = "tool-runs"\ntool = "pay"\nrun = 2\nat_most = 0',
        'kind = "tool-runs"\ntool = "add"\nat_least = 1\nat_most = 3',
        'kind = "tool-order"\ntools = ["add", "pay"]',
        'kind = "run-ended"\noutcome = "raised"\nerror = "AgentsException"',
        'kind = "run-ended"\nrun = 1\noutcome = "interrupted"',
        'kind = "script-ended"\noutcome = "exited"',
        'kind = "final-output"\nrun = 1\nequals = "done 3"',
        'kind = "final-output"\nrun = 1\ncontains = "3"\ntype = "str"',
        'kind = "value-at"\nat = {state = 1, pointer = "/current_turn"}\nequals = 2',
        'kind = "value-at"\nat = {state = 1, pointer = "/ratio"}\nequals = 0.5',
        'kind = "value-at"\nat = {state = 1, pointer = "/no/such"}\nabsent = true',
        'kind = "value-at"\nat = {state = 1, pointer = "/generated_items/-/raw_item/name"}\nequals = "pay"',
        'kind = "value-at"\nat = {model_input = 1}\ncontains = "g"',
        'kind = "value-at"\nat = {result = 1, pointer = "/0/content"}\nequals = "done 3"',
        'kind = "value-at"\nat = {input_list = 1}\nlength = 2',
        'kind = "value-at"\nat = {session = 1, pointer = "/0/role"}\nequals = "user"',
        'kind = "value-at"\nat = {observed = "seen", pointer = "/n"}\nlength = 2',
        'kind = "value-at"\nat = {observed = "seen", pointer = "/n"}\ncontains = 2',
        'kind = "value-at"\nat = {state = 1}\nsame = {state = 1, when = "first"}',
    ],
)
def test_a_true_claim_holds(body: str, script: Script) -> None:
    assert _claim(body, script).status == "holds"


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ('kind = "tool-runs"\ntool = "pay"\ntimes = 0', "tool pay ran once; claimed: 0"),
        ('kind = "tool-runs"\ntool = "sub"\nat_least = 1', "tool sub ran 0 times; claimed: at least 1"),
        ('kind = "tool-order"\ntools = ["pay", "add"]', "tool pay started after add"),
        (
            'kind = "run-ended"\noutcome = "returned"',
            "run R2 ended: raised MaxTurnsExceeded; claimed: returned",
        ),
        ('kind = "script-ended"\noutcome = "raised"', "the script ended: exited 0; claimed: raised"),
        (
            'kind = "final-output"\nrun = 1\nequals = "3"',
            "final output of run R1: 'done 3'; claimed: is '3'",
        ),
        (
            'kind = "value-at"\nat = {state = 1, pointer = "/current_turn"}\nequals = 3',
            "state S1 at /current_turn is not as claimed",
        ),
        (
            'kind = "value-at"\nat = {observed = "seen"}\nsame = {state = 1}',
            "observed seen at its root is not as claimed",
        ),
    ],
)
def test_a_false_claim_is_violated(body: str, sentence: str, script: Script) -> None:
    assert _told(body, script) == [sentence]


@pytest.mark.parametrize(
    "body",
    [
        'kind = "tool-runs"\ntool = "pay"\nrun = 9\ntimes = 0',
        'kind = "tool-order"\ntools = ["add", "sub"]',
        'kind = "run-ended"\nrun = 9\noutcome = "returned"',
        'kind = "final-output"\nequals = "x"',  # the last run raised
        'kind = "value-at"\nat = {state = 9}\nequals = 1',
        'kind = "value-at"\nat = {result = 2}\nequals = 1',
        'kind = "value-at"\nat = {observed = "never"}\nequals = 1',
    ],
)
def test_a_claim_without_its_subject_is_not_observed(body: str, script: Script) -> None:
    assert _claim(body, script).status == "not_observed"


def test_tools_that_ran_in_parallel_have_no_order() -> None:
    script = Script()
    run = script.run()
    with script.lane() as one:
        script.tool(run, "c1", "add")
    with script.lane() as other:
        script.tool(run, "c2", "sub")
    script.join(one, other)
    script.end(run)
    body = 'kind = "tool-order"\ntools = ["add", "sub"]'
    assert _claim(body, script.exit()).status == "not_observed"


def test_a_claim_is_judged_in_each_mode_unless_it_names_one(script: Script) -> None:
    other = Script("streamed")
    other.end(other.run())
    header = """
    [[claims]]
    kind = "tool-runs"
    tool = "pay"
    times = 1
    [[claims]]
    id = "streams"
    kind = "tool-runs"
    tool = "pay"
    times = 0
    mode = "streamed"
    """
    found = [(c.id, c.mode, c.status) for c in _judge(header, script, other.exit()).claims]
    assert found == [
        ("tool-runs-1", "as-written", "holds"),
        ("tool-runs-1", "streamed", "violated"),
        ("streams", "streamed", "holds"),
    ]


def test_checks_of_the_script_are_claims_of_their_own(script: Script) -> None:
    found = {c.id: c.status for c in judged(script).claims if c.kind == "probe-check"}
    assert found == {"one approval": "holds", "no leak": "violated"}


def test_a_script_that_only_checks_can_hold_without_any_run() -> None:
    script = Script()
    script.add("probe.checked", label="sum", passed=True)
    assert judged(script.exit()).verdict == "holds"


def test_a_claimed_failure_of_the_script_is_no_reason_to_doubt() -> None:
    script = Script()
    run = script.run()
    script.model(run, "go", message("done"))
    script.end(run)
    error = {"type": "builtins:KeyError", "message": "'x'"}
    script.exit(outcome="raised", error=error)
    assert judged(script).verdict == "inconclusive"
    claim = '[[claims]]\nkind = "script-ended"\noutcome = "raised"\nerror = "KeyError"'
    assert _judge(claim, script).verdict == "holds"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('tool = "pay"', "claim 1: it has no `kind`; there are final-output,"),
        ('kind = "tool-run"', "claim 1: there is no kind 'tool-run'; there are final-output,"),
        ('kind = "probe-check"\nlabel = "x"', "there is no kind 'probe-check'"),
        (
            'kind = "tool-runs"\ntol = "pay"',
            "claim 1: tool-runs has no `tol`; it has at_least, at_most, call_id,",
        ),
        ('id = "p"\nkind = "tool-runs"\ntimes = 1', "claim 1 ('p'): tool: Field required"),
        ('kind = "tool-runs"\ntool = "pay"', "give either `times`, or"),
        ('kind = "tool-runs"\ntool = "pay"\ntimes = "1"', "times: Input should be a valid integer"),
        ('kind = "tool-order"\ntools = ["a"]', "tools:"),
        ('kind = "run-ended"\noutcome = "crashed"', "outcome: Input should be 'returned'"),
        ('kind = "final-output"', "give `equals`, `contains` or `type`"),
        ('kind = "final-output"\nequals = 2026-11-30', "a date is not a value"),
        ('kind = "value-at"\nat = {state = 1, model_input = 1}\nequals = 1', "give one of `state`"),
        ('kind = "value-at"\nat = {state = 1, pointer = "x"}\nequals = 1', "begins with /"),
        ('kind = "value-at"\nat = {state = 1}', "give one of `equals`"),
        ('kind = "tool-runs"\ntool = "pay"\ntimes = 1\nmode = "both"', "there is no mode 'both'"),
        ('kind = "tool-runs"\ntool = "pay"\ntimes = 1\nmode = "streamed"', "'streamed' is not recorded"),
        ('kind = "tool-runs"\ntool = "pay"\ntimes = 1\nid = 7', "`id` is not a text"),
        ('kind = "tool-runs"\ntool = "pay"\ntimes = 1\nid = "exactly-once"', "another claim is called"),
    ],
)
def test_a_mistyped_claim_is_named_with_what_exists(body: str, message: str) -> None:
    tables: list[dict[str, Any]] = tomllib.loads(f"[[claims]]\n{body}")["claims"]  # Any: TOML
    with pytest.raises(UsageError) as caught:
        read_claims(tables, modes=["as-written"], path="r.py")
    assert message in caught.value.message
    assert caught.value.message.startswith("r.py: ")


def test_a_manifest_with_arguments_of_another_shape_is_refused(script: Script) -> None:
    asked = judge.ClaimRequest("x", "tool-runs", 2, "as-written", {"tool": "pay"})
    with pytest.raises(BundleError) as caught:
        judged(script, claims=(asked,))
    assert caught.value.reason == "malformed_claim"


def test_an_invariant_with_arguments_is_refused(script: Script) -> None:
    asked = judge.ClaimRequest("exactly-once", "exactly-once", 1, "as-written", {})
    with pytest.raises(BundleError) as caught:
        judged(script, claims=(asked,))
    assert caught.value.reason == "malformed_claim"


@pytest.mark.parametrize(
    ("kind", "arguments"),
    [
        ("value-at", {"at": {"model_input": 0}, "length": 1}),
        ("value-at", {"at": {"state": 0}, "length": 1}),
        ("value-at", {"at": {"result": 1}, "same": {"session": 0}}),
        ("run-ended", {"run": 0, "outcome": "returned"}),
        ("tool-runs", {"run": 0, "tool": "pay", "times": 1}),
        ("tool-order", {"run": 0, "tools": ["a", "b"]}),
        ("final-output", {"run": 0, "equals": "x"}),
    ],
)
def test_numbers_count_from_1(kind: str, arguments: dict[str, object]) -> None:
    with pytest.raises(FormatError, match="greater than or equal to 1"):
        parse_arguments(AUTHORED[kind], arguments)


def test_places_that_one_event_shows_are_not_taken_for_each_other() -> None:
    script = Script()
    fields: dict[str, Any] = {
        "items": [{"a": 1}],
        "input_list": [{"a": 2}],
        "session": "D1",
        "session_after": [{"a": 3}],
    }
    script.end(script.run(session="D1"), **fields)
    seen = evidence(script.exit())
    for number, place in enumerate(("result", "input_list", "session"), start=1):
        shape = {"at": {place: 1, "pointer": "/0/a"}, "equals": number}
        arguments = value_at.ARGUMENTS.from_shape(shape)
        assert value_at.evaluate(seen, arguments).status == "holds", place

"""What `explain` says of stored probe data and of small wheels; nothing is run."""

import io
import json
import shutil
import subprocess
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from agentproof.bundle.store import Bundle, bundle_id, read_bundle, shelf_of
from agentproof.cause import objects
from agentproof.cause.changes import changed_functions, difference
from agentproof.cause.checking import problems
from agentproof.cause.commits import commits_between
from agentproof.cause.explain import Replays, explain, refuse_other_evidence
from agentproof.cause.explain import told as told_of
from agentproof.cause.located import Event, Located, LocatedRun
from agentproof.cause.ranking import Ran, by_rarity, functions_that_ran, fused, signals
from agentproof.cause.source import MAX_SOURCE_BYTES, Source, SourceFile, read_source
from agentproof.check.bundle import Reader, check_path
from agentproof.cli import cli
from agentproof.cli.compare import pairs_of
from agentproof.compare.comparison import packed
from agentproof.compare.search import BisectionResult, Point, Transition
from agentproof.diff.rows import Attempt, Series
from agentproof.errors import CannotDoError, FormatError, UsageError
from agentproof.isolation.runner import locating_archive, recorder_archive
from agentproof.models.explanation import Explanation, FunctionPlace, QuotedLine, SharedObject, Statement
from agentproof.models.manifest import ClaimResult, Finding, Origin, Target
from agentproof.record.conditions import Conditions
from agentproof.record.progress import Silent
from agentproof.record.target import Target as Target_
from agentproof.render.cause import WIDTH, head_line, render_cause, render_explanation
from agentproof.trust.signing import generate_key

GIT = shutil.which("git") or "git"
HOLDS = Path(__file__).parents[2] / "bundles" / "sibling-approval" / "0.21.0"

OLD = b'''def kept(a):
    """Doc."""
    return a


def shared(state):
    first = state
    return first


def added(x):
    y = x
    return y
'''
NEW = b'''def kept(a):
    """Another doc."""
    # and a comment
    return a


def shared(state):
    first = dict(state)
    return first


def added(x):
    y = x
    if y:
        y = 2
    return y
'''


def wheel(data: bytes, *, url: str | None = "Repository, https://github.com/a/b") -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("agents/run.py", data)
        project = f"Project-URL: {url}\n" if url is not None else ""
        archive.writestr("openai_agents-1.dist-info/METADATA", f"Metadata-Version: 2.1\nName: x\n{project}\n")
    return buffer.getvalue()


def target(version: str = "1", kind: str = "index") -> Target:
    return Target(
        name="openai-agents",
        version=version,
        wheel=f"openai_agents-{version}-py3-none-any.whl",
        sha256="0" * 64,
        size=1,
        origin=Origin.from_shape({"kind": kind}),
    )


def source(data: bytes, version: str = "1") -> Source:
    return read_source(wheel(data), target(version), "agents")


def located(*lines: int, entered: tuple[int, ...] = ()) -> Located:
    return Located(
        segments=(("", frozenset(("agents/run.py", line) for line in lines)),),
        entered=tuple(("agents/run.py", line) for line in entered),
        events={},
        names={},
    )


def test_the_git_id_is_that_of_git() -> None:
    assert SourceFile("a.py", b"hello\n").blob == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_comments_and_docstrings_are_no_change() -> None:
    lines = located(3, 7, 8, 12, 13).lines
    found = changed_functions(source(OLD), source(NEW, "2"), lines, located(8, 9, 13, 14, 16).lines)
    assert [each.function.name for each in found] == ["shared", "added"]


def test_a_function_whose_changed_lines_did_not_run_is_not_said_to_have_run() -> None:
    found = changed_functions(source(OLD), source(NEW, "2"), located(3).lines, located(4).lines)
    assert [each.ran for each in found] == [False, False]


def test_lines_around_an_addition_count_in_the_old_release() -> None:
    ran = located(12, 13).lines
    (_, added) = changed_functions(source(OLD), source(NEW, "2"), ran, frozenset())
    assert added.old == {12, 13}
    shown = list(difference(source(OLD), source(NEW, "2"), added, ran, frozenset()))
    assert [(each.change, each.line) for each in shown] == [("same", 12), ("added", 14), ("added", 15)]


def test_a_link_is_given_for_a_release_with_a_repository_alone() -> None:
    assert source(OLD, "1.2").base == "https://github.com/a/b/blob/v1.2"
    assert read_source(wheel(OLD, url=None), target(), "agents").base is None
    assert read_source(wheel(OLD, url="Repository, https://elsewhere.org/x"), target(), "agents").base is None
    assert read_source(wheel(OLD), target(kind="file"), "agents").base is None


def test_a_file_over_the_limit_has_lines_and_no_functions() -> None:
    file = SourceFile("agents/run.py", OLD + b"#" * MAX_SOURCE_BYTES)
    assert not file.is_told
    assert not file.functions
    assert file.lines[0] == "def kept(a):"


def test_the_rarest_line_comes_first_then_lines_that_nobody_runs_then_recency() -> None:
    healthy = [located(7, 8, 3).lines, located(7, 3).lines]
    ran = functions_that_ran(
        source(OLD), [located(3, 7, 8, 12, 13, entered=(1, 6, 11))], healthy, witnesses={}, words=""
    )
    assert [(each.function.name, each.rarest, each.unseen) for each in by_rarity(ran)] == [
        ("added", 0, 2),
        ("shared", 1, 0),
        ("kept", 2, 0),
    ]


def test_the_stack_does_not_count_where_it_misled() -> None:
    (one,) = functions_that_ran(source(OLD), [located(3)], [], witnesses={}, words="")
    stacked = Ran(one.function, 0, 1, 10**9, stack=0)
    assert "on the stack where the rule was violated" in signals(stacked, neighbours=2, rules=["told-once"])
    assert "on the stack where the rule was violated" not in signals(
        stacked, neighbours=2, rules=["approval-respected"]
    )
    assert fused([stacked], ["approval-respected"]) == [stacked]


def explanation(**changes: object) -> Explanation:
    file = SourceFile("agents/run.py", OLD)
    function = FunctionPlace(
        file="agents/run.py",
        function="shared",
        first=6,
        last=8,
        blob=file.blob,
        lines=(QuotedLine(side="bundle", file="agents/run.py", line=7, text="    first = state", ran=True),),
        signals=("ran",),
    )
    shape = {
        "format": "agentproof/explanation",
        "version": 0,
        "bundle_id": "1" * 64,
        "evidence_id": "2" * 64,
        "wheels": [
            {
                "side": "bundle",
                "name": "openai-agents",
                "version": "1",
                "filename": "openai_agents-1-py3-none-any.whl",
                "sha256": "0" * 64,
                "base": "https://github.com/a/b/blob/v1",
            }
        ],
        "modes": ["as-written"],
        "kind": "one_release",
        "functions": [function.to_shape()],
        **changes,
    }
    return Explanation.from_shape(shape)


def test_one_release_is_a_place_to_look_and_never_a_cause() -> None:
    told = "\n".join([*render_explanation(explanation()), *render_cause(explanation())]).lower()
    assert "where to look" in told
    assert "cause" not in told.replace("which is no cause", "")
    assert "known bugs" in told


def test_a_list_without_places_says_so_and_gives_no_rate() -> None:
    nothing = explanation(functions=[])
    told = "\n".join([*render_explanation(nothing), *render_cause(nothing)])
    assert told.count("No place is named") == 2
    assert "known bugs" not in told


def statement(line: int, text: str) -> dict[str, object]:
    return {"side": "bundle", "file": "agents/run.py", "line": line, "text": text, "function": "shared"}


@pytest.mark.parametrize(
    ("stored", "given", "told"),
    [
        ("self._x = x", "x=self.x,", 12),
        ("state._items = list(items)", "items=self.items,", 7),
        ("self._x = x", "return State(self.x)", 7),
    ],
)
def test_the_line_that_gives_the_object_on_heads_terminal_issue_and_page(
    stored: str, given: str, told: int
) -> None:
    shared = {
        "claim": "state-integrity",
        "pointer": "/context",
        "paths": ["S1._x", "S2._x"],
        "type": "Context",
        "held": [statement(7, stored), statement(12, given)],
        "written": [],
        "outside": False,
    }
    found = explanation(shared=[shared])
    assert f"One object, held twice at run.py:{told}" in next(iter(render_explanation(found)))
    assert (head_line(found) or "").startswith(f"[`run.py:{told}`](https://github.com/a/b/blob/v1/")
    assert head_line(explanation()) is None


def test_a_terminal_of_80_columns_is_enough_but_for_links() -> None:
    lines = list(render_explanation(explanation()))
    assert [line for line in lines if len(line) > WIDTH and "https://" not in line] == []


def test_what_explain_wrote_is_read_back() -> None:
    assert Explanation.from_bytes(explanation().to_bytes()) == explanation()


def test_the_ordinary_archive_has_nothing_of_the_probe() -> None:
    names = zipfile.ZipFile(io.BytesIO(recorder_archive())).namelist()
    assert not [name for name in names if "locator" in name]
    beside = zipfile.ZipFile(io.BytesIO(locating_archive({"pointers": [["S", "/a"]]})))
    assert {*names} < {*beside.namelist()}
    scope: dict[str, object] = {}
    exec(beside.read("locator/wanted.py"), scope)  # noqa: S102  (our own generated module)
    assert scope["WANTED"] == json.loads('{"pointers": [["S", "/a"]]}')


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, []),
        ({"line": 8}, ["agents/run.py:8 of the bundle wheel is '    return first', not '    first = state'"]),
        ({"text": "    first = other"}, ["agents/run.py:7 of the bundle wheel is '    first = state', not"]),
        ({"line": 99}, ["agents/run.py:99 of the bundle wheel is None"]),
    ],
)
def test_a_quoted_line_that_is_none_of_the_wheels_is_found(
    changes: dict[str, object], wrong: list[str]
) -> None:
    told = explanation()
    line = {**told.functions[0].lines[0].to_shape(), **changes}
    function = {**told.functions[0].to_shape(), "lines": [line]}
    told = explanation(functions=[function])
    found, missing = problems_of(told)
    assert missing == []
    assert len(found) == len(wrong)
    assert all(part in text for part, text in zip(wrong, found, strict=True))


def test_a_wheel_that_is_not_at_hand_is_said() -> None:
    found, missing = problems_of(explanation(), is_at_hand=False)
    assert found == []
    assert len(missing) == 1


def test_a_forged_git_id_is_found() -> None:
    told = explanation()
    forged = told.functions[0].model_copy(update={"blob": "f" * 40})
    found, _ = problems_of(told.model_copy(update={"functions": (forged,)}))
    assert "has not the git id" in found[0]


def shared(holder: str, path: str, other: str, there: str, depth: int) -> dict[str, Any]:
    return {
        "holder": holder,
        "pointer": "/context/approvals/pay",
        "path": path.split("."),
        "other": other,
        "other_path": there.split(".") if there else [],
        "type": "dict",
        "class": "builtins:dict",
        "depth": depth,
        "classes": ["agents.run_state:RunState", "agents.run_state:RunState"],
        "owner": "agents.run_context:RunContextWrapper",
    }


FINDING = Finding.from_shape(
    {
        "code": "changed_by_decision",
        "events": [{"mode": "as-written", "seq": 2}],
        "state": "S1",
        "subject": "S2",
        "pointer": "/context/approvals/pay",
    }
)
CLAIM = ClaimResult.from_shape(
    {
        "id": "state-integrity",
        "kind": "state-integrity",
        "version": 2,
        "mode": "as-written",
        "status": "violated",
        "sites": 1,
        "because": [FINDING.to_shape()],
    }
)


def with_objects(*entries: dict[str, Any], **more: Any) -> Located:
    names = {"S:0.1": "S1", "S:0.2": "S2", "Q:0.1": "Q1"}
    return Located((("", frozenset()),), (), {2: Event(0, 9, (), None)}, names, shared=entries, **more)


def test_the_outermost_object_of_the_findings_own_state_counts_and_its_cause_comes_first() -> None:
    seen = with_objects(
        shared("S:0.1", "_context._approvals", "Q:0.1", "context_wrapper._approvals", 1),
        shared("S:0.1", "_context", "Q:0.1", "context_wrapper", 0),
        shared("S:0.1", "_context", "S:0.2", "_context", 0),
        shared("S:0.2", "_context", "S:0.1", "_context", 0),
    )
    (selected,), missing = objects.select([CLAIM], {"as-written": seen}, {})
    assert missing == []
    assert [pair["other"] for pair in selected.shared] == ["S:0.2", "Q:0.1"]
    assert objects.slots([selected])["agents.run_state:RunState"] == [["_context"], ["context_wrapper"]]


def test_a_pointer_that_leads_to_nothing_shared_claims_nothing() -> None:
    selected, missing = objects.select([CLAIM], {"as-written": with_objects()}, {})
    assert selected == []
    assert missing == [
        "state-integrity, S1 /context/approvals/pay: no object along this pointer was seen in another "
        "holder, so none is named"
    ]


def test_the_later_of_the_two_holds_it_twice_and_only_later_writes_count() -> None:
    pair = shared("S:0.1", "_context", "S:0.2", "_context", 0)
    first = with_objects(pair)
    (selected,), _ = objects.select([CLAIM], {"as-written": first}, {})

    def change(holder: int, step: int, line: int) -> dict[str, Any]:
        return {"holder": holder, "path": ["_context"], "object": 77, "step": step, "stack": [[0, line]]}

    writes = [
        {"object": 77, "step": step, "stack": stack}
        for step, stack in ((1, [[0, 3]]), (5, [[0, 12]]), (6, []))
    ]
    second = with_objects(
        slots=(change(0, 2, 7), change(1, 4, 8)),
        writes=(*writes, {"object": 77, "step": 40, "stack": [[0, 13]]}),
        holders={0: "S:0.1", 1: "S:0.2"},
        files=("agents/run.py",),
    )
    told = objects.told(selected, first, second, source(OLD))
    assert isinstance(told, SharedObject)
    assert told.paths == ("S1._context", "S2._context")
    assert told.made is not None
    assert (told.made.line, [each.line for each in told.held], [each.line for each in told.written]) == (
        7,
        [8],
        [12],
    )
    assert told.outside


RETURNED = {
    **shared("S:0.1", "_context", "returned:0", "", 0),
    "other_path": [],
    "type": "list",
    "stack": [[0, 13]],
    "script": ["repro.py", 5],
}
VARIABLE = {**shared("S:0.1", "_context", "variable:total", "entries.0", 0)}
VARIABLE["classes"] = ["agents.run_state:RunState", "agents.usage:Usage"]
MODULE = shared("S:0.1", "_context", "module:agents.cache.results", "", 0)
FILES = {"files": ("agents/run.py",), "holders": {0: "S:0.1"}}


def followed(holder: int, name: str, path: list[str], step: int, line: int | None) -> dict[str, Any]:
    stack = [[0, line]] if line is not None else []
    return {"holder": holder, "class": name, "path": path, "object": 77, "step": step, "stack": stack}


STATE = followed(0, "agents.run_state:RunState", ["_context"], 2, 7)


def test_a_list_that_the_sdk_returned_is_a_holder_with_the_line_that_returned_it() -> None:
    first = with_objects(
        RETURNED, shared("S:0.1", "_context", "S:0.1", "_also._context", -1), files=("agents/run.py",)
    )
    (selected,), _ = objects.select([CLAIM], {"as-written": first}, {})
    assert objects.slots([selected]) == {"agents.run_state:RunState": [["_context"]]}
    writes = ({"object": 77, "step": 5, "stack": []},)
    second = with_objects(slots=(STATE,), writes=writes, **FILES)
    told = objects.told(selected, first, second, source(OLD))
    assert isinstance(told, SharedObject)
    assert told.paths == ("S1._context", "what added returned at repro.py:5")
    assert [each.text.strip() for each in told.held] == ["return y"]
    assert told.outside


def test_an_object_of_the_sdk_in_a_variable_of_the_script_is_a_holder() -> None:
    first = with_objects(VARIABLE)
    (selected,), _ = objects.select([CLAIM], {"as-written": first}, {})
    assert ["entries", "0"] in objects.slots([selected])["agents.usage:Usage"]
    by_the_sdk = with_objects(
        slots=(STATE, followed(1, "agents.usage:Usage", ["entries", "0"], 4, 8)), **FILES
    )
    told = objects.told(selected, first, by_the_sdk, source(OLD))
    assert isinstance(told, SharedObject)
    assert told.paths == ("S1._context", "total.entries[0] in the script")
    assert [each.line for each in told.held] == [8]
    by_the_script = with_objects(
        slots=(STATE, followed(1, "agents.usage:Usage", ["entries", "0"], 4, None)), **FILES
    )
    assert "by a statement of the script's own" in str(
        objects.told(selected, first, by_the_script, source(OLD))
    )


def test_a_container_of_a_module_is_named_where_nothing_nearer_is() -> None:
    first = with_objects(MODULE)
    (selected,), _ = objects.select([CLAIM], {"as-written": first}, {})
    told = objects.told(selected, first, with_objects(slots=(STATE,), **FILES), source(OLD))
    assert str(told).startswith("S1._context and agents.cache.results[…] are one dict; by which statement")
    nearer = with_objects(MODULE, shared("S:0.1", "_context._x", "S:0.2", "_context._x", 4))
    (selected,), _ = objects.select([CLAIM], {"as-written": nearer}, {})
    assert [pair["other"] for pair in selected.shared] == ["S:0.2"]


def test_a_wheel_of_a_checkout_and_a_file_over_a_megabyte_are_said() -> None:
    bundle = read_bundle(HOLDS, wheels=shelf_of(HOLDS))
    data = io.BytesIO(wheel(OLD))
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr("agents/long.py", b"x = 1\n" + b"#" * MAX_SOURCE_BYTES)
    built = target().model_copy(update={"origin": Origin(kind="checkout", commit="a" * 40)})
    run = LocatedRun(bundle, {"as-written": located(3, 7, 8)})
    replays = Replays(
        bundle=bundle,
        recorded=bundle.document,
        violated=[CLAIM],
        run=run,
        selected=(),
        again=None,
        source=read_source(data.getvalue(), built, "agents"),
        healthy={},
        notes=(),
        other=None,
    )
    said = told_of(replays)
    assert said.link_to("bundle", "agents/run.py", 1) is None
    assert [each.blob for each in said.functions] == [SourceFile("agents/run.py", OLD).blob] * 2
    assert said.notes == (
        "1: agents/long.py is over 1 MB: its functions are not told",
        "1: no release with a public repository, so there are no links; git's ids are given",
    )
    assert not [line for line in render_explanation(said) if "http" in line]


def test_an_object_that_the_second_run_does_not_show_twice_has_no_statement() -> None:
    first = with_objects(shared("S:0.1", "_context", "S:0.2", "_context", 0))
    (selected,), _ = objects.select([CLAIM], {"as-written": first}, {})
    told = objects.told(selected, first, with_objects(files=("agents/run.py",)), source(OLD))
    assert isinstance(told, str)
    assert "by which statement was not seen" in told


def test_nothing_is_violated_and_no_release_given_says_what_to_give() -> None:
    checked = check_path(HOLDS, reader=Reader(), wheels=shelf_of(HOLDS))
    with pytest.raises(UsageError) as raised:
        explain(checked, None, conditions=Conditions(offline=True), progress=Silent())
    assert raised.value.hint is not None
    assert "--with VERSION" in raised.value.hint


def test_other_evidence_is_not_explained() -> None:
    one, other = (read_bundle(place, wheels=shelf_of(place)) for place in (HOLDS, HOLDS.with_name("0.20.0")))
    refuse_other_evidence(one, one)
    with pytest.raises(CannotDoError, match="other evidence"):
        refuse_other_evidence(one, other)


CALLS = b"""class Holder:
    def __init__(self, context, other=None):
        self._context = context
        self._other = dict(other)


def to_state(result):
    state = Holder(
        other=result.other,
        context=result.context,
    )
    return state
"""


def test_the_line_that_gives_the_argument_is_named_and_not_the_beginning_of_the_call() -> None:
    file = SourceFile("agents/run.py", CALLS)
    assert file.assigned_parameter(3) == "context"
    assert file.assigned_parameter(4) is None
    assert file.passed(8, "Holder", "context") == 10
    assert file.passed(8, "Holder", "absent") is None
    held = list(
        objects.with_argument(
            [
                Statement(
                    side="bundle",
                    file="agents/run.py",
                    line=line,
                    text=file.lines[line - 1],
                    function=function,
                )
                for line, function in ((3, "Holder.__init__"), (8, "to_state"))
            ],
            source(CALLS),
        )
    )
    assert [(each.line, each.text.strip()) for each in held] == [
        (3, "self._context = context"),
        (10, "context=result.context,"),
    ]


def of_a_bundle(place: Path, **changes: object) -> Explanation:
    bundle = read_bundle(place, wheels=shelf_of(place))
    file = read_source(bundle_wheel(bundle), bundle.document.target, "agents").files["agents/result.py"]
    function = file.functions["RunResult.to_state"]
    line = {"side": "bundle", "file": file.name, "line": 512, "text": file.lines[511], "ran": True}
    wheel_shape = {
        "side": "bundle",
        "name": "openai-agents",
        "version": "0.20.0",
        "filename": bundle.document.target.wheel,
        "sha256": bundle.document.target.sha256,
        "base": "https://github.com/openai/openai-agents-python/blob/v0.20.0",
    }
    place_shape = {
        "file": file.name,
        "function": function.name,
        "first": function.first,
        "last": function.last,
        "blob": file.blob,
        "lines": [{**line, "change": "removed"}],
        "signals": ["ran"],
    }
    shared_shape = {
        "claim": "state-integrity",
        "pointer": "/context",
        "type": "RunContextWrapper",
        "paths": ["S1._context", "S2._context"],
        "held": [{**line, "function": function.name}],
    }
    event = {"mode": "as-written", "seq": 15, "script": "reproduction.py:88"}
    return explanation(
        **{
            "bundle_id": bundle_id(bundle),
            "evidence_id": bundle.document.evidence_id,
            "wheels": [wheel_shape],
            "functions": [place_shape],
            "shared": [shared_shape],
            "events": [{**event, "sdk": {**line, "function": function.name}}],
            **changes,
        }
    )


def bundle_wheel(bundle: Bundle) -> bytes:
    data = bundle.wheel(bundle.document.target.wheel)
    assert data is not None
    return data


def run(*arguments: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(cli, list(map(str, arguments)))
    return done.exit_code, done.stdout, done.stderr


SHOWS = HOLDS.with_name("0.20.0")
LINE = "https://github.com/openai/openai-agents-python/blob/v0.20.0/src/agents/result.py#L512"


@pytest.mark.parametrize("form", ["markdown", "html"])
def test_a_report_has_the_cause_with_links(tmp_path: Path, form: str) -> None:
    place = tmp_path / "cause.json"
    place.write_bytes(of_a_bundle(SHOWS).to_bytes())
    code, text, _ = run("report", SHOWS, "--cause", place, "--format", form)
    assert code == 0
    assert "Where in the SDK" in text
    assert LINE in text
    assert "S2._context" in text
    if form == "html":
        assert f'reproduction.py:88 → <a href="{LINE}" rel="noreferrer">result.py:512</a>' in text


def test_show_tells_the_place_of_a_step(tmp_path: Path) -> None:
    place = tmp_path / "cause.json"
    place.write_bytes(of_a_bundle(SHOWS).to_bytes())
    code, text, _ = run("show", SHOWS, "--where", place)
    assert code == 0
    assert "  reproduction.py:88 → result.py:512\n" in text


def test_a_report_takes_no_cause_of_another_bundle_nor_a_line_that_is_none(tmp_path: Path) -> None:
    place = tmp_path / "cause.json"
    place.write_bytes(of_a_bundle(SHOWS, bundle_id="1" * 64).to_bytes())
    assert "explains another bundle" in run("report", SHOWS, "--cause", place)[2]
    told = of_a_bundle(SHOWS).to_shape()
    told["functions"][0]["lines"][0]["text"] = "forged()"
    place.write_bytes(Explanation.from_shape(told).to_bytes())
    code, _, error = run("report", SHOWS, "--cause", place)
    assert (code, "quotes what is not so: agents/result.py:512" in error) == (2, True)


@pytest.mark.parametrize(
    "base", ["javascript:alert(1)", "https://example.org/x/blob/v1", "https://github.com/a"]
)
def test_a_file_whose_links_lead_elsewhere_is_none_of_ours(base: str) -> None:
    shape = explanation().to_shape()
    shape["wheels"][0]["base"] = base
    with pytest.raises(FormatError):
        Explanation.from_shape(shape)


def test_a_search_that_ends_names_the_recording_that_shows_it_first() -> None:
    bad, good = (read_bundle(place, wheels=shelf_of(place)) for place in (SHOWS, HOLDS))
    points = {name: Point(name, Target_(name, requirement=name)) for name in ("0.20.0", "0.21.0")}
    attempts = {"0.20.0": Attempt("0.20.0", bundle=bad), "0.21.0": Attempt("0.21.0", bundle=good)}
    series = Series("case", tuple(attempts.values()))
    fixed = Transition("first_fixed", points["0.20.0"], points["0.21.0"], (), 2)
    broken = Transition("first_bad", points["0.21.0"], points["0.20.0"], (), 2)
    found = BisectionResult((fixed, broken), (), (), series, attempts)
    assert [found.ends(each) for each in found.changes] == [(bad, good)] * 2
    missing = replace(found, attempts={**attempts, "0.21.0": Attempt("0.21.0", failed="no")})
    assert missing.ends(fixed) is None


def test_a_comparison_is_explained_from_what_shows_it_to_what_does_not() -> None:
    bad, good = (read_bundle(place, wheels=shelf_of(place)) for place in (SHOWS, HOLDS))
    series = Series("case", (Attempt("0.21.0", bundle=good), Attempt("0.20.0", bundle=bad)))
    ((shown, other),) = pairs_of([packed([series], generate_key())])
    assert shown.manifest is not None
    assert other is not None
    assert other.manifest is not None
    assert (shown.manifest.target.version, other.manifest.target.version) == ("0.20.0", "0.21.0")


def two_releases() -> Explanation:
    shape = explanation().to_shape()
    wheel_shape = {**shape["wheels"][0], "side": "other", "version": "2", "base": None}
    del wheel_shape["base"]
    return explanation(wheels=[shape["wheels"][0], wheel_shape], kind="two_releases")


def repository(place: Path, *, tags: tuple[str, ...]) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        subprocess.run([GIT, "-C", str(place), *identity, *arguments], check=True, capture_output=True)

    git("init", "-q")
    file = place / "src" / "agents" / "run.py"
    file.parent.mkdir(parents=True)
    for number, (data, subject) in enumerate(
        ((OLD, "first"), (OLD.replace(b"return y", b"return y + 0"), "elsewhere"), (NEW, "fix it"))
    ):
        file.write_bytes(data)
        git("add", "-A")
        git("commit", "-qm", subject)
        if number == 0 and "v1" in tags:
            git("tag", "v1")
    if "v2" in tags:
        git("tag", "v2")


def test_commits_are_those_that_changed_a_named_function(tmp_path: Path) -> None:
    repository(tmp_path, tags=("v1", "v2"))
    found, notes = commits_between(tmp_path, two_releases())
    assert [each.subject for each in found] == ["fix it"]
    assert notes == ()


def test_a_release_without_a_tag_names_no_commits_and_says_so(tmp_path: Path) -> None:
    repository(tmp_path, tags=("v1",))
    found, notes = commits_between(tmp_path, two_releases())
    assert found == ()
    assert "v2" in notes[0]


def problems_of(told: Explanation, *, is_at_hand: bool = True) -> tuple[list[str], list[str]]:
    return problems(
        told,
        bundle_id="1" * 64,
        evidence_id="2" * 64,
        target=target(),
        wheel_of=lambda _: wheel(OLD) if is_at_hand else None,
    )

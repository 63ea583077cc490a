"""A script's own model, exchanged for one that gives the same answers: the SDK's, or one of a few lines.

Rules:
1. `ScriptedModel` is used where the wheel itself has it, never because of a version number.
2. A script's own model that only plays answers back is exchanged for one of these; whatever it is called with
   stays as it is. Whether nothing else changed is for a run to say, so each way is one of several.
"""

import io
import math
import zipfile
from collections.abc import Iterator, Sequence
from typing import Any, Final

import libcst as cst

from .program import Edits, Program, code_of, fresh, nodes

_PLACE: Final = "agents/testing/model.py"
_CLASS = '''\
class {name}(Model):
    """Gives the prepared answers, one for each request."""

    def __init__(self, steps):
        self.steps = list(steps)
{keep}
    async def get_response(self, system_instructions, input, *args, **kwargs):
{kept}        step = self.steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return ModelResponse(output=step, usage={usage}, response_id=None)

'''
_STREAM = """\
    async def stream_response(self, *args, **kwargs):
        answer = await self.get_response(*args, **kwargs)
        response = Response(
            id="resp_1",
            object="response",
            created_at=0,
            model="scripted",
            output=answer.output,
            tool_choice="auto",
            tools=[],
            parallel_tool_calls=True,
        )
        yield ResponseCompletedEvent(type="response.completed", sequence_number=0, response=response)
"""
_NO_STREAM = """\
    def stream_response(self, *args, **kwargs):
        raise NotImplementedError
"""
_IMPORTS: Final = (
    "import copy",
    "from agents import Model, ModelResponse, Usage",
    "from openai.types.responses import Response, ResponseCompletedEvent",
)


def has_scripted_model(wheel: bytes) -> bool:
    """Whether the release in this wheel brings a scripted model of its own."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        if _PLACE not in archive.namelist():
            return False
        return b"class ScriptedModel(" in archive.read(_PLACE)


def literal(value: object) -> str:
    """Plain data as a Python literal, in ASCII.

    Raises:
        TypeError: it is none.
    """
    match value:
        case None | bool() | int() | str():
            return ascii(value)
        case float():
            return repr(value) if math.isfinite(value) else f'float("{value}")'
        case list() | tuple():
            return f"[{', '.join(map(literal, value))}]"
        case dict():
            return f"{{{', '.join(f'{literal(k)}: {literal(v)}' for k, v in value.items())}}}"
    raise TypeError(type(value).__name__)


def _class(name: str, *, keep: str | None, usage: str, streams: bool) -> str:
    made = _CLASS.format(
        name=name,
        keep=f"        self.{keep} = []\n" if keep else "",
        kept=f"        self.{keep}.append(copy.deepcopy(input))\n" if keep else "",
        usage=usage,
    )
    return made + (_STREAM if streams else _NO_STREAM)


def exchanged(program: Program, *, own: bool, usage: str) -> Iterator[Edits]:
    """Ways to exchange the script's own models; `own`: the release brings none, so that one is written."""
    classes = {each.name.value: each for each in program.definitions if isinstance(each, cst.ClassDef)}
    models = {name: each for name, each in classes.items() if "Model" in _bases(each)}
    others = [base for each in classes.values() for base in _bases(each)]
    plays = {name: each for name, each in models.items() if name not in others}
    if not plays:
        return
    sites = [
        node
        for node in nodes(program.module)
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in plays
    ]
    if not sites or any(argument.keyword is not None for site in sites for argument in site.args):
        return
    own_nodes = {id(node) for each in plays.values() for node in nodes(each)}
    outside = [
        node
        for node in nodes(program.module)
        if isinstance(node, cst.Attribute) and id(node) not in own_nodes
    ]
    kept = {attribute for each in plays.values() for attribute in _appended(each)}
    used = [node for node in outside if node.attr.value in kept]
    attributes = {node.attr.value for node in used}
    if len(attributes) > 1:
        return
    keep = next(iter(attributes), None)
    streams = any(node.attr.value == "run_streamed" for node in outside)
    name = "ScriptedModel"
    if name in classes:
        name = fresh("PlayedModel", program)
    for wrap in _wraps(sites):
        edits = Edits(removed={*plays.values()})
        for site in sites:
            edits.replaced[site] = cst.parse_expression(f"{name}({wrap(site)})")
        if own:
            edits.imports = [*_IMPORTS, _class(name, keep=keep, usage=usage, streams=streams)]
        else:
            edits.imports = ["from agents.testing import ScriptedModel"]
            for node in used:
                edits.replaced[node] = cst.parse_expression(
                    f"[call.input for call in {code_of(node.value)}.calls]"
                )
        yield edits


def _bases(node: cst.ClassDef) -> list[str]:
    return [code_of(each.value).rpartition(".")[2] for each in node.bases]


def _appended(node: cst.ClassDef) -> Iterator[str]:
    """The attributes in which a model keeps what it was asked."""
    for each in nodes(node):
        if (
            isinstance(each, cst.Call)
            and isinstance(each.func, cst.Attribute)
            and each.func.attr.value == "append"
            and isinstance(each.func.value, cst.Attribute)
            and code_of(each.func.value.value) == "self"
        ):
            yield each.func.value.attr.value


def _wraps(sites: Sequence[cst.Call]) -> Iterator[Any]:  # Any: functions of a call that give source
    def listed(site: cst.Call) -> str:
        return f"[{', '.join(each.star + code_of(each.value) for each in site.args)}]"

    def single(site: cst.Call) -> str:
        parts = [
            f"*([each] for each in {code_of(each.value)})" if each.star else f"[{code_of(each.value)}]"
            for each in site.args
        ]
        return f"[{', '.join(parts)}]"

    def given(site: cst.Call) -> str:
        return ", ".join(each.star + code_of(each.value) for each in site.args)

    yield listed
    yield single
    if all(len(site.args) == 1 and not site.args[0].star for site in sites):
        yield given


__all__ = [
    "exchanged",
    "has_scripted_model",
    "literal",
]

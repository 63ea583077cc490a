"""What is set and offered is sent.

Rule: a request to the Responses or the Chat Completions API holds each function tool and handoff that the
model's call offers, by its name. Where the SDK's own adapter of that API makes it, or any-llm's, it also
holds each of the settings `temperature`, `top_p`, `frequency_penalty`, `presence_penalty`, `truncation`,
`metadata`, `store`, `prompt_cache_retention` and the limit of tokens, as far as it is set and the API knows
it.

Sites: requests with a JSON body inside a call of a model that offers or sets something of this.

Not observed: no such request. LiteLLM leaves out what a provider does not take, so of its requests only tools
are looked at.

From: openai/openai-agents-python#1876, #4248.

Shown by: a fault seeded into 0.24.0, `tests/seeded/settings-sent.toml`.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ...models.events import ModelCalled, ModelOffered
from ...models.items import fields_of, items_of
from ...models.manifest import Finding
from ..trace.evidence import Evidence
from ..trace.outcome import Outcome, Scope, make_finding, outcome
from ..trace.providers import CHAT, RESPONSES, asked_in, tools_sent
from ..trace.runs import Run

NAME = "settings-sent"
VERSION = 1
SCOPE: Scope = "each"
NEEDS = frozenset({"models"})

_COMMON: Final = {
    name: (name,) for name in ("temperature", "top_p", "metadata", "store", "prompt_cache_retention")
}
_SENT: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    RESPONSES: {**_COMMON, "max_tokens": ("max_output_tokens",), "truncation": ("truncation",)},
    CHAT: {
        **_COMMON,
        "max_tokens": ("max_tokens", "max_completion_tokens"),
        "frequency_penalty": ("frequency_penalty",),
        "presence_penalty": ("presence_penalty",),
    },
}
"""By the end of a path and the setting: the names that it may have in a request."""
_ADAPTERS: Final = ("agents.models.", "agents.extensions.models.any_llm_model:")
_FUNCTIONS: Final = frozenset({"function", "agent", "mcp"})


def evaluate(evidence: Evidence) -> Outcome:
    """Judge every such request of the one trace."""
    view = evidence.view
    sites = 0
    found: list[Finding] = []
    for run in view.runs.values():
        functions = _functions(run)
        for asked in asked_in(run):
            for exchange in asked.exchanges:
                request = fields_of(exchange.request)
                api = next((end for end in _SENT if exchange.path.endswith(end)), None)
                if not request or api is None:
                    continue
                tools = [name for name in asked.called.tools if name in functions]
                settings = list(_settings(asked.called, api))
                sites += bool(tools or settings or asked.called.handoffs)
                found += [
                    make_finding(
                        code="tool_not_sent",
                        events=view.refs(asked.called, exchange),
                        run=run.label,
                        tool=name,
                    )
                    for name in (*tools, *asked.called.handoffs)
                    if name not in tools_sent(request)
                ]
                found += [
                    _not_sent(view.refs(asked.called, exchange), run, name, value)
                    for name, spelled, value in settings
                    if not any(each in request for each in spelled)
                ]
    return outcome(sites=sites, because=found)


def _not_sent(events: Any, run: Run, name: str, value: Any) -> Finding:  # Any: references, a value
    return make_finding(code="setting_not_sent", events=events, run=run.label, tool=name, before=value)


def _functions(run: Run) -> frozenset[str]:
    """The tools offered in this run that a request names: hosted ones go by their type."""
    offered = [event for event in run.events if isinstance(event, ModelOffered)]
    tools = (tool for event in offered for tool in items_of(event.tools))
    return frozenset(str(tool.get("name")) for tool in tools if tool.get("kind") in _FUNCTIONS)


def _settings(called: ModelCalled, api: str) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """What is set, the names that it may have in a request, and its value."""
    settings = fields_of(called.settings)
    for name, spelled in _SENT[api].items() if called.model.startswith(_ADAPTERS) else ():
        if settings.get(name) is not None:
            yield name, spelled, settings[name]


def explain(finding: Finding) -> str:
    """What was not sent."""
    request = "the request to the provider does not hold it"
    if finding.code == "tool_not_sent":
        return f"{finding.tool} was offered in run {finding.run}, and {request}"
    return f"{finding.tool} was set to {finding.before} in run {finding.run}, and {request}"

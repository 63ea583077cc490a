"""A bundle that is sound and means harm: whoever shows it shows strings that try to be something else."""

import json
from typing import Any

from agentproof.bundle.store import Bundle
from tests.forge import Draft, draft, sha256

EVIL = (
    "</script></style></title></pre><script>window.pwned = 1</script>"
    "<img src=x onerror='window.pwned = 1'><svg onload=\"window.pwned = 1\">"
    "\"'><a href=javascript:window.pwned=1 onclick=window.pwned=1>"
    "{{ 7 * 7 }}{% raw %}${7*7}<!-- ]]> --> &lt; "
    "\u202e\u2066\u200b\x00\x07\x1b[31m\r\n"
    "``` ```` ~~~\n\n### injected\n\n- [ ] task\n"
    "> @everyone https://evil.example www.evil.example #1 :boom:\n"
    "[link](https://evil.example) ![image](https://evil.example/x.png) <https://evil.example> **bold** | a |"
    "\n"
)
"""What a string of a bundle may try."""

HUGE = EVIL + "x" * 1_000_000 + EVIL
"""The same, over a megabyte long."""

_FREE = ("arguments", "output", "input", "final_output", "text")
"""Fields that hold any value."""
_NAMES = ("agent", "tool", "last_agent", "call_id")
"""Fields that hold a name."""


def hostile(*, huge: bool = True) -> Bundle:
    """A valid bundle with harm in every field that the observed program fills."""
    spoiled = _spoil(draft(), HUGE if huge else EVIL)
    return spoiled.judged().seal()


def _spoil(valid: Draft, text: str) -> Draft:
    title = _toml(EVIL)
    valid.files["reproduction.py"] = (
        "# /// script\n"
        '# dependencies = ["openai-agents==0.20.0"]\n'
        "#\n"
        "# [tool.agentproof]\n"
        f'# title = "{title}"\n'
        f'# reference = "{title}"\n'
        "# ///\n"
        f"print({EVIL!r})\n# {'`' * 9} </code></pre> \N{RIGHT-TO-LEFT OVERRIDE}\n"
    ).encode()
    reproduction = valid.manifest["reproduction"]
    reproduction |= {"title": EVIL, "reference": EVIL, "arguments": [EVIL]}
    valid.manifest["coverage"] = [{"what": EVIL, "why": EVIL}]
    valid.manifest["conduct"] = {
        "private_reads": [{"name": EVIL, "file": "reproduction.py", "line": 3}],
    }
    digests = _spoil_states(valid, text)
    for trace in valid.traces.values():
        trace["events"] = [_spoil_event(event, text, digests) for event in trace["events"]]
    return valid


def _spoil_states(valid: Draft, text: str) -> dict[str, str]:
    """Put the text into each state; gives the new digest of each."""
    digests: dict[str, str] = {}
    for digest, data in list(valid.states.items()):
        changed = data.replace(b'"Pay 100."', _json(text).encode()).replace(b'"call_1"', _json(EVIL).encode())
        del valid.states[digest]
        digests[digest] = sha256(changed)
        valid.states[digests[digest]] = changed
    return digests


def _spoil_event(event: dict[str, Any], text: str, digests: dict[str, str]) -> dict[str, Any]:  # Any: JSON
    if event["kind"] == "script.started":
        return {**event, "arguments": [EVIL]}

    def spoil(key: str, value: Any) -> Any:  # Any: JSON
        if isinstance(value, str) and value in digests:
            return digests[value]
        if key == "tools":
            return [EVIL]
        if key == "interruptions":
            return [{name: spoil(name, part) for name, part in each.items()} for each in value]
        if isinstance(value, str) and key in _NAMES:
            return EVIL
        if isinstance(value, str) and key in _FREE:
            return text
        if isinstance(value, list) and key in _FREE:
            return [{name: spoil(name, part) for name, part in each.items()} for each in value]
        return value

    return {key: spoil(key, value) for key, value in event.items()}


def _json(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _toml(text: str) -> str:
    return "".join(
        letter if letter.isprintable() and letter not in '"\\' else f"\\u{ord(letter):04x}" for letter in text
    )

"""`agentproof-check.html`: a page that makes the first checks of a bundle in a browser.

1. It is a second implementation of docs/format.md, in JavaScript (`templates/checker/`), and is held to
   `tests/conformance` as the command is. The shapes that it knows are the schemas of the models.
2. Its Content-Security-Policy allows one script and one style sheet, by their hashes, and no connection; no
   string can become markup or code (Trusted Types, of which it has none).
3. The pages of `report` stay without a script (`html`): this one reads a bundle, those are read.
"""

import base64
import hashlib
import json
from typing import Any, Final

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from .. import __version__, claims
from ..models.schema import schemas
from .reasons import rule_of

_SCRIPTS: Final = ("encoding.js", "xz.js", "shapes.js", "container.js", "checks.js", "story.js")
_SCHEMAS: Final = ("manifest", "trace", "exchanges", "envelope", "statement")
_SAID_TO_PEOPLE: Final = ("title", "description", "$schema", "$id")


def render_checker() -> str:
    """The page; the same bytes for the same version of agentproof."""
    environment = Environment(
        loader=PackageLoader("agentproof.render", "templates"), autoescape=True, undefined=StrictUndefined
    )
    script = "\n".join(
        ('"use strict";', *_data(), *(_source(environment, f"checker/{each}") for each in _SCRIPTS))
    )
    style = _source(environment, "page.css") + _source(environment, "checker/page.css")
    return environment.get_template("checker/page.html").render(
        script=Markup(script),  # noqa: S704 (our own files, read above)
        script_hash=Markup(_hash(script)),  # noqa: S704 (base64)
        style=Markup(style),  # noqa: S704 (our own files, read above)
        style_hash=Markup(_hash(style)),  # noqa: S704 (base64)
        version=__version__,
    )


def _data() -> list[str]:
    """What the script knows of the format beyond its own text: shapes, and what each rule says."""
    written = schemas()
    shapes = {name: _without_words(json.loads(written[f"{name}.schema.json"])) for name in _SCHEMAS}
    known = [(name, kind.VERSION) for name, kind in claims.AUTHORED.items()]
    known += [(name, kind.VERSION) for name, kind in claims.INVARIANTS.items()]
    rules = {f"{name} {version}": rule_of(name, version) for name, version in known}
    return [f"const {name} = {_literal(value)};" for name, value in (("SCHEMAS", shapes), ("RULES", rules))]


def _without_words(schema: Any, *, names: bool = False) -> Any:  # Any: a part of a JSON Schema
    """A schema without what it says to people; `names` where its keys are names of fields or definitions."""
    if isinstance(schema, list):
        return [_without_words(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: _without_words(value, names=not names and key in ("properties", "$defs"))
        for key, value in schema.items()
        if names or key not in _SAID_TO_PEOPLE
    }


def _literal(value: object) -> str:
    """JSON as a part of a script: `<` begins no tag in it."""
    return json.dumps(value, sort_keys=True, separators=(",", ":")).replace("<", "\\u003c")


def _source(environment: Environment, name: str) -> str:
    if environment.loader is None:
        raise RuntimeError("the environment has no loader")
    return environment.loader.get_source(environment, name)[0]


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"

"""Which methods of the installed SDK the recorder replaces: run inside its environment, it prints JSON.

    PYTHONPATH=CHECKOUT VENV/bin/python CHECKOUT/tests/hooked.py DIRECTORY

`{"trees": {"module:Class": [name, …]}, "replaced": ["module:Class.name", …]}`: classes that are patched with
all below them, and what was replaced once every module is imported that can be imported here. DIRECTORY is
for the journal. Standard library only.
"""

import contextlib
import importlib
import json
import pkgutil
import sys

from agentproof._recorder import adapters, events, importing, patching


def main() -> None:
    """Install the hooks and print what they replaced."""
    events.open_journal(sys.argv[1], "as-written", "0")
    sys.meta_path.insert(0, importing.finder)
    package = importlib.import_module("agents")
    adapter = adapters.adapter_for("openai_agents")
    adapter.install()
    adapter.enter("as-written")
    for module in pkgutil.walk_packages(package.__path__, "agents.", onerror=lambda name: None):
        with contextlib.suppress(Exception):  # an extra that is not installed: found by its base class
            importlib.import_module(module.name)
    trees = {_name(base): sorted(names) for base, names in patching.trees if _is_sdk(base)}
    replaced = {f"{_name(owner)}.{name}" for owner, name, _ in patching.replaced if _is_sdk(owner)}
    found = {"trees": trees, "replaced": sorted(replaced)}
    print(json.dumps(found, indent=1, sort_keys=True))


def _is_sdk(owner: object) -> bool:
    return isinstance(owner, type) and owner.__module__.startswith("agents.")


def _name(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


if __name__ == "__main__":
    main()

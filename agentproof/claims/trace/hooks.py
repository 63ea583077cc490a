"""The lifecycle hooks that a release has."""

from ...models.events import SdkImported
from .evidence import View


def known_hooks(view: View, scope: str) -> frozenset[str]:
    """The names of the release's hooks of this scope (`run` or `agent`); empty where that was not seen."""
    imported = view.of(SdkImported)
    hooks = imported[0].hooks if imported else None
    names = hooks.get(scope) if isinstance(hooks, dict) else None
    return (
        frozenset(name for name in names if isinstance(name, str)) if isinstance(names, list) else frozenset()
    )

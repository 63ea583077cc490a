"""`pylock.toml` (PEP 751), rendered from the manifest's environment by one function.

The file is for installers: with the wheels beside it, `uv pip install -r pylock.toml` and pip build
the same environment. It holds no URL and no index name, since those differ between readers and may
hold credentials; a checker renders it again and compares bytes, so nothing here parses TOML.
"""

from json.encoder import encode_basestring

from .manifest import Environment

PYLOCK = "pylock.toml"


def render(environment: Environment) -> bytes:
    """The one `pylock.toml` of an environment.

    Wheel paths are relative to the file: `wheels/<file name>`. `requires-python` pins the minor
    version, since wheels are chosen for one interpreter; `environments` names the platform.
    """
    major, minor = environment.python.version.split(".")[:2]
    lines = [
        'lock-version = "1.0"',
        f"environments = [{_string(_marker(environment))}]",
        f"requires-python = {_string(f'=={major}.{minor}.*')}",
        'created-by = "agentproof"',
    ]
    for package in environment.packages:
        wheel = ", ".join(
            (
                f"name = {_string(package.wheel)}",
                f"path = {_string(f'wheels/{package.wheel}')}",
                f"size = {package.size}",
                f"hashes = {{ sha256 = {_string(package.sha256)} }}",
            )
        )
        lines += [
            "",
            "[[packages]]",
            f"name = {_string(package.name)}",
            f"version = {_string(package.version)}",
            f"wheels = [{{ {wheel} }}]",
        ]
    return ("\n".join(lines) + "\n").encode()


def _marker(environment: Environment) -> str:
    """The environment as a PEP 508 marker."""
    platform = environment.platform
    return (
        f"platform_python_implementation == 'CPython' and platform_system == {_quoted(platform.system)} "
        f"and platform_machine == {_quoted(platform.machine)}"
    )


def _quoted(text: str) -> str:
    """A marker's string; a quote cannot be escaped there and no platform's name holds one."""
    return "'" + text.replace("'", "") + "'"


def _string(text: str) -> str:
    """A TOML basic string: JSON's escapes are a subset of TOML's, but DEL must be escaped too."""
    return encode_basestring(text).replace("\x7f", "\\u007F")

"""The rendered pylock.toml."""

import tomllib

from packaging.pylock import Pylock

from agentproof.models import pylock
from agentproof.models.manifest import Environment, Package, Platform, Python
from tests.changes import changed

ENVIRONMENT = Environment(
    python=Python(implementation="cpython", version="3.12.1"),
    platform=Platform(system="Linux", machine="x86_64", libc="glibc"),
    as_of="2026-08-12",
    packages=(
        Package(name="demo", version="1.0", wheel="demo-1.0-py3-none-any.whl", sha256="a" * 64, size=3),
        Package(
            name="other", version="2!1.0+x", wheel="other-2!1.0+x-py3-none-any.whl", sha256="b" * 64, size=4
        ),
    ),
    installed_files=7,
)


def test_it_is_what_pep_751_asks_for() -> None:
    lock = Pylock.from_dict(tomllib.loads(pylock.render(ENVIRONMENT).decode()))
    assert [(str(package.name), str(package.version)) for package in lock.packages] == [
        ("demo", "1.0"),
        ("other", "2!1.0+x"),
    ]


def test_wheels_lie_beside_it_and_no_url_is_in_it() -> None:
    text = pylock.render(ENVIRONMENT).decode()
    assert 'path = "wheels/demo-1.0-py3-none-any.whl"' in text
    assert "://" not in text


def test_it_fits_the_recorded_interpreter_and_no_other() -> None:
    lock = Pylock.from_dict(tomllib.loads(pylock.render(ENVIRONMENT).decode()))
    assert str(lock.requires_python) == "==3.12.*"
    (marker,) = lock.environments or ()
    facts = {"platform_python_implementation": "CPython", "platform_machine": "x86_64"}
    assert marker.evaluate({**facts, "platform_system": "Linux"})
    assert not marker.evaluate({**facts, "platform_system": "Darwin"})


def test_one_environment_has_one_rendering() -> None:
    assert pylock.render(ENVIRONMENT) == pylock.render(changed(ENVIRONMENT))


def test_text_that_could_end_a_string_does_not() -> None:
    odd = Package(name='a"\nb\x7f', version="1", wheel="a-1-py3-none-any.whl", sha256="c" * 64, size=1)
    rendered = pylock.render(changed(ENVIRONMENT, packages=(odd,))).decode()
    assert tomllib.loads(rendered)["packages"][0]["name"] == odd.name

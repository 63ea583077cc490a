"""What `--with` names, and which releases an index has."""

from pathlib import Path

import pytest

from agentproof.environment import interpreters
from agentproof.environment import releases as _releases
from agentproof.errors import UsageError
from agentproof.record.target import parse_release, parse_target


@pytest.mark.parametrize(
    ("text", "requirement"),
    [
        ("0.21.0", "openai-agents==0.21.0"),
        ("v0.21.0", "openai-agents==0.21.0"),
        ("0.22.0rc1", "openai-agents==0.22.0rc1"),
        ("latest", "openai-agents"),
        ("openai-agents==0.20.0", "openai-agents==0.20.0"),
    ],
)
def test_a_release_is_a_requirement(text: str, requirement: str) -> None:
    assert parse_target(text).requirement == requirement


def test_a_directory_may_have_an_at_sign_and_a_revision(tmp_path: Path) -> None:
    odd = tmp_path / "a@b"
    odd.mkdir()
    assert parse_target(str(odd)).revision is None
    target = parse_target(f"{odd}@main")
    assert (target.checkout, target.revision) == (odd, "main")
    assert str(tmp_path) not in target.label


@pytest.mark.parametrize("text", ["no-such-thing", "missing.whl", "./nowhere@main", "@", ""])
def test_anything_else_is_refused_with_the_forms_that_there_are(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_target(text)
    assert caught.value.hint is not None


_PAGE = """<!DOCTYPE html><html><body>
<a href="../../f/openai_agents-0.1.0-py3-none-any.whl#sha256=00" data-requires-python="&gt;=3.9">a</a>
<a href="openai_agents-0.2.0-py3-none-any.whl" data-yanked="broken &amp; gone">b</a>
<a href="openai_agents-0.10.0-py3-none-any.whl" data-requires-python="&gt;=3.99">c</a>
<a href="openai_agents-0.3.0.tar.gz">no wheel</a>
<a href="other-9.9-py3-none-any.whl">another project's</a>
</body></html>"""


def test_releases_come_in_order_with_what_is_to_be_known_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "openai-agents" / "index.html"
    page.parent.mkdir()
    page.write_text(_PAGE)
    monkeypatch.setenv("UV_DEFAULT_INDEX", tmp_path.as_uri())
    for name in ("UV_INDEX", "UV_FIND_LINKS", "UV_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    found = _releases.releases("openai_agents", interpreter=interpreters.find())
    assert [(str(each.version), each.yanked, each.fits) for each in found] == [
        ("0.1.0", None, True),
        ("0.2.0", "broken & gone", True),
        ("0.10.0", None, False),
    ]


@pytest.mark.parametrize(
    ("text", "requirement", "newest"),
    [
        ("0.24.0", "openai-agents==0.24.0", False),
        ("latest", "openai-agents", True),
        ("openai-agents[litellm]==0.20.0", "openai-agents[litellm]==0.20.0", False),
        ("other==1", "other==1", False),
    ],
)
def test_a_recording_takes_a_version_as_a_comparison_does(text: str, requirement: str, newest: bool) -> None:
    assert parse_release(text) == (requirement, newest)

"""The title that a script's docstring gives: its whole first line, whatever quotes are in it."""

import pytest

from agentproof.render.story import _DOCSTRING


@pytest.mark.parametrize(
    ("source", "title"),
    [
        (
            '"""The answer is "yes" although "no" was asked for.\n\nMore.\n"""',
            'The answer is "yes" although "no" was asked for.',
        ),
        ('# a comment\n\n"""\nIt says "no".\n"""\n', 'It says "no".'),
        ("'''It's here'''\n", "It's here"),
        ('"It\'s here"\nimport os\n', "It's here"),
        ('r"""Plain."""\n', "Plain."),
    ],
)
def test_the_first_line_of_a_docstring_is_taken_whole(source: str, title: str) -> None:
    found = _DOCSTRING.match(source)
    assert found is not None
    assert found["line"].strip() == title

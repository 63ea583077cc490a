"""What somebody copies out of a report."""

from markdown_it import MarkdownIt


def files_in(text: str) -> dict[str, str]:
    """The files that an issue shows, as somebody copies them: a name, a colon, and a block."""
    tokens = MarkdownIt("commonmark").parse(text)
    found = {}
    for at, token in enumerate(tokens):
        if token.type == "fence" and tokens[at - 1].type == "paragraph_close":
            before = tokens[at - 2].content
            if before.startswith("`") and before.endswith("`:"):
                found[before[1:-2]] = token.content
    return found

"""What reaches people: a checked bundle in the terminal, as Markdown, as one HTML page."""

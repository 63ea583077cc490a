"""Random programs of an SDK, held to the rules and to each other: bugs that nobody has reported yet."""

"""For all tests: lines are as wide as where nobody said how wide a terminal is."""

import os

os.environ.pop("COLUMNS", None)  # pytest-xdist sets it

import json
from pathlib import Path

ANSWERS = json.loads((Path(__file__).parent / "answers.json").read_text())

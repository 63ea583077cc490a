"""What is asked of this run; the host writes another one into the archive (standard library only)."""

import json
from typing import Any, Dict

WANTED: Dict[str, Any] = json.loads("{}")

# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""After a snapshot our agent cannot run ./build.sh any more: permission denied."""
import io
import json
import os
import stat
import tarfile
import tempfile
from pathlib import Path

from agents.sandbox.util.tar_utils import safe_extract_tarfile


def main():
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name, mode in (("build.sh", 0o755), ("notes.txt", 0o644)):
            info = tarfile.TarInfo(name)
            info.mode, info.size = mode, 3
            tar.addfile(info, io.BytesIO(b"hi\n"))
    data.seek(0)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "workspace"
        root.mkdir()
        with tarfile.open(fileobj=data) as tar:
            safe_extract_tarfile(tar, root=root)
        modes = {each.name: oct(stat.S_IMODE(os.stat(each).st_mode)) for each in sorted(root.iterdir())}
    print(json.dumps(modes))


main()

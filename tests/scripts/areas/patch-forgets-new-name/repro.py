# /// script
# requires-python = ">=3.11"
# dependencies = ["openai-agents==0.19.4"]
# ///
"""We pass apply_patch operations as JSON; renames are silently dropped."""
import asyncio
import io
import json
from pathlib import Path

from agents.sandbox.apply_patch import WorkspaceEditor
from agents.sandbox.workspace_paths import WorkspacePathPolicy


class Box:
    """A sandbox session of our own, in memory."""

    def __init__(self):
        self.files = {"/work/a.txt": b"one\n"}

    def normalize_path(self, path, **more):
        return Path("/work") / path

    async def read(self, path, user=None):
        if str(path) not in self.files:
            raise FileNotFoundError(path)
        return io.BytesIO(self.files[str(path)])

    async def write(self, path, data, user=None):
        self.files[str(path)] = data.read()

    async def mkdir(self, path, parents=False, user=None): ...

    async def rm(self, path, recursive=False, user=None):
        del self.files[str(path)]

    def _workspace_path_policy(self):
        return WorkspacePathPolicy(root="/work")


async def main():
    box = Box()
    editor = WorkspaceEditor(box)
    operation = {
        "type": "update_file", "path": "a.txt", "diff": "@@\n-one\n+two\n", "move_to": "b.txt",
    }
    await editor.apply_patch(operation)
    print(json.dumps({name: data.decode() for name, data in sorted(box.files.items())}))


asyncio.run(main())

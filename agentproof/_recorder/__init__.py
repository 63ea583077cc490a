"""The recorder: runs inside the environment under test (standard library only, Python 3.10 to 3.14).

The host never imports it; it packs this directory into one zipapp and starts that with the venv's
Python. It tells what it saw through append-only files in a control directory, and it never raises
into the script: a fault of its own becomes a `recorder.failed` event.
"""

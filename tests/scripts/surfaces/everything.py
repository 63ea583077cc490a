"""All of the scripts beside this one, in one process, with a file of data and an error at the end."""

import asyncio
import pathlib
import sys

from agents import set_tracing_disabled

set_tracing_disabled(True)

import callbacks
import sessions
import states
import streams
import tools

words = (pathlib.Path(__file__).parent / "words.txt").read_text().split()
for module in (tools, states, streams, sessions, callbacks):
    print("==", module.__name__, words[0])
    sys.stdout.flush()
    asyncio.run(module.main())
raise SystemExit(3)

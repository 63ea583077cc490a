"""A recorder of a few lines for the runner's tests: the files of the protocol, no SDK, no hooks.

The script tells it what to do by a comment line `# standin: fork|unforked|crash|silent`.
"""

import hashlib
import json
import os
import runpy
import sys

plan = json.load(open(sys.argv[1]))
control, mode = plan["control"], plan["modes"][0]
with open(f"{control}/seal.key") as stream:
    key = bytes.fromhex(stream.read())
os.unlink(f"{control}/seal.key")
chain = "0"
path = os.path.join(plan["root"], plan["entry"])
source = open(path).read()


def redirect(mode):
    for descriptor, name in ((1, "stdout"), (2, "stderr")):
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        os.dup2(os.open(f"{control}/{mode}.{name}", flags, 0o600), descriptor)


def begin(mode):
    redirect(mode)
    os.chdir(plan["work"][mode])
    write(mode, {"n": "0:1", "lane": "0:0", "after": [], "kind": "script.started", "entry": plan["entry"]})


def sealed(document):
    line = json.dumps(document)
    code = hashlib.blake2b(f"{chain}\n{line}".encode(), key=key, digest_size=16).hexdigest()
    return code, f'{line[:-1]},"mac":"{code}"}}'


def write(mode, event):
    global chain
    chain, line = sealed(event)
    with open(f"{control}/{mode}.jsonl", "a") as stream:
        stream.write(line + "\n")


def replace(name, document):
    with open(f"{control}/{name}.part", "w") as stream:
        stream.write(sealed(document)[1] if name.endswith(".end.json") else json.dumps(document))
    os.replace(f"{control}/{name}.part", f"{control}/{name}")


if "# standin: crash" in source:
    raise RuntimeError("this recorder does not start")
redirect(mode)
if "# standin: fork" in source and len(plan["modes"]) > 1:
    for each in plan["modes"]:
        if os.fork() == 0:
            mode = each
            break
    else:
        os.wait(), os.wait()
        os._exit(0)
begin(mode)
if "# standin: unforked" in source and len(plan["modes"]) > 1:
    replace("unforked.json", {"why": "the script had started a thread"})
sys.argv = [path, *plan["arguments"]]
sys.path[0] = plan["root"]
code = 0
try:
    runpy.run_path(path, run_name="__main__")
except SystemExit as left:
    code = left.code or 0
except BaseException as error:
    import traceback

    traceback.print_exc()
    code = 1
sys.stdout.flush()
write(mode, {"n": "0:2", "lane": "0:0", "after": ["0:1"], "kind": "script.ended", "outcome": "exited", "code": code})
replace(f"{mode}.end.json", {"loaded": [], "conduct": {}, "files": [plan["entry"]], "coverage": []})

"""An MCP server in a few lines that starts at once, and tells what it was given.

Each line of `started` in the home folder is one start. The arguments name the tools; `env` describes the
variables that it got, `banner` prints a greeting first, `fail` ends at once, `hang` never answers.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

names = sys.argv[1:]
with Path.home().joinpath("started").open("a") as log:
    log.write(f"{os.getpid()} {' '.join(names)}\n")
if "banner" in names:
    sys.stdout.write("Welcome to my server!\n{}\n")
if "fail" in names:
    sys.exit("no luck today")
while "hang" in names:
    time.sleep(1)
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    if asked["method"] == "initialize":
        version = asked["params"]["protocolVersion"]
        result = {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
        }
    else:
        about = " ".join(sorted(os.environ)) if "env" in names else "A tool."
        listed = [{"name": n, "description": about, "inputSchema": {"type": "object"}} for n in names]
        result = {"tools": listed}
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}) + "\n")
    sys.stdout.flush()

"""`python -m findspot.resident HOME`: started by the first client that needs it.

It says one word to that client: `ready` once it can be reached, `taken` where another one can, or `apart`
with the reason why there is to be none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from findspot.core.platforms import importing, remote_kind
from findspot.resident.place import listening, only_one


def main(home: Path) -> None:
    """Run the resident process of a home, detached from the process that started it."""
    if os.fork():  # so that no zombie waits for the process that started it
        os._exit(0)
    output, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)

    def say(word: str) -> None:
        os.write(output, f"{word}\n".encode())
        os.close(output)
        os.dup2(nowhere, 2)

    if kind := remote_kind(home):
        say(f"apart the home folder is on a network file system ({kind})")
        return
    with only_one(home) as is_ours:
        if not is_ours:
            say("taken")
            return
        with listening(home) as listener:
            with importing():  # only now: whoever finds the place taken need not wait for it
                from findspot.resident.host import run

            host = run(home, listener, lambda: say("ready"))
    host.finish()  # another one may take the place meanwhile


main(Path(sys.argv[1]))

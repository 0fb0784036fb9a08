"""`python -m findspot` and the `findspot` command."""

from __future__ import annotations

import gc
import sys

_YOUNG_OBJECTS = 10_000
"""Made before the collector looks for cycles; with Python's 700 it takes half the time of reading a graph."""


_STOPPED = 130


def main() -> None:
    """Run the command line and end with its exit code."""
    if sys.argv[1:] in (["--version"], ["-V"]):  # asked by scripts, often: no need to load anything
        from findspot import __version__

        sys.stdout.write(f"findspot {__version__}\n")
        return None
    if sys.argv[1:] == ["remind"]:  # run after every command of an assistant
        from findspot.serve.cli.reminder import remind

        return remind()
    gc.set_threshold(_YOUNG_OBJECTS)
    gc.disable()  # nothing that is imported is garbage
    try:
        from findspot.serve.cli.app import run
    except KeyboardInterrupt:  # before the command line can say so itself
        sys.exit(_STOPPED)
    gc.freeze()
    gc.enable()
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    # `-m` puts the working directory first: a project's own json.py must not be imported.
    if not sys.flags.safe_path:
        del sys.path[0]
    main()

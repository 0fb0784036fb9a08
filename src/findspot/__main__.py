"""`python -m findspot` and the `findspot` command."""

from __future__ import annotations

import gc
import os
import sys

_YOUNG_OBJECTS = 10_000
"""Made before the collector looks for cycles; with Python's 700 it takes half the time of reading a graph."""

_STOPPED = 130


def main() -> None:
    """Run the command line and end with its exit code."""
    arguments = sys.argv[1:]
    if arguments in (["--version"], ["-V"]):  # asked by scripts, often: no need to load anything
        from findspot import __version__

        sys.stdout.write(f"findspot {__version__}\n")
        return None
    if arguments == ["remind"]:  # run after every command of an assistant
        from findspot.serve.cli.reminder import remind

        return remind()
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    if "--in-process" in own:
        os.environ["FINDSPOT_IN_PROCESS"] = "1"
        arguments.remove("--in-process")
    sys.exit(_at_the_door(arguments))


def _at_the_door(arguments: list[str]) -> int:
    """Have the resident process do what was asked; what it cannot do is done here."""
    try:
        if arguments[:1] in (["serve"], ["gateway"]) and not any(
            argument.startswith(_SERVED_HERE) for argument in arguments
        ):
            from findspot.door import pipe

            return pipe.main(arguments)
        from findspot.door import command

        code = command.run(arguments)
        return _run_here(arguments) if code is None else code
    except KeyboardInterrupt:  # before the command line can say so itself
        return _STOPPED


_SERVED_HERE = ("--http", "--from", "--token", "--no-token", "-h", "--help")
"""Options of `serve` with which it is no pipe."""


def _run_here(arguments: list[str]) -> int:
    gc.set_threshold(_YOUNG_OBJECTS)
    gc.disable()  # nothing that is imported is garbage
    from findspot.serve.cli.app import run

    gc.freeze()
    gc.enable()
    code = run(arguments)
    gc.freeze()  # the process ends: nothing has to be looked through once more
    return code


if __name__ == "__main__":
    # `-m` puts the working directory first: a project's own json.py must not be imported.
    if not sys.flags.safe_path:
        del sys.path[0]
    main()

"""Indexing that cannot end before a test lets it, however quick or busy the machine.

One file of the project takes as long to open as a gate is shut: a `sitecustomize` module on the path of
the processes that read files adds an audit hook, which sees each file as it is opened.
"""

from __future__ import annotations

import os
from pathlib import Path

HELD = "zz_held.py"
"""The last file, so that others are done before it."""

_HOOK = """
import os, sys, time
def hook(event, args):
    if event == "open" and isinstance(args[0], str) and args[0].endswith({name!r}):
        while os.path.exists({gate!r}):
            time.sleep(0.01)
sys.addaudithook(hook)
"""


class Gate:
    """Shut until `open` is called; `path` is what the `PYTHONPATH` of the indexing process has to name."""

    def __init__(self, root: Path, folder: Path) -> None:
        """Hold the indexing of the project `root`; `folder` is for the gate's own files."""
        root.mkdir(parents=True, exist_ok=True)
        self.file = root / HELD
        self.file.write_text("def held():\n    return 1\n")
        folder.mkdir(parents=True, exist_ok=True)
        self._gate = folder / "shut"
        self.shut()
        self._hook = folder / "sitecustomize.py"
        self._hook.write_text(_HOOK.format(name=HELD, gate=str(self._gate)))
        self.path = os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))

    def add(self, code: str) -> None:
        """Have each process that the gate holds run this when it starts."""
        with self._hook.open("a") as hook:
            hook.write(code)

    def shut(self) -> None:
        self._gate.touch()

    def open(self) -> None:
        self._gate.unlink(missing_ok=True)

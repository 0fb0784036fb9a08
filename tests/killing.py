"""Workers that are killed again and again, at files and while they start, as where memory is short.

A `sitecustomize` module on the path of the processes that read files adds an audit hook, which sees each
file as it is opened. It kills the process with SIGKILL, which nothing can prepare for.
"""

from __future__ import annotations

import os
from pathlib import Path

from contents import write_files

FATAL = "fatal.py"
"""Every process dies that opens it."""

_HOOK = """
import os, signal, sys
def kill_once(mark):
    try:
        os.mkdir({marks!r} + "/" + mark)
    except FileExistsError:
        return
    os.kill(os.getpid(), signal.SIGKILL)
def hook(event, args):
    if event == "open" and isinstance(args[0], str):
        name = args[0].rpartition("/")[2]
        if name == {fatal!r}:
            os.kill(os.getpid(), signal.SIGKILL)
        if name.endswith("0.py") and name.startswith("part_"):
            kill_once(name)
if "findspot.indexing.worker" in sys.orig_argv[-1]:
    if len(os.listdir({marks!r})) % 4 == 1:
        kill_once("start-" + str(os.getpid()))
    sys.addaudithook(hook)
"""


class Killing:
    """A project of which every tenth file kills the first worker that opens it, and one file each of them."""

    def __init__(self, root: Path, folder: Path, files: int) -> None:
        """Write the files of the project `root`; `folder` is for the hook."""
        (root / ".git").mkdir(parents=True)
        names = [*(f"part_{number:03}.py" for number in range(files)), FATAL]
        write_files(root, {name: f"def {name.partition('.')[0]}():\n    return 1\n" for name in names})
        self.files, self._marks = len(names), folder / "marks"
        self._marks.mkdir(parents=True)
        (folder / "hook").mkdir()
        (folder / "hook/sitecustomize.py").write_text(_HOOK.format(marks=str(self._marks), fatal=FATAL))
        self.path = os.pathsep.join(filter(None, (str(folder / "hook"), os.environ.get("PYTHONPATH"))))

    @property
    def killed(self) -> int:
        """How many were killed, not counting the two at the file that kills all."""
        return len(list(self._marks.iterdir()))

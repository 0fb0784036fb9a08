"""The process that reads commits into the database, newest first, so that nobody waits for it.

`python -m findspot.history.commit_worker ROOT FOLDER` prints how far it is, and ends with whoever started it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from findspot.core.git import current_commit
from findspot.core.platforms import answers_on_stdout
from findspot.embed.provider_registry import IN_THE_BOX, open_embedder
from findspot.history.commit_log import commit_ids, read_commits
from findspot.history.commit_store import CommitStore

BATCH = 250
"""Commits that are stored at once: what is stored is kept if the process ends."""


def bring_up_to_date(
    root: Path,
    store: CommitStore,
    most_new: int | None = None,
    show: Callable[[int, int], None] = lambda _done, _total: None,
) -> bool:
    """Store the commits that HEAD reaches, and only those; returns whether all of them are stored.

    With `most_new`, nothing is done where more are missing. `show` gets how many are stored, and of how many.
    """
    head = current_commit(root) or ""
    wanted = commit_ids(root) if head else []
    with store.writing() as writer:
        known = writer.known()
        missing = [name for name in wanted if name not in known]
        if most_new is not None and len(missing) > most_new:
            return False
        if missing:
            embedder = open_embedder(IN_THE_BOX)
            for at in range(0, len(missing), BATCH):
                writer.add(read_commits(root, missing[at : at + BATCH]), embedder)
                show(len(wanted) - len(missing) + at, len(wanted))
        is_complete = writer.finish(head, set(wanted))
    if not is_complete:  # more is left behind than there is: begin again
        store.remove()
    return is_complete


def _main(root: Path, folder: Path) -> None:
    answers = answers_on_stdout()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with contextlib.suppress(OSError):
        os.nice(10)

    def show(done: int, total: int) -> None:
        answers.write(f"{done} {total}\n".encode())
        answers.flush()

    bring_up_to_date(root, CommitStore(folder), show=show)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


if __name__ == "__main__":
    _main(Path(sys.argv[1]), Path(sys.argv[2]))

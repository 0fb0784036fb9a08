"""On whose behalf work is done: the folder and the environment of the client that asked.

One process answers many clients. What one of them finds by a relative path, or sets in its environment, is
its own; work that nobody asked for, such as watching, has those of the process.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Caller:
    folder: Path
    environ: Mapping[str, str]


_current: ContextVar[Caller | None] = ContextVar("caller", default=None)


@contextmanager
def on_behalf_of(caller: Caller) -> Iterator[None]:
    """Do what follows, in this task and the threads that it waits for, on behalf of a client."""
    before = _current.set(caller)
    try:
        yield
    finally:
        _current.reset(before)


class _Environment(Mapping[str, str]):
    def __getitem__(self, name: str) -> str:
        return self._variables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._variables)

    def __len__(self) -> int:
        return len(self._variables)

    @property
    def _variables(self) -> Mapping[str, str]:
        caller = _current.get()
        return os.environ if caller is None else caller.environ


ENVIRONMENT = _Environment()


def working_folder() -> Path:
    """Return where whoever asked is; `OSError` if that folder is gone."""
    caller = _current.get()
    if caller is None:
        return Path.cwd()
    caller.folder.stat()
    return caller.folder

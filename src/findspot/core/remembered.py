"""Settings that are read again only when something they come from has changed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from findspot.core.config import load_settings, settings_files
from findspot.core.files import stat_of
from findspot.core.keys import KEYS
from findspot.core.log import get_logger
from findspot.core.settings import Settings

_log = get_logger("config")

_SETTLED_NS = 2_000_000_000
"""A file written less than this ago may be written again without a new time: it is read each time."""

_PREFIXES = tuple({key.variable.partition("_")[0] + "_" for key in KEYS})
"""How the variables that hold settings begin: looking at those that are set is quicker than at all."""

_Stamp = tuple[int, int, int] | None


class RememberedSettings:
    """The configuration of one project; edits to its files and the environment count at once."""

    def __init__(self, root: Path, index: Path, flags: Mapping[str, Any]) -> None:
        self._root = root
        self._index = index
        self._flags = flags
        self._guard = threading.Lock()
        self._kept: tuple[tuple[Any, ...], Settings] | None = None

    def now(self) -> Settings:
        environment = {name: os.environ[name] for name in os.environ if name.startswith(_PREFIXES)}
        stamps = tuple(map(_stamp, settings_files(self._root, self._index)))
        with self._guard:
            if self._kept is not None and self._kept[0] == (environment, stamps):
                return self._kept[1]
        settings = load_settings(self._root, self._index, self._flags)
        for warning in settings.warnings:
            _log_once(self._root, warning)
        settled_before = time.time_ns() - _SETTLED_NS
        with self._guard:
            if all(stamp is None or stamp[0] < settled_before for stamp in stamps):
                self._kept = (environment, stamps), settings
        return settings


@lru_cache(maxsize=1_000)
def _log_once(root: Path, warning: str) -> None:
    _log.warning("%s: %s", root, warning)


def _stamp(path: Path) -> _Stamp:
    info = stat_of(path)
    return (info.st_mtime_ns, info.st_size, info.st_ino) if info else None

"""A long-lived server that indexes: what it takes before, at most, and after."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from benchmarks.memory import PeakMemory
from benchmarks.start import OURS, Server
from findspot.indexing.workers import KEEP_S

_SETTLE_S = KEEP_S + 5
"""The spare worker is ended by then."""

_TURNS = 3


def run(root: Path) -> dict[str, Any]:
    """PSS of the server with all its workers, in MB; indexed in full again and again, it must not grow."""
    server = Server(OURS, Path(os.environ["FINDSPOT_HOME"]), cwd=root)
    started = server.pss_mb()
    peaks, settled = [], []
    for turn in range(_TURNS):
        with PeakMemory(server.pid) as peak:
            server.call("index_codebase", path=str(root), force=turn > 0, confirm=True)
        peaks.append(round(peak.mb))
        after = server.pss_mb()
        time.sleep(_SETTLE_S)
        settled.append(round(server.pss_mb()))
    server.call("search_code", query="how is an error handled", path=str(root))
    searched = server.pss_mb()
    server.close()
    return {
        "started_mb": round(started),
        "peak_mb": peaks,
        "right_after_mb": round(after),
        "settled_mb": settled,
        "searched_mb": round(searched),
    }

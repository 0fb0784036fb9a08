"""Memory of a process and all its children, as the system accounts it (PSS), and what the machine is."""

from __future__ import annotations

import os
import platform
import threading
from pathlib import Path


def machine() -> dict[str, str]:
    """Return what figures depend on."""
    cpus = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    named = (line.split(":")[1].strip() for line in cpus if line.startswith("model name"))
    return {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cpu": f"{os.cpu_count()} × {next(named, platform.machine())}",
        "load": " ".join(f"{load:.1f}" for load in os.getloadavg()),
    }


def tree(pid: int) -> list[int]:
    """A process and everything it started."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found.extend(tree(int(child)))
    return found


def pss_mb(pid: int) -> float:
    """Proportional set size of a process tree in MB: shared pages are counted once in all."""
    total_kb = 0
    for member in tree(pid):
        try:
            lines = Path(f"/proc/{member}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue  # it ended meanwhile
        total_kb += next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)
    return total_kb / 1024


class PeakMemory:
    """The highest PSS of a process tree while the block runs."""

    def __init__(self, pid: int, every_s: float = 0.1) -> None:
        self.mb = 0.0
        self._pid = pid
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(every_s,), daemon=True)

    def _watch(self, every_s: float) -> None:
        while not self._stop.wait(every_s):
            try:
                self.mb = max(self.mb, pss_mb(self._pid))
            except OSError:
                return

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

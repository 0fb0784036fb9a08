"""What a first run will do, before it does it: how much there is, and about what it will take."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from findspot.core.roots import Roots
from findspot.core.settings import Settings
from findspot.discover.walk import walk
from findspot.indexing.pipeline import policy_of

FILES_A_SECOND = 150
BYTES_A_SECOND = 1_500_000
"""On two cores, half of what was measured: a promise that is kept on slower machines too."""

DISK_SHARE = 2.5
"""What an index takes of the disk, against the files it is made of."""


@dataclass(frozen=True, slots=True)
class Foreseen:
    """A project as it would be indexed."""

    files: int
    size: int
    left_out: dict[str, int]

    @property
    def seconds(self) -> float:
        return max(self.files / FILES_A_SECOND, self.size / BYTES_A_SECOND)

    @property
    def disk(self) -> int:
        return int(self.size * DISK_SHARE)


def foresee(tree: Roots, settings: Settings) -> Foreseen:
    """Walk a project without reading its files."""
    found = walk(tree, policy_of(settings))
    left_out = Counter(str(skip.reason) for skip in found.skips)
    return Foreseen(len(found.files), sum(file.size for file in found.files), dict(left_out))

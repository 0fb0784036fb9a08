"""What kind of file system a path is on, as far as that matters."""

from __future__ import annotations

from pathlib import Path

_REMOTE = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "lustre", "vboxsf", "davfs", "drvfs"}
)
"""File systems that other machines write to as well; FUSE is judged by what is behind it."""
_REMOTE_FUSE = ("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.gcsfuse", "fuse.glusterfs")


def remote_kind(path: Path, table: str = "/proc/self/mounts") -> str | None:
    """Return the kind of file system a path is on, where that is a remote one; known on Linux only."""
    try:
        with open(table, encoding="utf-8", errors="replace") as mounts:  # noqa: PTH123
            rows = [line.split(" ") for line in mounts]
    except OSError:
        return None
    best, kind = "", ""
    for _, spelled, its_kind, *_ in rows:
        place = spelled.replace("\\040", " ")
        if path.is_relative_to(place) and len(place) >= len(best):
            best, kind = place, its_kind
    return kind if kind in _REMOTE or kind.startswith(_REMOTE_FUSE) else None

"""From what a file system reports to paths as the index spells them."""

from __future__ import annotations

import os
from pathlib import Path

from findspot.core.denied import is_denied
from findspot.core.keys import PROJECT_FILE
from findspot.core.roots import Roots
from findspot.discover.ignore import GITIGNORE, OWN_IGNORE
from findspot.discover.names import nfc
from findspot.discover.root import GIT

EVERYTHING = ""
"""The path of the root: the whole project is to be looked at."""

_RULES = frozenset({GITIGNORE, OWN_IGNORE, PROJECT_FILE})
"""Files that decide about other files."""


def changed_path(root: Path | Roots, reported: str) -> str | None:
    """Return the path that has to be looked at; None for what can never be in the index.

    The deny list comes first: most of what happens in a project happens in build folders, caches
    and the swap files of editors.
    """
    roots = Roots.of(root)
    spelled = roots.spelled(Path(os.path.normpath(reported)))
    if spelled is None:
        return None
    if reported in map(str, roots.folders):
        return nfc(spelled)
    top, inside = ("", spelled) if not roots.named else spelled.split("/", 1)
    *folders, name = nfc(inside).split("/")
    if any(is_denied(folder, True) for folder in folders):
        return None
    above = [nfc(top), *folders] if top else folders  # no rule is about the name of a root
    if name == GIT and folders:
        return "/".join(above)  # the folder became a project of its own, or part of this one
    if is_denied(name, False, prefix="/".join((*folders, ""))):
        return None
    if is_denied(name, True) and os.path.isdir(reported):  # noqa: PTH112
        return None
    if name in _RULES:
        return "/".join(above)  # the rules of a folder hold below it
    if not name.isascii():
        # Another name that differs only in its Unicode form may be in or out because of this one.
        return "/".join(above)
    return "/".join((*above, name))

"""Where things are: project roots, paths inside them, and the folders of indexes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import unicodedata
from functools import lru_cache
from pathlib import Path, PurePosixPath

from findspot.core.caller import working_folder
from findspot.core.errors import InvalidArgumentError, PathNotFoundError, PermissionDeniedError
from findspot.core.platforms import IGNORES_CASE, as_stored

INDEX_HASH_CHARS = 32
LEGACY_INDEX_HASH_CHARS = 16
GITIGNORE = ".gitignore"


def expanded(path: str | Path) -> Path:
    """Return a user's path with `~` as the home folder; `~nobody` is the name of a file, too."""
    return Path(os.path.expanduser(path))  # noqa: PTH111 - `Path.expanduser` raises for an unknown user


def absolute(path: str | Path) -> Path:
    """Return a user's path from the folder that the user is in."""
    given = expanded(path)
    return given if given.is_absolute() else working_folder() / given


def project_root(path: str | Path) -> Path:
    """Return the absolute, symlink-free form of a folder that exists."""
    try:
        root = absolute(path).resolve(strict=True)
        if root.is_dir():
            os.scandir(root).close()
            return as_stored(root) if IGNORES_CASE else root
    except PermissionError as error:
        raise PermissionDeniedError(str(path)) from error
    except (OSError, ValueError, RuntimeError) as error:
        raise PathNotFoundError(str(path), _why_not(path)) from error
    raise PathNotFoundError(str(path), "It is a file; name the folder that it is in.")


def _why_not(path: str | Path) -> str:
    try:
        working_folder()
    except OSError:
        if not Path(path).is_absolute():
            return "The working folder is gone; change to one that is there."
    return "There is no such folder."


def storable_root(path: str | Path) -> Path:
    """Return the root of a project that can be indexed: a database holds names as UTF-8 only."""
    root = project_root(path)
    if (shown := str(root).encode(errors="replace").decode()) != str(root):
        raise InvalidArgumentError(f"The path {shown} is not UTF-8.", hint="Rename the folder.")
    return root


def relative_path(root: Path, given: str) -> str:
    """Return a user's path to a file as the index spells it: POSIX, NFC, relative to the root.

    Accepts an absolute path inside the root and either slash; a path that leaves the root is
    refused by its spelling alone, so that nothing outside is looked at.
    """
    if not given or "\0" in given:
        raise InvalidArgumentError("The path is empty or holds a NUL character.", repr(given))
    native = expanded(given)
    if native.is_absolute():
        lexical = os.path.normpath(native)
        try:
            given = Path(lexical).relative_to(root).as_posix()
        except ValueError:
            raise outside(given, root) from None
    parts: list[str] = []
    for part in PurePosixPath(given.replace("\\", "/")).parts:
        if part == "..":
            if not parts:
                raise outside(given, root)
            parts.pop()
        elif part != ".":
            parts.append(part)
    return unicodedata.normalize("NFC", "/".join(parts))


def outside(given: str, root: Path) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"The path '{given}' is outside the project.",
        f"{given} is not below {root}",
        hint="Give a path relative to the project's root.",
    )


def index_key(root: Path) -> str:
    """Return the name of a project's index folder: a hash of its absolute path."""
    return hashlib.sha256(str(root).encode("utf-8", "surrogateescape")).hexdigest()[:INDEX_HASH_CHARS]


def index_folder(home: Path, root: Path) -> Path:
    """Return the index folder of a project; a legacy short-named one is used where it exists."""
    key = index_key(root)
    legacy = home / "indexes" / key[:LEGACY_INDEX_HASH_CHARS]
    return legacy if legacy.is_dir() else home / "indexes" / key


SCHEME = "dep://"
"""How the paths of files in packages begin: `dep://pypi/requests@2.32.3/requests/api.py`."""


def package_of(path: str) -> str:
    """Return the package that a `dep://` path is in, by its label; names may have a slash of their own."""
    before, _, after = path.removeprefix(SCHEME).rpartition("@")
    return f"{before}@{after.partition('/')[0]}"


PACKAGE_SOURCES = "dependencies/sources"
"""Where packages that are archives are unpacked, below the home."""

# fmt: off
OWN_FOLDERS = frozenset({
    "indexes", "dependencies", "document_sets", "documents", "catalogues", "logins", "models",
    "setup", "logs", "spool", "ui",
})
# fmt: on
_OWN_FILES = ("config.json", "usage.sqlite", "calls.sqlite", "activity.sqlite")
_OTHERS = 0o077


@lru_cache(maxsize=64)
def own_paths(home: Path, base: Path) -> frozenset[str]:
    """Return what lies below a folder and is Findspot's: never indexed, or each run would change the next.

    Paths are relative to `base`; the empty path is `base`. Where `base` is the home, only the folders that
    Findspot makes there count.
    """
    real, below = Path(os.path.realpath(home)), Path(os.path.realpath(base))
    if real == below:
        return OWN_FOLDERS
    if real / PACKAGE_SOURCES in below.parents:  # unpacked, to be searched
        return frozenset()
    if real in below.parents:
        return frozenset({""} if below.relative_to(real).parts[0] in OWN_FOLDERS else ())
    return frozenset({real.relative_to(below).as_posix()} if below in real.parents else ())


def restrict_home(home: Path) -> None:
    """Take from others the rights to our files in an existing home.

    A home that holds other files too may be a folder that others need: there only our own entries change.
    """
    if os.name != "posix":
        return
    try:
        with os.scandir(home) as entries:
            listed = list(entries)
    except OSError:
        return
    ours = [entry for entry in listed if entry.name in OWN_FOLDERS or entry.name.startswith(_OWN_FILES)]
    for entry in ours:
        _restrict(Path(entry.path))
    if ours and len(ours) == sum(entry.name != GITIGNORE for entry in listed):
        _restrict(home)


def restrict_tree(folder: Path) -> None:
    """Take from others the rights to everything in a folder of ours, whoever created it.

    `core/files.py` creates files for their owner alone. Libraries create theirs as the umask says, which is
    one for the whole process: until they are done, only the mode of the folder around them keeps others out.
    """
    if os.name != "posix":
        return
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            _restrict(f"{above}/{name}")


def _restrict(path: str | Path) -> None:
    with contextlib.suppress(OSError):
        info = os.lstat(path)  # called after every edit; Path.lstat takes several times as long
        is_ours = info.st_uid == os.geteuid() and not stat.S_ISLNK(info.st_mode)
        if is_ours and info.st_mode & _OTHERS and not info.st_mode & stat.S_ISVTX:
            Path(path).chmod(stat.S_IMODE(info.st_mode) & ~_OTHERS)

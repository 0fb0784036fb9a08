"""A published index as one file: a ZIP archive of its folder, which may come from anyone."""

from __future__ import annotations

import re
import secrets
import zipfile
from pathlib import Path

from findspot.core.errors import FindspotError, IndexCorruptError, InvalidArgumentError
from findspot.core.files import make_private_dir, open_named, remove_folder, replacing
from findspot.publishing.published import PublishedIndex

IMPORTED = "imported-"
"""How the names of the folders begin that archives are unpacked into."""

_NAME = re.compile(r"(?:(?!\.\.?/)[\w.-]{1,99}/)+(?!\.\.?$)[\w.-]{1,99}", re.ASCII)
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Of the others, `zipfile` unpacks a whole block before it looks how long a file says that it is."""
_MOST_FILES, _MOST_BYTES = 100_000, 16 << 30
"""Unpacked: several times what the index of the largest repositories takes."""


def pack(folder: Path, file: Path) -> None:
    """Write what a folder holds to an archive, whole or not at all."""
    with replacing(file) as out, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(folder))


def unpack(file: Path, below: Path) -> Path:
    """Unpack an archive into a new folder below one, and return it; what cannot be used leaves nothing.

    `zipfile` writes plain files only, none of them outside of the folder, and none longer than it says.
    """
    folder = below / f"{IMPORTED}{secrets.token_hex(4)}"
    try:
        with open_named(file) as source, zipfile.ZipFile(source) as archive:
            members = archive.infolist()
            if len(members) > _MOST_FILES or sum(member.file_size for member in members) > _MOST_BYTES:
                raise zipfile.BadZipFile("too large")
            if not all(each.compress_type in _METHODS and _NAME.fullmatch(each.filename) for each in members):
                raise zipfile.BadZipFile("a member that is not ours")
            make_private_dir(folder)
            archive.extractall(folder)
        if not PublishedIndex(str(folder)).versions():
            raise IndexCorruptError("no version of this format")
    except BaseException as error:
        remove_folder(folder)
        is_known = isinstance(error, FindspotError | OSError) or not isinstance(error, Exception)
        if is_known and not isinstance(error, IndexCorruptError | NotADirectoryError | IsADirectoryError):
            raise
        raise InvalidArgumentError(
            f"{file} is not an archive that `findspot export` of this version wrote.", f"{file}: {error}"
        ) from error
    return folder

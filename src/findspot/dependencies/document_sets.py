"""Offline documentation sets: folders, archives, manual pages and info files as named, versioned packages."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import lzma
import os
import re
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from findspot.core.errors import InvalidArgumentError
from findspot.core.files import make_private_dir, open_named, read_below, remove_folder, write_below
from findspot.core.languages import language_of, row
from findspot.core.paths import DOCUMENT_SETS, expanded
from findspot.dependencies.document_text import text_of_html, text_of_info, text_of_manual
from findspot.dependencies.package import DOCS, Dependency

MAX_DOCUMENTS = 50_000
MAX_DOCUMENT_BYTES = 4_000_000
MAX_SET_BYTES = 1_000_000_000
_LONGEST_NAME, _LONGEST_PATH = 200, 1_000

MAN, INFO = "man", "info"
_SYSTEM_FOLDERS = {
    MAN: ("/usr/share/man", "/usr/local/share/man", "/opt/homebrew/share/man"),
    INFO: ("/usr/share/info", "/usr/local/share/info", "/opt/homebrew/share/info"),
}
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,79}")
_MANUAL = re.compile(r"(.+)\.([1-9][a-z]*)")
_INFO_FILE = re.compile(r".+\.info(?:-\d+)?")
_TEXT_ENDINGS = (".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".org")
_PACKED: dict[str, Callable[[BinaryIO], io.BufferedIOBase]] = {
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed), ".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile,
}  # fmt: skip

Member = tuple[str, Callable[[], bytes]]


def list_sets(home: Path) -> list[Dependency]:
    """Return the documentation sets that were added."""
    folders = sorted((home / DOCUMENT_SETS).glob("*@*"))
    named = [(folder, *folder.name.rpartition("@")[::2]) for folder in folders if folder.is_dir()]
    return [Dependency(DOCS, name, version, False, folder) for folder, name, version in named]


def add_set(home: Path, source: str, name: str, version: str) -> tuple[Dependency, int]:
    """Read documents from a folder, an archive or the manuals of this machine; return the set and a count."""
    for given in (name, version):
        if not _NAME.fullmatch(given):
            raise InvalidArgumentError(f"'{given}' cannot be a name or version: use letters, digits, . + - _")
    folder = home / DOCUMENT_SETS / f"{name}@{version}"
    with _building(folder) as beginning:
        count = _write(beginning, _documents(source))
        if not count:
            raise InvalidArgumentError(
                f"{source} holds no documents that can be read.",
                hint="HTML, Markdown, reStructuredText, plain text, manual pages and info files are.",
            )
    return Dependency(DOCS, name, version, False, folder), count


@contextlib.contextmanager
def _building(folder: Path) -> Iterator[Path]:
    """Provide a new folder that takes the place of another one once it is complete."""
    beginning = folder.with_name(f".{folder.name}.new")
    remove_folder(beginning)
    make_private_dir(beginning)
    try:
        yield beginning
        remove_folder(folder)
        beginning.rename(folder)
    finally:
        remove_folder(beginning)


def _write(folder: Path, documents: Iterable[tuple[str, bytes]]) -> int:
    """Write files into a folder and return how many; names that clash or are too long are left out."""
    files: set[str] = set()
    folders: set[str] = set()
    size = 0
    for path, data in documents:
        parents = [str(parent) for parent in PurePosixPath(path).parents][:-1]
        too_long = any(len(part.encode("utf-8", "replace")) > _LONGEST_NAME for part in path.split("/"))
        if too_long or len(path) > _LONGEST_PATH or path in folders or files.intersection(parents):
            continue
        size += len(data)
        if len(files) >= MAX_DOCUMENTS or size > MAX_SET_BYTES:
            limits = f"{MAX_DOCUMENTS:,} files or {MAX_SET_BYTES // 1_000_000:,} MB"
            raise InvalidArgumentError(f"There are more than {limits}.", hint="Add a part of it.")
        write_below(folder, path, data)
        files.add(path)
        folders.update(parents)
    return len(files)


def _documents(source: str) -> Iterator[tuple[str, bytes]]:
    for path, read in _members(source):
        text = _text(path, read)
        if text.strip():
            place = PurePosixPath(_without_packing(path))
            place = place if path.endswith(_TEXT_ENDINGS) else place.with_name(f"{place.name}.md")
            yield place.as_posix(), text.encode("utf-8", "replace")


def remove_set(home: Path, name: str) -> bool:
    """Delete a set, `name` or `name@version`; False where there is none."""
    found = [each for each in list_sets(home) if name in (each.name, f"{each.name}@{each.version}")]
    for each in found:
        if each.folder is not None:
            remove_folder(each.folder)
    return bool(found)


def unpacked_sources(home: Path, package: Dependency) -> Path:
    """Return a folder with the files of a package that is an archive; they are unpacked once."""
    assert package.folder is not None
    name = re.sub(r"[^\w.+-]", "+", f"{package.name}@{package.version}")[:100]
    folder = home / DOCUMENT_SETS / f".{package.ecosystem}" / f"{name}-{package.folder.stat().st_size}"
    if not folder.is_dir():
        make_private_dir(folder.parent)
        with _building(folder) as beginning:
            _write(beginning, _sources(str(package.folder)))
    return folder


def _sources(archive: str) -> Iterator[tuple[str, bytes]]:
    for path, read in _members(archive):
        if row(language_of(path)).grammar:
            yield path, read()


def _members(source: str) -> Iterator[Member]:
    if source in _SYSTEM_FOLDERS:
        for place in _SYSTEM_FOLDERS[source]:
            yield from _in_folder(Path(place))
        return
    path = expanded(source)
    if path.is_dir():
        yield from _in_folder(path)
        return
    try:
        yield from _in_archive(path)
    except FileNotFoundError:
        raise InvalidArgumentError(f"There is no folder or archive {source}.") from None
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError, RuntimeError) as error:
        raise InvalidArgumentError(f"{source} cannot be read: {error}.") from error


def _in_folder(base: Path) -> Iterator[Member]:
    """Yield the files of a folder, links left out."""
    for folder, folders, names in os.walk(base):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            inside = (Path(folder) / name).relative_to(base).as_posix()
            yield inside, partial(read_below, base, inside, MAX_DOCUMENT_BYTES)


def _in_archive(path: Path) -> Iterator[Member]:
    with open_named(path) as opened:
        if zipfile.is_zipfile(opened):
            with zipfile.ZipFile(opened) as archive:
                for entry in archive.infolist():
                    small = not entry.is_dir() and entry.file_size <= MAX_DOCUMENT_BYTES
                    if small and _is_safe(entry.filename):
                        yield entry.filename, partial(archive.read, entry)
            return
        opened.seek(0)
        with tarfile.open(fileobj=opened) as files:
            for member in files:
                if member.isreg() and _is_safe(member.name) and member.size <= MAX_DOCUMENT_BYTES:
                    held = files.extractfile(member)
                    yield str(PurePosixPath(member.name)), held.read if held is not None else bytes


def _is_safe(name: str) -> bool:
    path = PurePosixPath(name)
    leads_out = path.is_absolute() or ".." in path.parts
    return bool(path.parts) and not leads_out and "\\" not in name and ":" not in name


def _without_packing(path: str) -> str:
    ending = PurePosixPath(path).suffix.lower()
    return path[: -len(ending)] if ending in _PACKED else path


def _text(path: str, read: Callable[[], bytes]) -> str:
    """Return the readable text of a document; nothing for a file that is none."""
    unpack = _PACKED.get(PurePosixPath(path).suffix.lower())
    bare = _without_packing(path).rpartition("/")[2]
    manual = _MANUAL.fullmatch(bare)
    is_page = bare.lower().endswith((".html", ".htm", ".xhtml"))
    if not (manual or is_page or _INFO_FILE.fullmatch(bare) or bare.lower().endswith(_TEXT_ENDINGS)):
        return ""
    try:
        data = _unpacked(read(), unpack) if unpack is not None else read()
    except (OSError, ValueError, EOFError, lzma.LZMAError, zlib.error, RuntimeError):
        return ""
    text = data[:MAX_DOCUMENT_BYTES].decode("utf-8", "replace")
    if is_page:
        return text_of_html(text)
    if manual and not bare.lower().endswith(_TEXT_ENDINGS):
        return text_of_manual(text, f"{manual[1]}({manual[2]})")
    return text_of_info(text) if _INFO_FILE.fullmatch(bare) else text


def _unpacked(data: bytes, unpack: Callable[[BinaryIO], io.BufferedIOBase]) -> bytes:
    """Return the beginning of a packed file: a small one may hold any amount."""
    with unpack(io.BytesIO(data)) as opened:
        return opened.read(MAX_DOCUMENT_BYTES)

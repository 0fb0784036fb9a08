"""Downloaded packages as streams of text files, with the licence each one declares."""

from __future__ import annotations

import io
import json
import re
import subprocess
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from email.parser import HeaderParser
from pathlib import Path

import licences

MAX_FILE_BYTES = 300_000
MAX_FILES = 4_000
VENDORED = re.compile(
    r"(^|/)(vendor|_vendor|vendored|third[_-]?party|node_modules|extern(al)?s?|deps|bundled|debian|\.git)/",
    re.I,
)
BUILT = re.compile(
    r"\.min\.|cdn\.|(^|/)(umd|cjs|bundles?|generated|gen|_esm|_cjs|es5|esm2015)/|_pb2|\.pb\.|\.bundle\."
)


@dataclass(frozen=True)
class Package:
    """One archive: what it is, under which licence, and how to read it."""

    ecosystem: str
    name: str
    version: str
    licence: str
    summary: str
    description: str
    archive: Path
    copyright: licences.DebianCopyright | None = None

    def files(self, wanted: frozenset[str]) -> Iterator[tuple[str, str]]:
        """Path and text of each file with a wanted suffix, vendored copies left out."""
        seen = 0
        for path, data in _members(self.archive, wanted):
            inner = path if self.ecosystem in ("pypi", "deb") else path.partition("/")[2]
            if VENDORED.search(f"/{inner}") or BUILT.search(f"/{inner}"):
                continue
            if self.ecosystem == "debsrc" and self.copyright and not self.copyright.allows(inner):
                continue
            seen += 1
            if seen > MAX_FILES:
                return
            yield inner, data.decode("utf-8", "replace")


def packages(cache: Path) -> Iterator[Package]:
    """Every downloaded package whose licence is permissive, in a fixed order."""
    for wheel in sorted((cache / "pypi").glob("*/*.whl")):
        yield from _wheel(wheel)
    for tarball in sorted((cache / "npm").glob("*/*.tgz")):
        yield from _npm(tarball)
    for deb in sorted((cache / "deb").glob("*.deb")):
        yield from _deb(deb)
    for folder in sorted((cache / "debsrc").glob("*")):
        yield from _debian_source(folder)


def _wheel(wheel: Path) -> Iterator[Package]:
    with zipfile.ZipFile(wheel) as opened:
        name = next((entry for entry in opened.namelist() if entry.endswith(".dist-info/METADATA")), None)
        if name is None:
            return
        metadata = opened.read(name).decode("utf-8", "replace")
    licence = licences.of_wheel(metadata)
    if licence:
        headers = HeaderParser().parsestr(metadata)
        description = headers.get_payload()
        yield Package(
            "pypi",
            wheel.parent.name,
            headers.get("Version", ""),
            licence,
            headers.get("Summary", ""),
            description if isinstance(description, str) else "",
            wheel,
        )


def _npm(tarball: Path) -> Iterator[Package]:
    try:
        with tarfile.open(tarball) as opened:
            member = next(
                (
                    entry
                    for entry in opened
                    if entry.name.count("/") == 1 and entry.name.endswith("/package.json")
                ),
                None,
            )
            stream = opened.extractfile(member) if member else None
            manifest = stream.read().decode("utf-8", "replace") if stream else ""
    except (tarfile.TarError, OSError, EOFError):
        return
    licence = licences.of_npm(manifest)
    if licence:
        about = json.loads(manifest)
        summary = str(about.get("description", ""))
        yield Package(
            "npm",
            tarball.parent.name.replace("__", "/"),
            str(about.get("version", "")),
            licence,
            summary,
            "",
            tarball,
        )


def _deb(deb: Path) -> Iterator[Package]:
    name, version = deb.name.split("_")[:2]
    text = b""
    for path, data in _members(deb, frozenset({"copyright"})):
        if path.endswith(f"/doc/{name}/copyright"):
            text = data
            break
    found = licences.DebianCopyright(text.decode("utf-8", "replace"))
    if found.wholly_permissive:  # installed paths cannot be matched against those of the source
        yield Package("deb", name, version, found.main, "", "", deb, found)


def _debian_source(folder: Path) -> Iterator[Package]:
    archives = sorted(folder.glob("*.orig.tar.*[z2]"))
    packaging = next(iter(folder.glob("*.debian.tar.*")), None)
    if not archives or packaging is None:
        return
    text = b""
    for path, data in _members(packaging, frozenset({"copyright"})):
        if path.endswith("debian/copyright"):
            text = data
    found = licences.DebianCopyright(text.decode("utf-8", "replace"))
    if found.main:
        version = packaging.name.split("_")[1].split(".debian")[0]
        yield Package("debsrc", folder.name, version, found.main, "", "", archives[0], found)


def _members(archive: Path, wanted: frozenset[str]) -> Iterator[tuple[str, bytes]]:
    """Regular files with a wanted suffix or name, of any kind of archive, none of them too large."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as opened:
            for entry in opened.infolist():
                if entry.file_size <= MAX_FILE_BYTES and _is_wanted(entry.filename, wanted):
                    yield entry.filename, opened.read(entry)
        return
    try:
        source: io.BufferedIOBase | None = None
        if archive.suffix == ".deb":
            unpacked = subprocess.run(
                ["dpkg-deb", "--fsys-tarfile", archive], capture_output=True, check=True
            )
            source = io.BytesIO(unpacked.stdout)
        with tarfile.open(None if source else archive, "r:*", fileobj=source) as tar:
            for member in tar:
                if member.isfile() and member.size <= MAX_FILE_BYTES and _is_wanted(member.name, wanted):
                    stream = tar.extractfile(member)
                    if stream:
                        yield member.name.removeprefix("./"), stream.read()
    except (tarfile.TarError, OSError, EOFError, subprocess.CalledProcessError):
        return


def _is_wanted(path: str, wanted: frozenset[str]) -> bool:
    name = path.rsplit("/", 1)[-1].lower()
    return name in wanted or name.rsplit(".", 1)[-1] in wanted

"""Java: what Maven and Gradle projects name, and the archives of sources in their caches."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from findspot.dependencies.package import (
    MAVEN,
    NOT_INSTALLED,
    Dependency,
    Manifests,
    real_folders,
    stored,
    table,
)

_PROPERTY = re.compile(r"\$\{([^}]+)\}")
_GRADLE = re.compile(r"[\"']([\w.-]+):([\w.-]+):([\w.+-]+)(?:@\w+)?[\"']")
_MOST_CHARS = 200
_PLAIN = re.compile(r"(?!\.+$)[\w.+-]*")
"""What can be a group, a name or a version: nothing that leads to another folder."""
_LOCKED = re.compile(r"^([\w.-]+):([\w.-]+):([\w.+-]+)=", re.MULTILINE)
_BUILD_FILES = ("build.gradle", "build.gradle.kts", "app/build.gradle", "app/build.gradle.kts")
_SOURCES_MISSING = "only compiled classes are on this machine: its sources were not downloaded"


class _Artifact(NamedTuple):
    group: str
    name: str
    version: str


def java_packages(manifests: Manifests, environ: dict[str, str], home: Path) -> list[Dependency]:
    """Return the artifacts of a Maven or Gradle project."""
    direct = dict.fromkeys([*_maven(manifests.text("pom.xml")), *_gradle(manifests)])
    named = {(each.group, each.name) for each in direct}
    locked = [_Artifact(*found) for found in _LOCKED.findall(manifests.text("gradle.lockfile"))]
    versions = {(each.group, each.name): each.version for each in locked}
    exact = [each._replace(version=versions.get(each[:2], each.version)) for each in direct]
    listed = dict.fromkeys(each for each in (*exact, *locked) if all(map(_PLAIN.fullmatch, each)))
    stores = real_folders(
        home / ".m2" / "repository",
        Path(environ.get("GRADLE_USER_HOME") or home / ".gradle") / "caches" / "modules-2" / "files-2.1",
    )
    return [_located(each, each[:2] in named, stores) for each in listed]


def _located(artifact: _Artifact, direct: bool, stores: list[Path]) -> Dependency:
    group, name, version = artifact
    full = f"{group}:{name}"
    compiled = False
    for store in stores:
        for folder in (store / group.replace(".", "/") / name / version, store / group / name / version):
            for pattern in (f"{name}-{version}-sources.jar", f"*/{name}-{version}-sources.jar"):
                for archive in sorted(folder.glob(pattern)) if version else ():
                    real = stored(archive, stores)
                    if real is not None:
                        return Dependency(MAVEN, full, version, direct, real)
            compiled = compiled or folder.is_dir()
    return Dependency(MAVEN, full, version, direct, missing=_SOURCES_MISSING if compiled else NOT_INSTALLED)


def own_artifact(manifests: Manifests) -> dict[str, str]:
    """Return the name and version that a project's own `pom.xml` gives it; nothing where there is none."""
    root, properties = _pom(manifests.text("pom.xml"))
    name = root.findtext("artifactId") or ""
    group, version = properties.get("project.groupId", ""), properties.get("project.version", "")
    return {"name": f"{group}:{name}", "version": _filled(version, properties)} if name else {}


def _pom(text: str) -> tuple[ElementTree.Element, dict[str, str]]:
    """Return the tree of a `pom.xml`, and its properties; one with entities of its own is not read."""
    root = ElementTree.Element("project")
    if text and "<!DOCTYPE" not in text and "<!ENTITY" not in text:
        with contextlib.suppress(ElementTree.ParseError):
            root = ElementTree.fromstring(text)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
    properties = {each.tag: each.text or "" for each in root.findall("properties/*")}
    for key in ("groupId", "version"):
        properties[f"project.{key}"] = root.findtext(key) or root.findtext(f"parent/{key}") or ""
    return root, properties


def _maven(text: str) -> Iterator[_Artifact]:
    """Yield the dependencies of a `pom.xml`."""
    root, properties = _pom(text)
    managed = {
        (each.findtext("groupId"), each.findtext("artifactId")): each.findtext("version") or ""
        for each in root.findall("dependencyManagement/dependencies/dependency")
    }
    for each in root.findall("dependencies/dependency"):
        group, name = each.findtext("groupId") or "", each.findtext("artifactId") or ""
        version = each.findtext("version") or managed.get((group, name), "")
        yield _Artifact(*(_filled(part.strip(), properties) for part in (group, name, version)))


def _filled(text: str, properties: dict[str, str]) -> str:
    """Return a text with the properties of the same file put in; nothing where one is unknown."""
    for _ in range(3):
        text = _PROPERTY.sub(lambda found: properties.get(found[1], "")[:_MOST_CHARS], text[:_MOST_CHARS])
    return text[:_MOST_CHARS]


def _gradle(manifests: Manifests) -> Iterator[_Artifact]:
    for path in _BUILD_FILES:
        yield from (_Artifact(*found) for found in _GRADLE.findall(manifests.text(path)))
    catalogue = manifests.toml("gradle/libs.versions.toml")
    versions = table(catalogue.get("versions"))
    for entry in table(catalogue.get("libraries")).values():
        if isinstance(entry, str) and entry.count(":") == 2:
            yield _Artifact(*entry.split(":"))
            continue
        group, _, name = str(table(entry).get("module", "")).partition(":")
        group, name = group or str(table(entry).get("group", "")), name or str(table(entry).get("name", ""))
        version = table(entry).get("version", "")
        if isinstance(version, dict):
            version = versions.get(str(version.get("ref", "")), "")
        if group and name:
            yield _Artifact(group, name, version if isinstance(version, str) else "")

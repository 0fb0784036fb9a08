"""Go, Rust, PHP and Ruby: lock files with exact versions, and folders with sources."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from findspot.dependencies.package import (
    CARGO,
    COMPOSER,
    GEMS,
    GO,
    Dependency,
    Manifests,
    located,
    matching_folders,
    real_folders,
    strings,
    table,
    tables,
)

_MOST_WORDS = 6
_GEM = re.compile(r"^    ([\w.-]+) \(([^)\n]+)\)$", re.MULTILINE)
_DIRECT_GEM = re.compile(r"^  ([\w.-]+)", re.MULTILINE)
_PLATFORM_PACKAGE = re.compile(r"^(?:php|hhvm|composer|ext-.*|lib-.*)$")


def go_modules(manifests: Manifests, environ: dict[str, str], home: Path) -> list[Dependency]:
    """Return the modules that `go.mod` requires."""
    required, replaced = _go_requirements(manifests.text("go.mod"))
    paths = [Path(part) / "pkg" / "mod" for part in environ.get("GOPATH", "").split(os.pathsep) if part]
    cache = Path(environ["GOMODCACHE"]) if environ.get("GOMODCACHE") else None
    stores = real_folders(*([cache] if cache else []), *paths, home / "go" / "pkg" / "mod")
    vendor = _vendored(manifests)
    listed = []
    for name, (version, direct) in required.items():
        source, replacement = replaced.get(name, (name, version))
        if source.startswith((".", "/")):
            listed.append(Dependency(GO, name, version, direct, missing=f"replaced by {source}"))
            continue
        place = f"{_escaped_module(source)}@{_escaped_module(replacement or version)}"
        candidates = [*(folder / name for folder in vendor), *(store / place for store in stores)]
        wanted = Dependency(GO, name, replacement or version, direct)
        listed.append(located(wanted, candidates, [*vendor, *stores]))
    return listed


def _go_requirements(text: str) -> tuple[dict[str, tuple[str, bool]], dict[str, tuple[str, str]]]:
    """Return the required modules, each with a version and whether it is direct; and the replaced ones."""
    required: dict[str, tuple[str, bool]] = {}
    replaced: dict[str, tuple[str, str]] = {}
    for line in text.splitlines():
        words = line.partition("//")[0].split()[:_MOST_WORDS]
        words = words[1:] if words[:1] in (["require"], ["replace"]) else words
        if "=>" in words:
            at = words.index("=>")
            if at and len(words) > at + 1:
                replaced[words[0]] = (words[at + 1], words[at + 2] if len(words) > at + 2 else "")
        elif len(words) == 2 and "." in words[0] and words[1].startswith("v"):
            required.setdefault(words[0], (words[1], "// indirect" not in line))
    return required, replaced


def _escaped_module(path: str) -> str:
    """Return a module path as the cache writes it, which works where case does not count."""
    return re.sub(r"[A-Z]", lambda found: f"!{found[0].lower()}", path)


def cargo_crates(manifests: Manifests, environ: dict[str, str], home: Path) -> list[Dependency]:
    """Return the crates of `Cargo.lock`, or those that the manifests name."""
    direct = set(_named_crates(manifests, "Cargo.toml"))
    members = table(manifests.toml("Cargo.toml").get("workspace")).get("members")
    own: set[str] = set()
    for pattern in strings(members):
        for folder in matching_folders(manifests.root, pattern):
            place = f"{folder}/Cargo.toml"
            direct.update(_named_crates(manifests, place))
            own.add(str(table(manifests.toml(place).get("package")).get("name", "")))
    cargo = Path(environ.get("CARGO_HOME") or home / ".cargo")
    stores = real_folders(*sorted((cargo / "registry" / "src").glob("*")))
    vendor = _vendored(manifests)
    listed = []
    for crate in tables(manifests.toml("Cargo.lock").get("package")):
        name, version, source = (str(crate.get(key, "")) for key in ("name", "version", "source"))
        if not source or name in own:  # a crate of the project
            continue
        candidates = [store / f"{name}-{version}" for store in (*vendor, *stores)]
        candidates += [folder / name for folder in vendor]
        wanted = Dependency(CARGO, name, version, name in direct)
        listed.append(located(wanted, candidates, [*vendor, *stores]))
    known = {each.name for each in listed} | own
    missing = "not locked: `Cargo.lock` does not name a version"
    listed += [Dependency(CARGO, name, "", True, missing=missing) for name in sorted(direct - known)]
    return listed


def _named_crates(manifests: Manifests, path: str) -> Iterator[str]:
    document = manifests.toml(path)
    targets = [table(target) for target in table(document.get("target")).values()]
    for holder in (document, table(document.get("workspace")), *targets):
        for section in ("dependencies", "dev-dependencies", "build-dependencies"):
            for name, entry in table(holder.get(section)).items():
                if "path" not in table(entry):
                    yield str(table(entry).get("package", name))


def composer_packages(manifests: Manifests) -> list[Dependency]:
    """Return the packages of `composer.lock`, or those that `composer.json` names."""
    manifest = manifests.json("composer.json")
    sections = [table(manifest.get(section)) for section in ("require", "require-dev")]
    direct = {name for section in sections for name in section if not _PLATFORM_PACKAGE.match(name)}
    if not direct:
        return []
    lock = manifests.json("composer.lock")
    locked = {
        str(package.get("name", "")): str(package.get("version", ""))
        for section in ("packages", "packages-dev")
        for package in tables(lock.get(section))
    }
    vendor = _vendored(manifests)
    return [
        located(
            Dependency(COMPOSER, name, locked.get(name, ""), name in direct),
            [folder / name for folder in vendor],
            vendor,
        )
        for name in {**dict.fromkeys(sorted(direct)), **locked}
    ]


def ruby_gems(manifests: Manifests, environ: dict[str, str], home: Path) -> list[Dependency]:
    """Return the gems of `Gemfile.lock`."""
    text = manifests.text("Gemfile.lock")
    direct = set(_DIRECT_GEM.findall(text.partition("\nDEPENDENCIES\n")[2].partition("\n\n")[0]))
    parts = [part for key in ("GEM_HOME", "GEM_PATH") for part in environ.get(key, "").split(os.pathsep)]
    own = [f for f in sorted(manifests.root.glob("vendor/bundle/ruby/*/gems")) if _is_inside(f, manifests)]
    system = [
        *(Path(part) / "gems" for part in parts if part),
        *home.glob(".gem/ruby/*/gems"),
        *home.glob(".local/share/gem/ruby/*/gems"),
        *home.glob(".rbenv/versions/*/lib/ruby/gems/*/gems"),
        *Path("/usr").glob("lib/ruby/gems/*/gems"),
        *Path("/usr").glob("share/rubygems-integration/*/gems"),
        *Path("/var").glob("lib/gems/*/gems"),
    ]
    stores = real_folders(*own, *system)
    specs = text.partition("\nDEPENDENCIES\n")[0]
    gems = dict(_GEM.findall(specs))
    return [
        located(
            Dependency(GEMS, name, version, name in direct),
            [store / f"{name}-{version}" for store in stores],
            stores,
        )
        for name, version in gems.items()
    ]


def _vendored(manifests: Manifests) -> list[Path]:
    """Return the project's own folder of packages, if it has one."""
    return [folder for folder in real_folders(manifests.root / "vendor") if _is_inside(folder, manifests)]


def _is_inside(folder: Path, manifests: Manifests) -> bool:
    """Return whether a folder of the project is one of its own, and no link to another place."""
    return folder.resolve().is_relative_to(manifests.root.resolve())

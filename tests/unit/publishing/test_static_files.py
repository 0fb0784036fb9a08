"""Published versions in a folder: read as a folder or over HTTP, shared between versions, never believed."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from contents import contents, put, record
from findspot.core.errors import CancelledError, FindspotError, InvalidArgumentError, StoreUnavailableError
from findspot.core.model import Corpus, Progress
from findspot.core.progress import CancelToken
from findspot.publishing import static_files
from findspot.publishing.published import Version, open_published
from findspot.publishing.static_files import StaticIndex
from findspot.store.sqlite_store import SqliteStore
from static_server import StaticServer

TEXTS = [f"text {number} of many words" for number in range(30)]


def filled(folder: Path, *records: Any) -> SqliteStore:
    store = SqliteStore(folder, "p")
    put(store, *records)
    with store.writer() as writer:
        writer.set_meta(build="complete", model="m@1/64", pipeline="7:1", project_path="/build/machine")
        writer.commit()
    return store


def many(folder: Path, **changed: str) -> SqliteStore:
    """An index of thirty files; `f3="other"` changes one, and an empty text leaves it out."""
    texts = {f"f{number}": text for number, text in enumerate(TEXTS)} | changed
    kept = [(name, text) for name, text in texts.items() if text]
    docs = record("b.md", "prose", corpus=Corpus.DOCS)
    return filled(folder, *(record(f"{n}.py", t, names=(f"Name{n}",), outline=True) for n, t in kept), docs)


def version(commit: str, branch: str = "main", at: int = 1) -> Version:
    return Version(commit * 40, branch, f"2026-01-0{at}T00:00:00Z", 31, 61, "m@1/64", "7:1")


def fetched(index: StaticIndex, wanted: Version, folder: Path) -> SqliteStore:
    folder.mkdir()
    index.fetch(wanted, folder / "fetched.sqlite")
    store = SqliteStore(folder / "index", "p")
    store.maintenance.take(folder / "fetched.sqlite")
    return store


@pytest.fixture
def site(tmp_path: Path) -> Iterator[StaticServer]:
    with StaticServer(tmp_path / "site") as server:
        yield server


def test_versions_share_what_is_the_same(tmp_path: Path, site: StaticServer) -> None:
    folder = StaticIndex(str(site.folder))
    assert folder.versions() == []
    builds = {
        "a": many(tmp_path / "a"),
        "b": many(tmp_path / "b", f3="other words", f4="", new="a new file"),
        "c": many(tmp_path / "c"),
        "d": many(tmp_path / "d", **{f"f{number}": f"all {number} new" for number in range(20)}),
    }
    sent = {name: folder.add(version(name, at=at), builds[name]) for at, name in enumerate(builds, 1)}
    assert [sent[name].files for name in builds] == [31, 2, 0, 31]
    assert sent["b"].bytes < sent["a"].bytes / 2
    assert sent["c"].bytes == 0
    packs = sorted(path.name for path in site.folder.glob("*.findspot"))
    assert len(packs) == 3
    assert all(hashlib.sha256((site.folder / name).read_bytes()).hexdigest() in name for name in packs)
    over_http = open_published(site.address)
    assert over_http.versions() == [version("d", at=4), version("c", at=3), version("b", at=2), version("a")]
    assert isinstance(over_http, StaticIndex)
    for at, (name, store) in enumerate(builds.items(), 1):
        for kind, index in (("folder", folder), ("http", over_http)):
            taken = fetched(index, version(name, at=at), tmp_path / f"{kind}-{name}")
            assert contents(taken) == contents(store)
    folder.remove([version("a"), version("d", at=4)])
    assert [each.commit[0] for each in over_http.versions()] == ["c", "b"]
    assert len(list(site.folder.glob("*.findspot"))) == 2  # the base stays while a version needs it
    folder.add(replace(version("b"), published_at="2026-01-09T00:00:00Z"), builds["b"])
    assert [each.published_at for each in folder.versions()] == [
        "2026-01-09T00:00:00Z",
        version("c", at=3).published_at,
    ]
    folder.remove(folder.versions())
    assert [path.name for path in site.folder.iterdir() if path.is_file()] == ["versions.json"]
    with pytest.raises(InvalidArgumentError, match="can only be read"):
        over_http.add(version("a"), builds["a"])


def test_two_publishers_at_once_both_count(tmp_path: Path) -> None:
    stores = [many(tmp_path / f"s{number}", f1=f"own {number}") for number in range(4)]
    index = tmp_path / "published"
    threads = [
        threading.Thread(target=lambda n=n, s=s: StaticIndex(str(index)).add(version(str(n)), s))
        for n, s in enumerate(stores)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.commit[0] for each in StaticIndex(str(index)).versions()) == ["0", "1", "2", "3"]
    for number, store in enumerate(stores):
        taken = fetched(StaticIndex(str(index)), version(str(number)), tmp_path / f"taken{number}")
        assert contents(taken) == contents(store)


def test_a_damaged_base_is_not_built_upon(tmp_path: Path) -> None:
    index = StaticIndex(str(tmp_path / "published"))
    index.add(version("a"), many(tmp_path / "a"))
    (pack,) = (tmp_path / "published").glob("*.findspot")
    pack.write_bytes(pack.read_bytes()[:-10])
    assert index.add(version("b"), many(tmp_path / "b")).files == 31
    fetched(index, version("b"), tmp_path / "taken")


ROW = {
    "commit": "a" * 40, "branch": "main", "publishedAt": "2026-01-01T00:00:00Z", "files": 1, "chunks": 1,
    "model": "m@1/64", "pipeline": "7:1", "packs": [{"sha256": "0" * 64, "bytes": 10}],
}  # fmt: skip


@pytest.mark.parametrize(
    "content",
    [
        b"", b"[]", b"{}", b'{"format": 1}', b"\xff", b"<html>", b'{"format": 99, "versions": []}',
        *(
            json.dumps({"format": 1, "versions": [ROW | change]}).encode()
            for change in (
                {"commit": "../../etc/passwd"}, {"commit": 7}, {"branch": "a\x1b[31m"}, {"branch": "b" * 300},
                {"publishedAt": "yesterday"}, {"publishedAt": "2026-01-01"}, {"files": -1}, {"files": True},
                {"packs": []}, {"packs": ROW["packs"] * 3}, {"packs": [{"sha256": "../x", "bytes": 1}]},
                {"packs": [{"sha256": "0" * 64, "bytes": 1 << 50}]},
                {"packs": [{"sha256": "0" * 64, "bytes": "1"}]},
            )
        ),
    ],
)  # fmt: skip
def test_a_list_that_is_none_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "versions.json").write_bytes(content)
    with pytest.raises(FindspotError):
        StaticIndex(str(tmp_path)).versions()


def test_a_server_that_misbehaves_costs_little(
    tmp_path: Path, site: StaticServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    StaticIndex(str(site.folder)).add(version("a"), many(tmp_path / "a"))
    index, path = StaticIndex(site.address), tmp_path / "x.sqlite"
    (pack,) = (path.name for path in site.folder.glob("*.findspot"))
    whole = (site.folder / pack).read_bytes()

    def refused(reason: str) -> None:
        with pytest.raises((StoreUnavailableError, InvalidArgumentError), match=reason):
            index.fetch(version("a"), path)
        assert not path.exists()

    (site.folder / pack).write_bytes(whole[:-1] + b"!")
    refused("damaged")
    (site.folder / pack).write_bytes(whole * 3)
    refused("too large")
    (site.folder / pack).unlink()
    refused("missing")
    (site.folder / pack).write_bytes(whole)
    site.redirects[f"/{pack}"] = "http://127.0.0.1:9/elsewhere"
    refused("redirects are not followed")
    site.redirects.clear()
    monkeypatch.setattr(static_files, "SILENCE_S", 0.2)
    site.silent.add(f"/{pack}")
    refused("no answer within 0.2 seconds")
    site.silent.clear()
    monkeypatch.setattr(static_files, "SILENCE_S", 15.0)
    cancel, seen = CancelToken(), list[Progress]()
    cancel.cancel()
    with pytest.raises(CancelledError):
        index.fetch(version("a"), path, seen.append, cancel)
    index.fetch(version("a"), path, seen.append)
    assert seen[-1].done == seen[-1].total == len(whole) >> 10
    with pytest.raises(StoreUnavailableError, match="no longer has the version"):
        index.fetch(version("e"), path)
    with pytest.raises(InvalidArgumentError):
        open_published("ftp://example.com/x")


def test_one_bad_version_does_not_hide_the_others(tmp_path: Path) -> None:
    """A list once held a branch that no reader accepted, and was lost for everyone."""
    index, good = StaticIndex(str(tmp_path / "site")), version("a")
    with pytest.raises(ValueError, match="control character"):
        index.add(replace(good, branch="feature/\x85"), many(tmp_path / "bad"))
    index.add(good, many(tmp_path / "index"))
    listed = tmp_path / "site" / "versions.json"
    held = json.loads(listed.read_text())
    held["versions"].insert(0, held["versions"][0] | {"branch": "b" * 300})
    listed.write_text(json.dumps(held))
    assert index.versions() == [good]

"""Published indexes: nothing is contacted without the user's consent, and publishing fits a pipeline."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from loopback import Loopback, Reply, Request, vector
from object_server import CREDENTIALS, Bucket, FaultyProxy
from program import Program
from trust.conftest import MakeFolder, Serve, run_git

FILES = {f"m{n}.py": f"def function_{n}(value):\n    return value + {n}\n" for n in range(25)}


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    bucket = Bucket()
    yield bucket
    bucket.server.stop()


@dataclass
class Site:
    """A place on an object store, and a proxy that sees who asks for it."""

    proxy: FaultyProxy
    address: str

    @property
    def requests(self) -> list[str]:
        return self.proxy.requests


@pytest.fixture
def site(bucket: Bucket, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    proxy = FaultyProxy(bucket.endpoint)
    for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": proxy.url}.items():
        monkeypatch.setenv(name, value)
    yield Site(proxy, f"s3://bucket/{request.node.name}")
    proxy.close()


def embed(request: Request) -> Reply:
    texts = request.body["texts"] if request.method == "POST" else []
    return Reply(body={"embeddings": [vector(text) for text in texts]})


@pytest.fixture
def slow_model(findspot: Program, publisher: Program) -> Iterator[None]:
    """A service embeds for the publisher and for the user."""
    server = Loopback(embed)
    for home in (findspot.home, publisher.home, findspot.home.with_name("assistant-home")):
        home.mkdir(parents=True, exist_ok=True)
        settings = {"embedding.provider": "http", "embedding.endpoint": server.url}
        (home / "config.json").write_text(json.dumps(settings))
    yield
    server.close()


@pytest.fixture
def publisher(tmp_path: Path) -> Program:
    return Program(home=tmp_path / "publisher-home", cwd=tmp_path)


@pytest.mark.usefixtures("slow_model")
def test_a_committed_address_is_contacted_only_after_consent(
    findspot: Program, publisher: Program, make: MakeFolder, site: Site, serve: Serve
) -> None:
    """A committed file alone contacts nothing; --yes is no consent, an assistant cannot agree."""
    committed = {".findspot.json": json.dumps({"publishedAt": site.address})}
    first = make(FILES | committed, "first", git=True)
    assert publisher("publish", site.address, "--project", first).code == 0
    site.requests.clear()

    away = findspot("index", "--yes", cwd=first)
    assert away.code == 0
    assert away.err.count(site.address) == 2  # one line: the address, and in the command that agrees
    assert "findspot index --published-at" in away.err
    second = make(FILES | committed, "second", git=True)
    pipe = serve(second, FINDSPOT_HOME=str(findspot.home.with_name("assistant-home")))
    assert pipe.values("index_codebase", path=str(second))["filesIndexed"] == 26
    assert site.requests == []

    assert findspot("delete", "--yes", cwd=first).code == 0
    taken = findspot("index", "--published-at", site.address, cwd=first)
    assert "The vectors of 26 files were taken from" in taken.err
    assert site.requests

    site.requests.clear()
    back = findspot("store", "use", "default", cwd=first)
    assert f"{site.address} is not used here" in back.err
    assert "26 files indexed" in findspot("index", "--force", cwd=first).out
    assert site.requests == []

    other = make(FILES | {".findspot.json": json.dumps({"publishedAt": "file:///etc"})}, "other")
    refused = findspot("index", other)
    assert "'publishedAt' can be an object store address" in refused.err


def test_publishing_fits_a_pipeline(publisher: Program, make: MakeFolder, tmp_path: Path) -> None:
    """Versions per commit and branch, exit codes, JSON, no question."""
    root, folder = make(FILES, git=True), tmp_path / "published"
    head = run_git(root, "rev-parse", "HEAD").strip()
    done = publisher("publish", folder, "--json", cwd=root)
    assert (done.code, done.json["commit"], done.json["branch"], done.json["filesSent"]) == (
        0,
        head,
        "main",
        25,
    )

    (root / "m1.py").write_text("def changed(): pass\n")
    (root / "note.md").write_text("# not committed\n")
    dirty = publisher("publish", folder, cwd=root)
    assert dirty.code == 2
    assert "2 files differ from the commit" in dirty.err
    run_git(root, "add", "-A")
    run_git(root, "commit", "-qm", "second")
    run_git(root, "checkout", "-q", "--detach")
    unknown = publisher("publish", folder, cwd=root)
    assert (unknown.code, "--branch" in unknown.err) == (2, True)
    second = publisher("publish", folder, "--json", cwd=root, env={"GITHUB_REF_NAME": "topic"})
    assert (second.json["branch"], second.json["filesSent"], second.json["versions"]) == ("topic", 2, 2)

    listed = publisher("publish", folder, "--list", "--json").json["versions"]
    assert {version["branch"] for version in listed} == {"main", "topic"}

    assert publisher("publish", "https://host/x", "--branch", "x", cwd=root).code == 2
    assert publisher("publish", root / "public", "--branch", "x", cwd=root).code == 2
    assert publisher("publish", "--branch", "x", cwd=root).code == 2
    plain = make({"a.py": "a = 1\n"}, "plain")
    assert publisher("publish", folder, "--project", plain).code == 2
    named = ("--commit", "0123abc", "--branch", "main", "--keep", "1", "--json")
    cleaned = publisher("publish", folder, "--project", plain, *named)
    assert [old["commit"] for old in cleaned.json["removed"]] == [head]


def test_a_project_names_the_address_for_a_team(findspot: Program, make: MakeFolder) -> None:
    root = make(FILES | {".findspot.json": '{\n  "exclude": ["x/**"]\n}\n'}, git=True)
    given = ("config", "set", "--project", "publishedAt")
    assert findspot(*given, "s3://indexes/shop", cwd=root).code == 0
    assert json.loads((root / ".findspot.json").read_text()) == {
        "exclude": ["x/**"],
        "publishedAt": "s3://indexes/shop",
    }
    for address in ("file:///etc", "/srv/index", "https://example.com/x", "ftp://example.com"):
        assert findspot(*given, address, cwd=root).code == 2


def test_grep_searches_the_published_text(publisher: Program, make: MakeFolder, tmp_path: Path) -> None:
    root, folder, reader = make(FILES, git=True), tmp_path / "published", tmp_path / "reader"
    assert publisher("publish", folder, cwd=root).code == 0
    reader.mkdir()
    assert publisher("store", "use", folder, reader).code == 0
    found = publisher("grep", "-A1", "function_24", cwd=reader)
    assert found.out == "m24.py:1:def function_24(value):\nm24.py-2-    return value + 24\n"
    missing = publisher("grep", "function_24", "nosuch.py", cwd=reader)
    assert (missing.code, missing.err) == (2, "nosuch.py: No such file or directory.\n")

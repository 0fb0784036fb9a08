"""A published index stays as it is, whatever a reader does; and a reader finds its own files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from e2e.harness import Pipe
from object_server import CREDENTIALS, Bucket
from program import Program

from .conftest import make_folder, run_git

FILES = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "README.md": "# Shop\n\nSells fruit to visitors.\n",
    **{f"shop/m{n}.py": f"def function_{n}(value):\n    return value + {n}\n" for n in range(24)},
}
FIRST = "s3://bucket/first"
QUESTIONS = ("function_7", "add a number to a value", "sells fruit", "value plus eleven")


@pytest.fixture(scope="module")
def bucket() -> Iterator[Bucket]:
    bucket = Bucket()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": bucket.endpoint}.items():
            patch.setenv(name, value)
        yield bucket
    bucket.server.stop()


@pytest.fixture(scope="module")
def published(bucket: Bucket, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkout of a publisher, after it published its index."""
    folder = tmp_path_factory.mktemp("publisher")
    root = make_folder(folder / "shop", FILES, git=True)
    done = Program(home=folder / "home", cwd=root)("publish", FIRST, "--json")
    assert done.code == 0, done.err
    assert done.json["filesSent"] == 26
    return root


@pytest.fixture
def address(request: pytest.FixtureRequest, bucket: Bucket, published: Path) -> str:
    """One per test, with a copy of what is published."""
    client = boto3.client("s3", endpoint_url=bucket.endpoint)
    first = FIRST.removeprefix("s3://bucket/")
    for key in objects(bucket):
        if key.startswith(f"{first}/"):
            copy = request.node.name + key.removeprefix(first)
            client.copy_object(Bucket="bucket", Key=copy, CopySource=f"bucket/{key}")
    return f"s3://bucket/{request.node.name}"


def objects(bucket: Bucket) -> dict[str, tuple[str, str]]:
    """Everything in the bucket: the digest of each object, and when it was written."""
    client = boto3.client("s3", endpoint_url=bucket.endpoint)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket="bucket")
    items = [item for page in pages for item in page.get("Contents", [])]
    return {item["Key"]: (item["ETag"], str(item["LastModified"])) for item in items}


def hits(program: Program, question: str, root: Path) -> list[tuple[Any, ...]]:
    found = program("search", question, "--json", cwd=root)
    assert found.code == 0, found.err
    return [(hit["path"], hit["startLine"], hit["score"]) for hit in found.json["results"]]


NO_NETWORK = """
import sys
from findspot.serve.cli.app import run
code = run(["search", "function_7"])
heavy = {"lancedb", "pyarrow", "lance"} & {name.partition(".")[0] for name in sys.modules}
sys.exit(f"imported: {heavy}" if heavy else code)
"""


def test_a_reader_has_an_index_of_its_own(
    findspot: Program, published: Path, address: str, bucket: Bucket, tmp_path: Path
) -> None:
    """teams B1, B2, B3, B5: a reader's commands reached the shared index, and its edits were not found."""
    before = objects(bucket)
    mine = tmp_path / "mine/shop"
    run_git(tmp_path, "clone", "-q", str(published), str(mine))
    used = findspot("store", "use", address, "--json", cwd=mine)
    assert used.code == 0, used.err
    assert used.json["totalFiles"] == 26
    status = findspot("status", "--json", cwd=mine).json
    assert (status["store"], status["pendingChanges"]) == ("default", 0)

    (mine / "shop/m3.py").write_text("def weigh_the_melons(crate):\n    return crate\n")
    (mine / "shop/new.py").write_text("def peel_an_orange():\n    return 'peel'\n")
    (mine / "shop/m4.py").unlink()
    local = Program(home=tmp_path / "local-home", cwd=mine)
    assert local("index", "--json").code == 0
    for question in (*QUESTIONS, "weigh_the_melons", "peel an orange"):
        assert hits(findspot, question, mine) == hits(local, question, mine), question

    asked = findspot("delete", "--json", cwd=mine).json
    assert f"your own index; the published one at {address} stays" in asked["question"]
    for name in ("shop", "README.md", "pyproject.toml"):
        path = mine / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert findspot("index", "--json", cwd=mine).json["filesRemoved"] == 26
    assert findspot("delete", "--yes", cwd=mine).code == 0
    assert objects(bucket) == before


def test_a_search_of_a_reader_contacts_nothing(
    findspot: Program, published: Path, address: str, tmp_path: Path
) -> None:
    """teams AWKWARD: a search on the command line imported lancedb and asked the bucket."""
    mine = tmp_path / "mine/shop"
    run_git(tmp_path, "clone", "-q", str(published), str(mine))
    assert findspot("store", "use", address, "--json", cwd=mine).json["totalFiles"] == 26
    environment = os.environ | {"FINDSPOT_HOME": str(findspot.home), "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}
    asked = subprocess.run(
        [sys.executable, "-c", NO_NETWORK],
        cwd=mine,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert asked.returncode == 0, asked.stderr
    assert "function_7" in asked.stdout


def test_a_folder_without_the_files_answers_and_names_the_commit(
    findspot: Program, published: Path, address: str, bucket: Bucket, tmp_path: Path
) -> None:
    """teams B1, B4, AWKWARD: no results and no reason; `index` emptied the index of everyone."""
    commit = run_git(published, "rev-parse", "HEAD")[:7]
    before = objects(bucket)
    empty = tmp_path / "server/shop"
    empty.mkdir(parents=True)
    assert findspot("store", "use", address, empty).code == 0
    status = findspot("status", empty, "--json").json
    assert (status["totalFiles"], status["pendingChanges"], status["store"]) == (26, 0, "published")
    assert any(f"commit {commit} of main" in note for note in status["notes"])
    found = findspot("search", "function_7", "--project", empty, "--json").json
    assert found["results"][0]["path"] == "shop/m7.py"
    assert f"commit {commit} of main" in found["warning"]
    exact = findspot(
        "search", r"return value \+ 1[12]$", "--mode", "regex", "--project", empty, "--json"
    ).json
    assert [hit["path"] for hit in exact["results"]] == ["shop/m11.py", "shop/m12.py"]
    assert len(findspot("files", "**/*.py", "--project", empty).out.split()) == 24

    refused = findspot("index", empty)
    assert refused.code == 2
    assert "none of the files of the published index" in refused.err
    assert findspot("reindex", empty, "--yes").code == 2
    assert objects(bucket) == before

    with Pipe(findspot.home, empty, "--read-only") as server:
        told = json.dumps(server.initialize())
        answer = server.values("search_code", query="function_9")
        assert answer["results"][0]["path"] == "shop/m9.py"
        assert "index_codebase" not in told + json.dumps(answer)
        assert f"commit {commit} of main" in answer["warning"]

    client = boto3.client("s3", endpoint_url=bucket.endpoint)
    for key in [key for key in before if key.startswith(address.removeprefix("s3://bucket/"))]:
        client.delete_object(Bucket="bucket", Key=key)
    left = findspot("search", "function_7", "--project", empty, "--json")
    assert left.code == 3
    assert f"Nothing is published at {address}" in left.err


def arguments(schema: dict[str, Any], root: Path) -> dict[str, Any]:
    """Arguments that fit a tool's schema, with every consent given."""
    known = {"confirm": True, "force": True, "path": str(root), "query": "function_7", "pattern": "**"}
    fields = schema.get("properties", {})
    wanted = {*schema.get("required", ()), *(fields.keys() & {"confirm", "force"})}
    words = {name: known.get(name, "function_7") for name in wanted}
    return {name: value if fields[name].get("type") != "object" else {} for name, value in words.items()}


def test_nothing_but_publish_writes_to_an_address(
    findspot: Program, published: Path, address: str, bucket: Bucket, tmp_path: Path
) -> None:
    """teams B1, B2, B3: every command and every tool, with full credentials and every question answered."""
    before = objects(bucket)
    mine = tmp_path / "mine/shop"
    run_git(tmp_path, "clone", "-q", str(published), str(mine))
    (mine / "shop/m1.py").write_text("def changed_here():\n    return 1\n")
    script = Path(__file__).parents[1] / "every_command.py"
    environment = os.environ | {"FINDSPOT_HOME": str(findspot.home), "HOME": str(tmp_path), "BROWSER": "true"}
    ran = subprocess.run(
        [sys.executable, script, address],
        check=False,
        cwd=mine,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr
    lines = [json.loads(line) for line in ran.stdout.splitlines()]
    codes = {" ".join(line["words"][:2]): line for line in lines}
    for done in ("search function_1", "store use", "reindex --yes", "delete --yes"):
        assert codes[done]["code"] == 0, codes[done]
    assert objects(bucket) == before

    with Pipe(findspot.home, mine, FINDSPOT_STORE_URI=address) as server:
        server.initialize()
        tools = server.result("tools/list", {})["tools"]
        assert {"reindex_project", "delete_index", "index_codebase"} <= {tool["name"] for tool in tools}
        for tool in tools:
            server.call(tool["name"], **arguments(tool["inputSchema"], mine))
        server.values("index_codebase", path=str(mine))
        waiting = server.values("delete_index")
        assert f"the published one at {address} stays" in waiting["question"]
    assert objects(bucket) == before

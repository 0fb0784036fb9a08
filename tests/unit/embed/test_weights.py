"""Weights fetched from a hub: a real server on a loopback port, with redirects as the hub has them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from findspot.core.config import HubSettings, hub_settings
from findspot.core.errors import InvalidArgumentError, ModelUnavailableError
from findspot.embed.transformer import MDBR_LEAF, ModelFiles, find_weights, get_weights
from loopback import Loopback, Reply, Request

COMMIT = "0123456789abcdef0123456789abcdef01234567"
NAME = "model.safetensors"
FILES = {NAME: b"w" * 100_000, "sub/extra.json": b"{}"}
SHA256 = hashlib.sha256(FILES[NAME]).hexdigest()
MODEL = ModelFiles("some/model", (NAME, "sub/extra.json"), ("optional.json",), {NAME: SHA256})


def hub_answer(request: Request) -> Reply:
    if request.path.startswith("/api/models/some/model/"):
        listed = [{"type": "file", "path": name, "size": len(FILES[name]), "oid": name} for name in FILES]
        if "/tree/" in request.path:
            return Reply(body=listed)
        return Reply(body={"id": "some/model", "sha": COMMIT, "siblings": [{"rfilename": n} for n in FILES]})
    if request.path.startswith("/store/"):
        return Reply(body=FILES[request.path.removeprefix("/store/")])
    name = request.path.split("/", 5)[5]
    if name not in FILES:
        return Reply(404, b"no such file", {"X-Error-Code": "EntryNotFound"})
    return Reply(
        302,
        b"",
        {
            "Location": f"http://{request.headers['host'].replace('127.0.0.1', 'localhost')}/store/{name}",
            "X-Repo-Commit": COMMIT,
            "X-Linked-Etag": f'"{hashlib.sha256(FILES[name]).hexdigest()}"',
            "X-Linked-Size": str(len(FILES[name])),
        },
    )


@pytest.fixture
def hub() -> Iterator[Loopback]:
    server = Loopback(hub_answer)
    yield server
    server.close()


def test_a_download_is_told_and_made_once(hub: Loopback, tmp_path: Path) -> None:
    settings = HubSettings(tmp_path / "hub", hub.url, offline=False)
    said: list[str] = []
    assert find_weights(MODEL, settings) is None
    first = get_weights(MODEL, settings, said.append)
    folder = first.folder
    assert first.sha256 == SHA256
    assert said == [
        "Downloading embedding model... (one-time, ~90MB)",
        "Done! Model cached for future use.",
    ]
    assert folder == tmp_path / "hub" / "models--some--model" / "snapshots" / COMMIT
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert (folder.parents[1] / "refs" / "main").read_text() == COMMIT
    asked = len(hub.requests)
    assert f"/some/model/resolve/{COMMIT}/sub/extra.json" in [request.path for request in hub.requests]
    assert get_weights(MODEL, settings, said.append) == first
    assert (len(hub.requests), len(said)) == (asked, 2)


def test_a_download_that_breaks_off_leaves_nothing_that_counts(hub: Loopback, tmp_path: Path) -> None:
    settings = HubSettings(tmp_path / "hub", hub.url, offline=False)
    for broken in (Reply(404, b""), Reply(200, b"half", promised=90)):
        hub.answer = lambda request, broken=broken: (
            broken if request.path.startswith("/store/") else hub_answer(request)
        )
        with pytest.raises(ModelUnavailableError) as caught:
            get_weights(MODEL, settings, lambda _: None)
        assert "check your internet connection" in caught.value.user_message
        assert find_weights(MODEL, settings) is None
    hub.answer = hub_answer
    assert get_weights(MODEL, settings, lambda _: None).folder.is_dir()


def test_weights_are_taken_only_with_the_expected_hash(hub: Loopback, tmp_path: Path) -> None:
    """code-review B3: whatever was called `model.safetensors` was used, unchecked."""
    settings = HubSettings(tmp_path / "hub", hub.url, offline=False)
    other = replace(MODEL, sha256={NAME: "0" * 64})
    with pytest.raises(ModelUnavailableError) as caught:
        get_weights(other, settings, lambda _: None)
    assert "has other weights than those expected" in caught.value.developer_message
    assert not [*(tmp_path / "hub").rglob(NAME)], "it was not kept"
    folder = get_weights(MODEL, settings, lambda _: None).folder
    assert find_weights(other, settings) is None
    (folder / NAME).write_bytes(b"exchanged")
    assert find_weights(MODEL, settings) is None
    assert get_weights(MODEL, settings, lambda _: None).sha256 == SHA256, "fetched again"


def test_weights_with_an_unknown_hash_need_the_users(hub: Loopback, tmp_path: Path) -> None:
    settings = HubSettings(tmp_path / "hub", hub.url, offline=False)
    unknown = replace(MODEL, sha256={})
    with pytest.raises(ModelUnavailableError, match="Couldn't set up") as caught:
        get_weights(unknown, settings, lambda _: None)
    assert "embedding.sha256" in caught.value.hint
    assert not hub.requests, "nothing is fetched that could not be used"
    assert get_weights(unknown.expecting(SHA256.upper()), settings, lambda _: None).sha256 == SHA256
    for wrong in ("abc", f"{SHA256},{SHA256}", "z" * 64):
        with pytest.raises(InvalidArgumentError, match=r"embedding\.sha256"):
            unknown.expecting(wrong)
    assert MDBR_LEAF.files.weights == ("model.safetensors", "2_Dense/model.safetensors")
    assert not MDBR_LEAF.files.sha256


def test_without_a_network_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(ModelUnavailableError) as caught:
        get_weights(MODEL, HubSettings(tmp_path, "http://127.0.0.1:1", offline=False), lambda _: None)
    assert "refused" in caught.value.developer_message
    assert "Hugging Face cache" in caught.value.hint
    said: list[str] = []
    with pytest.raises(ModelUnavailableError, match="Couldn't set up"):
        get_weights(MODEL, HubSettings(tmp_path, "http://127.0.0.1:1", offline=True), said.append)
    assert not said


def test_the_variables_of_the_hub_count(tmp_path: Path) -> None:
    assert hub_settings({"HF_HOME": str(tmp_path)}).cache == tmp_path / "hub"
    assert hub_settings({"HF_HUB_CACHE": str(tmp_path)}).cache == tmp_path
    assert hub_settings({"HF_ENDPOINT": "http://x", "HF_HUB_OFFLINE": "1"}).offline
    assert hub_settings({}).endpoint == "https://huggingface.co"

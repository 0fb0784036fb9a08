"""Weights fetched from a hub: a real server on a loopback port, with redirects as the hub has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from findspot.core.config import hub_settings
from findspot.core.errors import ModelUnavailableError
from findspot.core.settings import HubSettings
from findspot.embed.providers.weights import ModelFiles, find_weights, get_weights
from loopback import Loopback, Reply, Request

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MODEL = ModelFiles("some/model", ("weights.bin", "sub/extra.json"), ("optional.json",))
FILES = {"weights.bin": b"w" * 100_000, "sub/extra.json": b"{}"}


def hub_answer(request: Request) -> Reply:
    if request.path.startswith("/store/"):
        return Reply(body=FILES[request.path.removeprefix("/store/")])
    name = request.path.split("/", 5)[5]
    if name not in FILES:
        return Reply(404, b"no such file")
    return Reply(302, b"", {"Location": f"/store/{name}", "X-Repo-Commit": COMMIT})


@pytest.fixture
def hub() -> Iterator[Loopback]:
    server = Loopback(hub_answer)
    yield server
    server.close()


def test_a_download_is_told_and_made_once(hub: Loopback, tmp_path: Path) -> None:
    settings = HubSettings(tmp_path / "hub", hub.url, offline=False)
    said: list[str] = []
    assert find_weights(MODEL, settings) is None
    folder = get_weights(MODEL, settings, said.append)
    assert said == [
        "Downloading embedding model... (one-time, ~90MB)",
        "Done! Model cached for future use.",
    ]
    assert folder == tmp_path / "hub" / "models--some--model" / "snapshots" / COMMIT
    assert {name: (folder / name).read_bytes() for name in FILES} == FILES
    assert (folder.parents[1] / "refs" / "main").read_text() == COMMIT
    asked = len(hub.requests)
    assert f"/some/model/resolve/{COMMIT}/sub/extra.json" in [request.path for request in hub.requests]
    assert get_weights(MODEL, settings, said.append) == folder
    assert (len(hub.requests), len(said)) == (asked, 2)


def test_a_download_that_breaks_off_leaves_nothing_that_counts(hub: Loopback, tmp_path: Path) -> None:
    settings = HubSettings(tmp_path / "hub", hub.url, offline=False)
    for broken in (Reply(500, b""), Reply(200, b"half", promised=90), Reply(302, b"", {"Location": "ftp:x"})):
        hub.answer = lambda request, broken=broken: (
            broken if request.path.startswith("/store/") else hub_answer(request)
        )
        with pytest.raises(ModelUnavailableError) as caught:
            get_weights(MODEL, settings, lambda _: None)
        assert "check your internet connection" in caught.value.user_message
        assert find_weights(MODEL, settings) is None
    hub.answer = hub_answer
    assert get_weights(MODEL, settings, lambda _: None).is_dir()


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

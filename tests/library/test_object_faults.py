"""The table of faults of docs/teams.md: what each gets, and that nothing is lost by it.

A real S3 server stands behind a proxy that fails. Every fault is met by a reader that has a version open, by
one that has none, and by a publisher; then all goes on.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import boto3
import pytest

from contents import put, record
from findspot.core.errors import (
    FindspotError,
    IndexCorruptError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.publishing import published_store
from findspot.publishing.published import PublishedIndex, Version
from findspot.publishing.published_store import PublishedStore
from findspot.publishing.publisher import Publisher
from findspot.store.lance.lance_format import CODE_TABLE, HEAD_TABLE
from findspot.store.sqlite_store import SqliteStore
from findspot.store.store_protocol import Store
from object_server import CREDENTIALS, Bucket, Fault, FaultyProxy

HURRIED = {"client_max_retries": "0", "client_retry_timeout": "1", "lance_aimd_max_retries": "0"}
"""So that a fault which is there to stay is told at once; waiting for it to pass has a test of its own."""

REFUSED, AWAY = "The store of this index refuses access.", "The store of this index cannot be reached."


def texts_of(store: Store) -> set[str]:
    with store.snapshot() as snapshot:
        return {chunk.text for file in snapshot.files.files for chunk in snapshot.chunks.of_file(file.path)}


@dataclass
class Team:
    """One published index on an object store behind a proxy, and the machines that use it."""

    folder: Path
    bucket: Bucket
    proxy: FaultyProxy
    address: str = "s3://bucket/team"
    turns: Iterator[int] = field(default_factory=itertools.count)

    def published(self, address: str = "", **options: str) -> PublishedIndex:
        return PublishedIndex(address or self.address, HURRIED | options)

    def publish(self, text: str, **options: str) -> None:
        """Publish an index of one file with this text, as the next version."""
        store, turn = SqliteStore(self.folder / "builder", "p"), next(self.turns)
        put(store, record("a.py", text))
        at = f"2026-01-01T{turn // 60:02}:{turn % 60:02}:00Z"
        Publisher(self.published(**options)).add(
            Version(f"{turn:040}", "main", at, 1, 1, "some/64", "p1"), store
        )

    def machine(self, name: str, address: str = "", **options: str) -> PublishedStore:
        """The reader that a machine of that name opens now."""
        folder = self.folder / name
        return PublishedStore(folder, folder, self.published(address, **options))

    def texts(self, name: str) -> set[str]:
        return texts_of(self.machine(name))


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    bucket = Bucket()
    proxy = FaultyProxy(bucket.endpoint)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": proxy.url}.items():
            patch.setenv(name, value)
        patch.setattr(published_store, "LOOK_EVERY_S", 0.0)
        patch.setattr(published_store, "LEAVE_ALONE_S", 0.0)
        team = Team(tmp_path_factory.mktemp("machines"), bucket, proxy)
        team.publish("first")
        yield team
    proxy.close()
    bucket.server.stop()


FAULTS: dict[str, tuple[Fault, type[FindspotError], str, str]] = {
    "away": (Fault(how="drop"), StoreUnavailableError, AWAY, "Check its address"),
    "slow": (Fault(how="stall"), StoreUnavailableError, AWAY, "Check its address"),
    "throttled": (Fault(503, "SlowDown"), StoreUnavailableError, AWAY, "Check its address"),
    "failing": (Fault(500, "InternalError"), StoreUnavailableError, AWAY, "Check its address"),
    "denied": (Fault(403, "AccessDenied"), StoreRefusedError, REFUSED, "rights to the bucket"),
    "expired": (Fault(400, "ExpiredToken"), StoreRefusedError, REFUSED, "expire"),
    "broken off": (Fault(how="cut"), StoreUnavailableError, AWAY, "Check its address"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_told_and_costs_nothing(team: Team, name: str) -> None:
    fault, kind, message, hint = FAULTS[name]
    soon = {"timeout": "200ms"} if fault.how == "stall" else {}
    reader = team.machine("reader", **({"timeout": "2s"} if soon else {}))
    held = texts_of(reader)
    team.publish(f"behind {name}")
    with team.proxy.failing(fault):
        assert texts_of(reader) == held
        assert reader.notice.endswith(f"It may be out of date: {message[0].lower()}{message[1:]}")
        with pytest.raises(kind) as read, team.machine("new", **soon).snapshot():
            pass
        failed = read
        if fault.status or fault.how == "drop":  # other faults would take a publisher's whole patience
            with pytest.raises(kind) as failed:
                team.publish(f"never {name}")
    for error in (read.value, failed.value):
        assert error.user_message == message
        assert hint in error.hint
        assert team.address in error.developer_message
    assert texts_of(reader) == {f"behind {name}"}
    assert "out of date" not in reader.notice


def test_what_passes_is_waited_for(team: Team) -> None:
    patient = {"client_max_retries": "3", "client_retry_timeout": "30", "lance_aimd_max_retries": "3"}
    with team.proxy.failing(Fault(503, "SlowDown", times=2)):
        team.publish("in the end", **patient)
    assert team.texts("reader") == {"in the end"}


def test_only_one_question_waits_for_a_slow_address(team: Team) -> None:
    reader = team.machine("patient", timeout="60s")
    held = texts_of(reader)
    team.publish("newer")
    with team.proxy.failing(Fault(how="stall")) as fault:
        waiting = threading.Thread(target=texts_of, args=(reader,))
        waiting.start()
        assert fault.reached.wait(180)
        assert texts_of(reader) == held
    waiting.join()
    assert texts_of(team.machine("other")) == {"newer"}


def test_a_bucket_that_is_not_there_is_named(team: Team) -> None:
    with pytest.raises(StoreUnavailableError) as error:
        team.published("s3://nowhere/team").versions()
    assert "s3://nowhere/team: 404 NoSuchBucket" in error.value.developer_message


def damaged(team: Team, part: str, change: Callable[[bytes], bytes | None]) -> int:
    """Cut the objects of a part short, or lose them; tells how many there were."""
    client = boto3.client("s3", endpoint_url=team.bucket.endpoint)
    keys = [item["Key"] for item in client.list_objects_v2(Bucket="bucket", Prefix="team/")["Contents"]]
    for key in (found := [key for key in keys if part in key]):
        left = change(client.get_object(Bucket="bucket", Key=key)["Body"].read())
        if left is None:
            client.delete_object(Bucket="bucket", Key=key)
        else:
            client.put_object(Bucket="bucket", Key=key, Body=left)
    return len(found)


@pytest.mark.parametrize("left", ["half", "none"])
def test_objects_that_are_cut_short_or_lost_are_damage(team: Team, left: str) -> None:
    """Which the next publisher mends, since it has the files."""
    turn = next(team.turns)
    team.publish(f"behind {turn}")
    assert damaged(
        team, f"{CODE_TABLE}.lance/data", lambda data: data[: len(data) // 2] if left == "half" else None
    )
    with pytest.raises(IndexCorruptError):
        team.texts(f"new{turn}")
    assert damaged(team, "files.lance/data", lambda data: data[: len(data) // 2] if left == "half" else None)
    team.publish(f"rebuilt {turn}")
    assert team.texts("reader") == {f"rebuilt {turn}"}


def test_a_head_that_is_lost_is_damage_and_not_an_empty_store(team: Team) -> None:
    team.publish("held")
    reader = team.machine("reader")
    assert texts_of(reader) == {"held"}
    damaged(team, f"{HEAD_TABLE}.lance/data", lambda _: None)
    assert texts_of(reader) == {"held"}
    with pytest.raises(IndexCorruptError) as error:
        team.publish("never")
    assert "publish to another address" in error.value.hint


def test_without_credentials_that_is_said(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CREDENTIALS:
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    with pytest.raises(StoreRefusedError) as error, team.machine("stranger").snapshot():
        pass
    assert "AWS_PROFILE" in error.value.hint

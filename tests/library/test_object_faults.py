"""The table of faults of docs/scaling.md: what each gets, and that nothing is lost by it.

A real S3 server stands behind a proxy that fails. Every fault is met by a reader that has a copy and is a
commit behind, by one that has none, and by an indexer in the middle of a commit; then all goes on.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import boto3
import pytest

from contents import put, record
from findspot.core.errors import (
    FindspotError,
    IndexCorruptError,
    IndexNotFoundError,
    StoreRefusedError,
    StoreUnavailableError,
)
from findspot.store.lance import local_copy
from findspot.store.lance.lance_format import CODE_TABLE, HEAD_TABLE
from findspot.store.lance.lance_store import LanceStore
from object_server import CREDENTIALS, Bucket, Fault, FaultyProxy

HURRIED = {"client_max_retries": "0", "client_retry_timeout": "1", "lance_aimd_max_retries": "0"}
"""So that a fault which is there to stay is told at once; waiting for it to pass has a test of its own."""

REFUSED, AWAY = "The store of this index refuses access.", "The store of this index cannot be reached."


def texts_of(store: LanceStore) -> set[str]:
    with store.snapshot() as snapshot:
        return {chunk.text for file in snapshot.files.files for chunk in snapshot.chunks.of_file(file.path)}


@dataclass
class Team:
    """One index on an object store behind a proxy, and the machines that use it."""

    folder: Path
    bucket: Bucket
    proxy: FaultyProxy
    address: str = "s3://bucket/team"
    turns: Iterator[int] = field(default_factory=itertools.count)

    def machine(self, name: str, address: str = "", **options: str) -> LanceStore:
        """The store as a machine of that name opens it now."""
        return LanceStore(self.folder / name, "p", address or self.address, HURRIED | options)

    def texts(self, name: str) -> set[str]:
        return texts_of(self.machine(name))


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Team]:
    bucket = Bucket()
    proxy = FaultyProxy(bucket.endpoint)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": proxy.url}.items():
            patch.setenv(name, value)
        patch.setattr(local_copy, "PATIENCE_S", 600.0)  # however busy the machine is
        team = Team(tmp_path_factory.mktemp("machines"), bucket, proxy)
        put(team.machine("builder"), record("a.py", "first"))
        yield team
    proxy.close()
    bucket.server.stop()


FAULTS: dict[str, tuple[Fault, type[FindspotError], str, str]] = {
    "away": (Fault(how="drop"), StoreUnavailableError, AWAY, "Check `storeUri`"),
    "slow": (Fault(how="stall"), StoreUnavailableError, AWAY, "Check `storeUri`"),
    "throttled": (Fault(503, "SlowDown"), StoreUnavailableError, AWAY, "asks for fewer requests"),
    "failing": (Fault(500, "InternalError"), StoreUnavailableError, AWAY, "The service failed"),
    "denied": (Fault(403, "AccessDenied"), StoreRefusedError, REFUSED, "rights to the bucket"),
    "expired": (Fault(400, "ExpiredToken"), StoreRefusedError, REFUSED, "have expired"),
    "broken off": (Fault(how="cut"), StoreUnavailableError, AWAY, "Check `storeUri`"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_told_and_costs_nothing(team: Team, name: str) -> None:
    fault, kind, message, hint = FAULTS[name]
    held = team.texts("reader")
    with team.machine("builder").writer() as writer:
        writer.put(record("a.py", f"behind {name}"))
        writer.commit()
        writer.put(record("a.py", f"never {name}"))
        with team.proxy.failing(fault):
            soon = {"timeout": "200ms"} if fault.how == "stall" else {}
            reader = team.machine("reader", **soon)
            assert texts_of(reader) == held
            assert reader.behind == f"Answers come from the local copy. {message}"
            with pytest.raises(kind) as read, team.machine("new", **soon).snapshot():
                pass
            failed = read
            if fault.status or fault.how == "drop":  # other faults would take a writer's whole patience
                with pytest.raises(kind) as failed:
                    writer.commit()
    for told in (read.value, failed.value):
        assert told.user_message == message
        assert hint in told.hint
        assert team.address in told.developer_message
    assert team.texts("reader") == {f"behind {name}"}


def test_what_passes_is_waited_for(team: Team) -> None:
    patient = {"client_max_retries": "3", "client_retry_timeout": "30", "lance_aimd_max_retries": "3"}
    with team.proxy.failing(Fault(503, "SlowDown", times=2)):
        put(team.machine("builder", **patient), record("a.py", "in the end"))
    assert team.texts("reader") == {"in the end"}


def test_nobody_who_has_a_copy_waits_long(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    held = team.texts("patient")
    put(team.machine("builder"), record("a.py", "newer"))
    monkeypatch.setattr(local_copy, "PATIENCE_S", 0.1)
    reader = team.machine("patient", timeout="60s")
    with team.proxy.failing(Fault(how="stall")) as fault:
        assert texts_of(reader) == held
        assert fault.reached.wait(60)
        assert texts_of(reader) == held  # and without asking again, since the first look is not over
        assert reader.behind.endswith("does not answer in time.")
    monkeypatch.undo()
    reader = team.machine("reader")
    assert texts_of(reader) == {"newer"}
    assert reader.behind == ""


def test_a_bucket_that_is_not_there_is_named(team: Team) -> None:
    put(team.machine("builder"), record("a.py", "held"))
    assert team.texts("reader") == {"held"}
    elsewhere = team.machine("reader", "s3://nowhere/team")
    assert texts_of(elsewhere) == {"held"}
    with pytest.raises(StoreUnavailableError) as told, elsewhere.writer():
        pass
    assert "no such bucket" in told.value.hint
    assert "s3://nowhere/team: 404 NoSuchBucket" in told.value.developer_message


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
    """Which the indexer mends, since it has the files; readers go on with what they have."""
    turn = next(team.turns)
    put(team.machine("builder"), record("a.py", f"before {turn}"))
    held = team.texts("reader")
    put(team.machine("builder"), record("a.py", f"behind {turn}"))
    assert damaged(
        team, f"{CODE_TABLE}.lance/data", lambda data: data[: len(data) // 2] if left == "half" else None
    )
    assert team.texts("reader") == held
    with pytest.raises(IndexCorruptError), team.machine(f"new{turn}").snapshot():
        pass
    builder = team.machine("builder")
    builder.maintenance.set_aside()
    put(builder, record("a.py", f"anew {turn}"))
    assert team.texts("reader") == team.texts(f"new{turn}") == {f"anew {turn}"}


def test_a_head_that_is_lost_is_damage_and_not_an_empty_store(team: Team) -> None:
    put(team.machine("builder"), record("a.py", "held"))
    assert team.texts("reader") == {"held"}
    damaged(team, f"{HEAD_TABLE}.lance/data", lambda _: None)
    assert team.texts("reader") == {"held"}
    with pytest.raises(IndexCorruptError), team.machine("late").writer():
        pass
    team.machine("builder").maintenance.delete()
    with pytest.raises(IndexNotFoundError), team.machine("reader").snapshot():
        pass


def test_without_credentials_that_is_said(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CREDENTIALS:
        monkeypatch.delenv(name)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    with pytest.raises(StoreRefusedError) as told, team.machine("stranger").snapshot():
        pass
    assert "No credentials were found" in told.value.hint

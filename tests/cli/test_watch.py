"""`findspot watch`: an index that follows its files until Ctrl-C."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable
from pathlib import Path

from program import TIMEOUT_S, Program

Make = Callable[..., Path]


def test_it_follows_changes_until_it_is_stopped(findspot: Program, make_project: Make) -> None:
    root = make_project()
    findspot.make_index(root)
    with findspot.start("watch", root, "--json") as process:
        assert process.stdout
        said = json.loads(process.stdout.readline())
        while not said["watching"]:
            said = json.loads(process.stdout.readline())
        assert said["strategy"] == "realtime"
        assert findspot("status", root, "--json").json["watcherActive"]
        (root / "src" / "later.py").write_text("def added_later():\n    return 1\n")
        while not said["updates"]:
            said = json.loads(process.stdout.readline())
        assert findspot("files", "**/later.py", "--project", root).out == "src/later.py\n"
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0
    assert "Stopped watching" in err
    assert not findspot("status", root, "--json").json["watcherActive"]


def test_without_an_index_there_is_nothing_to_watch(findspot: Program, make_project: Make) -> None:
    outcome = findspot("watch", make_project(), "--json")
    assert outcome.code == 3
    assert outcome.json["code"] == "INDEX_NOT_FOUND"

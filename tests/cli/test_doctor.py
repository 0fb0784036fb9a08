"""`findspot doctor` and `findspot logs` through the real program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from findspot.core.log import last_lines, log_file
from program import Program

Make = Callable[..., Path]

LINE = "2026-01-02 03:04:05,678 {} findspot.test {}"


def states(checks: list[dict[str, str]]) -> dict[str, str]:
    return {check["name"]: check["state"] for check in checks}


def write_log(program: Program, *lines: str, name: str = "findspot.log") -> Path:
    path = program.home / "logs" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_a_healthy_machine(findspot: Program, make_project: Make, tmp_path: Path) -> None:
    root = make_project()
    findspot.make_index(root)
    done = findspot("doctor", root, "--json", env={"HOME": str(tmp_path), "PATH": "/usr/bin"})
    assert done.code == 0, done.out
    checks = done.json["checks"]
    assert list(dict.fromkeys(check["name"] for check in checks)) == [
        "python", "findspot", "compiled part", "store", "disk", "service", "configuration",
        "model", "assistants", "index", "indexes",
    ]  # fmt: skip
    assert "error" not in states(checks).values()
    for check in checks:
        assert bool(check["remedy"]) == (check["state"] != "ok"), check
    assert states(checks)["index"] == "ok"


def test_a_home_that_cannot_be_made_or_written_is_an_error(findspot: Program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for home in ("/proc/no-such-home", tmp_path / "file" / "home", tmp_path / "file"):
        done = findspot("doctor", "--json", env={"FINDSPOT_HOME": str(home), "HOME": str(tmp_path)})
        assert (done.code, states(done.json["checks"])["store"]) == (1, "error"), home


def test_every_trouble_has_a_remedy(findspot: Program, make_project: Make, tmp_path: Path) -> None:
    root = make_project()
    findspot.make_index(root)
    (root / "new.py").write_text("y = 2\n")
    (findspot.home / "indexes" / "0000").mkdir()
    findspot.home.chmod(0o755)
    (findspot.home / "not-ours.txt").write_text("others may need this folder, so its mode stays")
    (findspot.home / "config.json").write_text('{"maxFiles": "many"}')
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").write_text('{"mcpServers": {"findspot": {"command": "/gone"}}}')
    (tmp_path / ".gemini").mkdir()
    (tmp_path / ".gemini" / "settings.json").write_text("{")
    (tmp_path / ".codex").mkdir()
    env = {"HOME": str(tmp_path), "FINDSPOT_EMBEDDING_PROVIDER": "api:openai"}
    done = findspot("doctor", root, "--json", env=env | {"OPENAI_API_KEY": ""})
    assert done.code == 1
    found = {check["name"]: check for check in done.json["checks"]}
    told = {check["text"]: check["remedy"] for check in done.json["checks"] if check["name"] == "assistants"}
    assert found["configuration"]["state"] == "warning"
    assert "chmod 700" in found["store"]["remedy"]
    assert found["model"]["state"] == "error"
    assert "1 without a project" in found["indexes"]["text"]
    assert "findspot clean" in found["indexes"]["remedy"]
    assert "1 changes wait" in found["index"]["text"]
    assert told["Cursor: /gone does not exist"] == "Run `findspot setup`."
    assert any("Gemini CLI" in text and "line 1" in text for text in told)
    assert any("Codex: Findspot is not configured" in text for text in told)


def test_a_damaged_index_is_an_error_and_rebuilt(findspot: Program, make_project: Make) -> None:
    root = make_project()
    findspot.make_index(root)
    (database,) = findspot.home.glob("indexes/*/index.sqlite")
    for name in ("index.sqlite-wal", "index.sqlite-shm"):
        database.with_name(name).unlink(missing_ok=True)
    database.write_bytes(b"no database" * 1000)
    done = findspot("doctor", root, "--json")
    assert (done.code, states(done.json["checks"])["index"]) == (1, "error")
    assert findspot("status", root, "--json").json["status"] == "failed"
    assert findspot("index", root, "--json").json["filesIndexed"] == 4
    assert findspot("status", root, "--json").json["status"] == "ready"


class TestLogs:
    def test_nothing_yet(self, findspot: Program) -> None:
        done = findspot("logs")
        assert (done.code, done.out) == (0, "")
        assert "Nothing is logged yet" in done.err
        assert findspot("logs", "--json").json["lines"] == []
        assert findspot("logs", "--path").out == f"{findspot.home / 'logs' / 'findspot.log'}\n"

    def test_the_last_lines_of_all_files(self, findspot: Program) -> None:
        write_log(findspot, *(LINE.format("INFO", f"old {n}") for n in range(5)), name="findspot.log.1")
        write_log(findspot, LINE.format("INFO", "new"), LINE.format("ERROR", "bad"), "  detail")
        shown = findspot("logs", "-n", "4").out.splitlines()
        assert [line.rpartition(" findspot.test ")[2] for line in shown] == [
            "old 4",
            "new",
            "bad",
            "  detail",
        ]
        rows = findspot("logs", "--json", "-n", "2").json["lines"]
        expected = {"time": "2026-01-02 03:04:05", "level": "ERROR", "part": "findspot.test"}
        assert rows == [expected | {"message": "bad"}, {"message": "  detail"}]
        assert len(last_lines(log_file(findspot.home), 100)) == 8

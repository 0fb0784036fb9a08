"""A server keeps its projects fresh by itself, and never answers with what is not there."""

from __future__ import annotations

from pathlib import Path

from e2e.conftest import Connect
from e2e.harness import until


def test_a_saved_file_is_found_and_a_deleted_one_is_not(connect: Connect, fresh: Path) -> None:
    with connect(fresh) as server:
        server.values("create_index", confirm=True)
        until(lambda: server.values("get_index_status")["watcherActive"])
        (fresh / "zebra.py").write_text("def stripes_of_a_zebra():\n    return 'black and white'\n")

        def paths() -> list[str]:
            found = server.values("search_code", query="stripes_of_a_zebra", mode="keyword")
            return [hit["path"] for hit in found["results"]]

        until(lambda: "zebra.py" in paths())
        (fresh / "zebra.py").unlink()
        assert "zebra.py" not in paths()
        until(lambda: server.values("get_index_status")["pendingChanges"] == 0)
        assert server.values("search_by_path", pattern="zebra.py")["totalMatches"] == 0


def test_a_server_that_starts_watches_the_indexed_project_it_is_in(connect: Connect, fresh: Path) -> None:
    with connect(fresh) as server:
        server.values("create_index", confirm=True)
    (fresh / "meanwhile.py").write_text("def written_meanwhile():\n    return 1\n")
    with connect(fresh) as first, connect(fresh) as second:
        until(lambda: second.values("search_by_path", pattern="meanwhile.py")["totalMatches"])
        assert first.values("get_index_status")["watcherActive"]
        assert second.values("get_index_status")["pendingChanges"] == 0

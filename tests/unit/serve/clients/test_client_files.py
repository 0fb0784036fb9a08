"""What setup writes to each client's file, in the client's real format, and takes back."""

from __future__ import annotations

from pathlib import Path

import pytest

from findspot.catalogue.known_clients import BY_NAME
from findspot.serve.cli.setup_command import command_in, keep, server_in, with_server, without_server

FIXTURES = Path(__file__).parents[3] / "fixtures"
FILES = [
    *(FIXTURES / "clients").iterdir(),
    FIXTURES / "setup" / "claude-code.json",
    FIXTURES / "setup" / "codex.toml",
]
COMMAND = ["/opt/bin/findspot", "serve", "--toolsets", "project"]


@pytest.mark.parametrize("fixture", sorted(FILES), ids=lambda path: path.stem)
def test_what_a_user_changes_later_survives_undo(
    fixture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """first-impression M4: the diff is small, a second run is a no-op, and undo leaves later edits."""
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    client, original = BY_NAME[fixture.stem], fixture.read_text("utf-8")
    path = tmp_path / fixture.name
    path.write_text(original, "utf-8")
    change = with_server(client, path, COMMAND)
    assert [line for line in change.diff()[2:] if line[0] == "-" and "}" not in line] == []
    keep(change)
    change.write()
    assert command_in(server_in(client, path) or {}) == COMMAND
    assert not with_server(client, path, COMMAND).needed
    comment = "# mine\n" if client.format != "json" else "// mine\n"
    path.write_text(comment + path.read_text("utf-8"), "utf-8")
    without_server(client, path).write()
    assert path.read_text("utf-8") == comment + original


@pytest.mark.parametrize("client", BY_NAME.values(), ids=lambda client: client.name)
def test_a_new_file_holds_what_the_client_requires(client: object, tmp_path: Path) -> None:
    known = BY_NAME[client.name]  # type: ignore[attr-defined]
    path = tmp_path / "new"
    with_server(known, path, COMMAND).write()
    assert command_in(server_in(known, path) or {}) == COMMAND
    assert path.read_text("utf-8").startswith(known.template)


def test_secrets_in_yaml_are_masked(tmp_path: Path) -> None:
    """first-impression A9: the diff shows neighbouring lines, and so their tokens."""
    path = tmp_path / "config.yaml"
    secret = "open-sesame-4711"
    path.write_text(
        f"extensions:\n  a:\n    cmd: x\n    envs:\n      MY_TOKEN: {secret}\n      api_key: '{secret}'\n"
    )
    shown = "\n".join(with_server(BY_NAME["goose"], path, COMMAND).diff())
    assert "MY_TOKEN" in shown
    assert secret not in shown

"""Nothing outside is read or written through a link, and nothing is waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from program import Program
from trust.conftest import MakeFolder, Serve

CREDENTIALS = "[default]\naws_access_key_id = AKIACANARY\naws_secret_access_key = wJalrXUtCANARY\n"

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows needs a right for links and has no FIFOs")


def test_settings_are_not_read_through_links(findspot: Program, make: MakeFolder, serve: Serve) -> None:
    """`security 7`: the text of a linked file reached the assistant in a warning."""
    make({"credentials": CREDENTIALS, "any.json": '{"auths.registry.corp": 1}'}, "elsewhere")
    project = make({"a.py": "x = 1\n", ".cortex/notes": ""})
    (project / ".cortex/config.yml").symlink_to("../../elsewhere/credentials")
    (project / ".findspot.json").symlink_to("../elsewhere/any.json")
    pipe = serve(project)
    answers = [pipe.call("index_codebase", path=str(project)), pipe.call("get_index_status")]
    command = findspot("index", project)
    assert command.code == 0
    for answer in [*map(str, answers), command.err]:
        assert ".cortex/config.yml: cannot be read (symbolic link)" in answer
        assert ".findspot.json: cannot be read (symbolic link)" in answer
        for text in ("CANARY", "aws_", "registry", "auths"):
            assert text not in answer


@pytest.mark.parametrize("name", [".findspot.json", ".cortex/config.yml"])
def test_a_fifo_or_device_in_the_place_of_settings_hangs_nothing(
    findspot: Program, make: MakeFolder, name: str
) -> None:
    """`security 7` and 19: every command waited for a FIFO or for standard input."""
    project = make({"pyproject.toml": "", ".cortex/notes": ""})
    os.mkfifo(project / name)
    with_fifo = findspot("config", cwd=project)
    assert (with_fifo.code, f"{name}: cannot be read (not a regular file)" in with_fifo.err) == (0, True)
    (project / name).unlink()
    (project / name).symlink_to("/proc/self/fd/0")
    read, write = os.pipe()
    try:
        through_link = findspot("config", cwd=project, stdin=read)
    finally:
        os.close(read)
        os.close(write)
    assert (through_link.code, f"{name}: cannot be read (symbolic link)" in through_link.err) == (0, True)


BOMB = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 10))
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}]\n" for n in range(1, 2_000))
CLIENT_FILES = {
    "bomb.yaml": f"{BOMB}extensions: *a9\n",
    "chain.yaml": f"{CHAIN}extensions: *a1999\n",
    "deep.yaml": f"extensions: {'[' * 5_000}\n",
    "deep.toml": f"a = {'[' * 5_000}\n",
    "dotted.toml": f"{'.'.join(['a'] * 5_000)} = 1\n",
    "deep.json": '{"mcpServers": ' + "[" * 100_000,
    "nested.json": '{"mcpServers": ' + '{"a":' * 900 + "1" + "}" * 901,
}


@pytest.mark.parametrize("name", CLIENT_FILES)
def test_a_clients_file_that_grows_is_refused(findspot: Program, make: MakeFolder, name: str) -> None:
    project = make({"a.py": "", name: CLIENT_FILES[name]})
    done = findspot("tools", "index", name, cwd=project)
    assert (done.code, "unexpected" in done.err) == (2, False)
    assert name in done.err


@pytest.mark.parametrize(
    ("client", "path", "content"),
    [
        ("continue", ".continue/config.yaml", CLIENT_FILES["bomb.yaml"]),
        ("codex", ".codex/config.toml", CLIENT_FILES["deep.toml"]),
        ("codex", ".codex/config.toml", CLIENT_FILES["dotted.toml"]),
        ("cursor", ".cursor/mcp.json", CLIENT_FILES["deep.json"]),
    ],
)
def test_setup_leaves_a_file_alone_that_grows(
    findspot: Program, make: MakeFolder, client: str, path: str, content: str
) -> None:
    project = make({"a.py": "", path: content})
    environment = {"HOME": str(project), "XDG_CONFIG_HOME": "", "CODEX_HOME": ""}
    done = findspot("setup", "--client", client, "--yes", cwd=project, env=environment)
    assert (done.code, "unexpected" in done.err) == (1, False)
    assert (project / path).read_text() == content


@pytest.mark.parametrize("kind", ["fifo", "endless"])
def test_setup_and_doctor_wait_for_no_clients_file(
    findspot: Program, make: MakeFolder, kind: str, tmp_path: Path
) -> None:
    project, user = make({"a.py": ""}), tmp_path / "user"
    file = user / ".cursor/mcp.json"
    file.parent.mkdir(parents=True)
    os.mkfifo(file) if kind == "fifo" else file.symlink_to("/dev/zero")
    environment = {"HOME": str(user), "XDG_CONFIG_HOME": ""}
    done = findspot("setup", "--client", "cursor", "--yes", cwd=project, env=environment)
    assert (done.code, "cannot be read (not a regular file)" in done.err) == (1, True)
    assert "not a regular file" in findspot("doctor", cwd=project, env=environment).out


def test_export_does_not_write_through_links(findspot: Program, make: MakeFolder, tmp_path: Path) -> None:
    """`security 15`: a predictable temporary name and committed folders led outside."""
    project = make({"a.py": "def f():\n    return 1\n", ".cortex/notes": ""})
    findspot.make_index(project)
    outside = make({"precious.txt": "precious"}, "outside")
    (project / ".cortex/chunks").symlink_to(outside)
    refused = findspot("chunks", "export", cwd=project)
    assert (refused.code, "Symbolic links are not allowed" in refused.err) == (1, True)
    assert [entry.name for entry in outside.iterdir()] == ["precious.txt"]
    assert findspot("chunks", "export", "--output", outside, cwd=project).code == 0

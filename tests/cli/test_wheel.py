"""The built wheel as a user gets it: installed into an empty environment, it indexes and answers."""

from __future__ import annotations

import functools
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import venv
import zipfile
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from findspot import __version__

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "findspot"
TIMEOUT_S = 120
BORROWED = "".join(f"{path}\n" for path in sys.path if path.endswith("site-packages"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def package_index(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a package index that has the wheel, and the same as if it needed nothing else."""
    folder = tmp_path_factory.mktemp("index")
    for name in ("simple", "borrowing"):
        (folder / name / "findspot").mkdir(parents=True)
    shutil.copy(wheel, folder / "simple" / "findspot")
    _borrow(wheel, folder / "borrowing" / "findspot" / wheel.name)
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def _borrow(wheel: Path, copy: Path) -> None:
    """Write a wheel that takes its dependencies from this environment."""
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(copy, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name.endswith(".dist-info/METADATA"):
                kept = [line for line in data.splitlines() if not line.startswith(b"Requires-Dist")]
                data = b"\n".join(kept)
            if name.endswith(".dist-info/RECORD"):
                lines = [line for line in data.splitlines() if b"/METADATA," not in line]
                data = b"\n".join(
                    [*lines, name.replace("RECORD", "METADATA").encode() + b",,", b"borrowed.pth,,", b""]
                )
            new.writestr(name, data)
        new.writestr("borrowed.pth", BORROWED)


@pytest.fixture(scope="module")
def installed(package_index: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment that has the wheel, and borrows from ours what it depends on."""
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, with_pip=False)
    scripts = place / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / Path(sys.executable).name
    pip = (sys.executable, "-m", "pip", "--isolated", "--python", str(python))
    _run(*pip, "install", "--no-deps", "-i", f"{package_index}/simple", f"findspot=={__version__}")
    (packages,) = place.rglob("site-packages")
    # A path that is only appended: the editable findspot of this environment is not seen through it.
    (packages / "borrowed.pth").write_text(BORROWED, encoding="utf-8")
    return scripts


def _run(
    *command: str, cwd: Path | None = None, home: Path | None = None, given: str = "", **environ: str
) -> str:
    own = {k: v for k, v in os.environ.items() if not k.startswith(("FINDSPOT_", "PYTHON"))}
    own |= ({"FINDSPOT_HOME": str(home)} if home else {}) | environ
    done = subprocess.run(
        command,
        cwd=cwd,
        env=own,
        input=given,
        capture_output=True,
        encoding="utf-8",
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as opened:
        names = {name for name in opened.namelist() if not name.endswith("/")}
    inside = {name for name in names if name.startswith("findspot/")}
    expected = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.name != ".DS_Store"
    }
    compiled = {name for name in inside | expected if re.search(r"/_native\.(?!pyi)", name)}
    assert inside - compiled == expected - compiled
    assert wheel.name.split("-")[2:4] == (["cp311", "abi3"] if compiled & inside else ["py3", "none"])
    assert all(name.startswith(f"findspot-{__version__}.dist-info/") for name in names - inside)
    assert {"findspot/py.typed", f"findspot-{__version__}.dist-info/licenses/NOTICE"} <= names


@pytest.mark.parametrize("environ", [{"FINDSPOT_NATIVE": "off"}, {"CC": "no-such-compiler"}])
def test_it_is_built_without_a_compiler(environ: dict[str, str], tmp_path: Path) -> None:
    _run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path), cwd=ROOT, **environ)
    (built,) = tmp_path.glob("*-py3-none-any.whl")
    with zipfile.ZipFile(built) as opened:
        assert not [name for name in opened.namelist() if name.endswith((".so", ".pyd", ".c"))]


def test_a_compiled_part_that_is_required_and_cannot_be_built_is_an_error(tmp_path: Path) -> None:
    environ = {"FINDSPOT_NATIVE": "require", "CC": "no-such-compiler"}
    with pytest.raises(AssertionError, match="no-such-compiler"):
        _run(
            sys.executable,
            "-m",
            "hatchling",
            "build",
            "-t",
            "wheel",
            "-d",
            str(tmp_path),
            cwd=ROOT,
            **environ,
        )
    assert not list(tmp_path.glob("*.whl"))


def test_an_index_page_accepts_the_packages(wheel: Path) -> None:
    """first-impression A14: `twine check` on the wheel and the sdist, whose description renders."""
    _run(sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(wheel.parent), cwd=ROOT)
    (sdist,) = wheel.parent.glob("*.tar.gz")
    _run(sys.executable, "-m", "twine", "check", "--strict", str(wheel), str(sdist))
    with zipfile.ZipFile(wheel) as opened:
        metadata = opened.read(f"findspot-{__version__}.dist-info/METADATA").decode()
    headers, _, description = metadata.partition("\n\n")
    assert "Project-URL: Source, https://" in headers
    assert "pip install findspot" in description
    assert "git clone" not in description
    assert not re.search(r"\]\((?!https?:|mailto:|#)", description)


def test_it_indexes_and_answers(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "clock.py").write_text("def strike(hour):\n    return 'dong ' * hour\n")
    program, python = str(installed / "findspot"), str(installed / Path(sys.executable).name)
    assert _run(program, "--version") == f"findspot {__version__}\n"
    where = _run(python, "-c", "import findspot; print(findspot.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(installed.parent)
    _run(program, "index", cwd=tmp_path, home=tmp_path / "home")
    assert "clock.py" in _run(program, "search", "strike", cwd=tmp_path, home=tmp_path / "home")


def test_the_version_is_told_without_loading_anything(installed: Path) -> None:
    code = (
        "import sys; from findspot.__main__ import main; sys.argv[1:] = ['-V']; main(); print(*sys.modules)"
    )
    version, loaded = _run(str(installed / Path(sys.executable).name), "-c", code).splitlines()
    assert version == f"findspot {__version__}"
    assert not {"click", "numpy", "sqlite3", "findspot.serve"} & set(loaded.split())


@pytest.fixture
def team(installed: Path, tmp_path: Path) -> dict[str, Any]:
    """The server that a released version writes into a project for a team."""
    (tmp_path / "pyproject.toml").write_text("")
    shown = _run(
        str(installed / "findspot"), "setup", "--project", "--yes", cwd=tmp_path, home=tmp_path / "home"
    )
    assert "uvx` fetches Findspot" in shown
    assert "uvx" in (tmp_path / "AGENTS.md").read_text("utf-8")
    entry = json.loads((tmp_path / ".mcp.json").read_text("utf-8"))["mcpServers"]["findspot"]
    assert isinstance(entry, dict)
    return entry


def test_a_released_version_is_fetched_by_those_who_lack_it(team: dict[str, Any]) -> None:
    """first-impression M2: team mates need not install Findspot first."""
    assert team["command"] == "uvx"
    assert team["args"] == [f"findspot@{__version__}", "serve", "--toolsets", "project"]


@pytest.mark.programs
def test_what_a_team_commits_starts_on_another_machine(
    team: dict[str, Any], package_index: str, tmp_path: Path
) -> None:
    """first-impression M2: uv alone is enough; it gets Findspot from the team's package index."""
    _run(sys.executable, "-m", "pip", "install", "--target", str(tmp_path / "uv"), "uv")
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
    answer = _run(
        str(tmp_path / "uv" / "bin" / team["command"]),
        *team["args"],
        cwd=tmp_path,
        home=tmp_path / "other",
        given=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}) + "\n",
        UV_DEFAULT_INDEX=f"{package_index}/borrowing",
        UV_CACHE_DIR=str(tmp_path / "cache"),
        UV_PYTHON=sys.executable,
        UV_PYTHON_DOWNLOADS="never",
    )
    assert json.loads(answer.splitlines()[0])["result"]["serverInfo"]["name"] == "findspot"

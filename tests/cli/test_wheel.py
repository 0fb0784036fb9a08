"""The built wheel as a user gets it: installed into an empty environment, it indexes and answers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from findspot import __version__

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "findspot"
TIMEOUT_S = 120
BORROWED = "".join(f"{path}\n" for path in sys.path if path.endswith("site-packages"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    _build("wheel", folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment that has the wheel, and borrows from ours what it depends on."""
    place = tmp_path_factory.mktemp("venv")
    venv.create(place, with_pip=False)
    scripts = place / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / Path(sys.executable).name
    pip = (sys.executable, "-m", "pip", "--isolated", "--python", str(python))
    _run(*pip, "install", "--no-deps", "--no-index", str(wheel))
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


def _build(target: str, folder: Path, **environ: str) -> None:
    _run(sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder), cwd=ROOT, **environ)


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
    _build("wheel", tmp_path, **environ)
    (built,) = tmp_path.glob("*-py3-none-any.whl")
    with zipfile.ZipFile(built) as opened:
        assert not [name for name in opened.namelist() if name.endswith((".so", ".pyd", ".c"))]


def test_a_compiled_part_that_is_required_and_cannot_be_built_is_an_error(tmp_path: Path) -> None:
    environ = {"FINDSPOT_NATIVE": "require", "CC": "no-such-compiler"}
    with pytest.raises(AssertionError, match="no-such-compiler"):
        _build("wheel", tmp_path, **environ)
    assert not list(tmp_path.glob("*.whl"))


def test_an_index_page_accepts_the_packages(wheel: Path) -> None:
    """first-impression A14: `twine check` on the wheel and the sdist, whose description renders."""
    _build("sdist", wheel.parent)
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

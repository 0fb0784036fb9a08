"""Packages are searched at the installed version, apart from the project, and nothing in them is run."""

from __future__ import annotations

import json
import os
from pathlib import Path

from program import Program

from .conftest import MakeFolder, Serve

MARK = "import pathlib; pathlib.Path(__file__).with_name('was_run').touch()\n"

PACKAGE = {
    "httpkit/__init__.py": f"{MARK}from httpkit.retry import wait_between_attempts\n",
    "httpkit/retry.py": MARK + "def wait_between_attempts(attempt: int) -> float:\n"
    '    """Return how long to wait before a failed request is sent again."""\n'
    "    return min(60.0, 0.5 * 2**attempt)\n",
    "httpkit/tests/test_retry.py": "def test_wait_between_attempts():\n    pass\n",
    "httpkit/_vendor/copied.py": "def wait_between_attempts_copy():\n    return 1\n",
    "httpkit/.env": "PASSWORD=open-sesame\n",
    "httpkit/.findspot.json": '{"exclude": ["**/retry.py"]}',
    "httpkit.pth": MARK,
    "httpkit-2.1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: httpkit\nVersion: 2.1.0\n",
    "httpkit-2.1.0.dist-info/RECORD": "httpkit/__init__.py,,\nhttpkit/retry.py,,\n",
    "single.py": "def only_function():\n    '''Do the single thing.'''\n",
    "single-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: single\nVersion: 1.0\n",
    "other/secret_recipe.py": "def only_function_of_others(): ...\n",
}
NODE = {
    "package.json": json.dumps(
        {"name": "left-align", "version": "3.0.0", "scripts": {"postinstall": "touch was_run"}}
    ),
    "dist/index.js": "/** Pad a text on its right side. */\nexport function alignLeft(text, width) {}\n",
}
SITE = ".venv/lib/python3.12/site-packages"
LABEL = "dep://pypi/httpkit@2.1.0"


def _project(make: MakeFolder) -> Path:
    files = {
        "requirements.txt": "httpkit\nsingle\nabsent\n",
        "package.json": '{"dependencies": {"left-align": "3"}}',
        "app.py": "def greet(name):\n    '''Say hello to somebody.'''\n    return name\n",
        ".gitignore": ".venv/\nnode_modules/\n",
        ".venv/pyvenv.cfg": "home = /usr/bin\n",
    }
    files |= {f"{SITE}/{path}": text for path, text in PACKAGE.items()}
    files |= {f"node_modules/left-align/{path}": text for path, text in NODE.items()}
    return make(files, git=True)


def test_a_package_is_searched_on_demand_and_never_run(
    findspot: Program, make: MakeFolder, home: Path
) -> None:
    project = _project(make)
    findspot.make_index(project)
    assert not (home / "dependencies").exists()
    assert findspot("deps", "--json", cwd=project).json["total"] == 4
    assert not (home / "dependencies").exists(), "listing indexes nothing"

    def ask(package: str, *words: str) -> list[str]:
        answer = findspot("search", "--dependency", package, "--json", *words, cwd=project)
        return [hit["path"] for hit in answer.json["results"]]

    assert ask("httpkit", "wait before sending a request again")[0] == f"{LABEL}/httpkit/retry.py"
    found = ask("httpkit@2.1.0", "wait_between_attempts")
    assert {Path(path).name for path in found} <= {"retry.py", "__init__.py", ".findspot.json"}
    assert ask("pypi/single", "only_function") == ["dep://pypi/single@1.0/single.py"]
    assert ask("left-align", "pad a text")[0] == "dep://npm/left-align@3.0.0/dist/index.js"
    everywhere = findspot("search", "--dependency", "*", "--json", "function", cwd=project).json
    assert {hit["path"][:11] for hit in everywhere["results"]} <= {"dep://pypi/", "dep://npm/l"}
    assert "not on this machine: absent." in everywhere["warning"]
    assert not any(path.startswith("dep://") for path in _paths(findspot, project, "wait_between_attempts"))
    assert not list(project.rglob("was_run"))
    kept = b"".join(path.read_bytes() for path in (home / "dependencies").rglob("*") if path.is_file())
    assert b"open-sesame" not in kept
    assert (home / "dependencies").stat().st_mode & 0o077 == 0 or os.name == "nt"


def _paths(findspot: Program, project: Path, words: str) -> list[str]:
    answer = findspot("search", words, "--json", cwd=project).json
    return [hit["path"] for hit in answer["results"]]


def test_an_assistant_asks_reads_and_compares(serve: Serve, findspot: Program, make: MakeFolder) -> None:
    project = _project(make)
    findspot.make_index(project)
    pipe = serve(project)
    status = pipe.call("get_index_status")["structuredContent"]
    assert status["dependencies"] == {
        "direct": ["npm/left-align@3.0.0", "pypi/httpkit@2.1.0", "pypi/single@1.0"],
        "indirect": 0,
        "missing": ["pypi/absent"],
    }
    answer = pipe.call("search_code", query="wait before sending again", dependency="httpkit")
    best = answer["structuredContent"]["results"][0]
    assert best["path"] == f"{LABEL}/httpkit/retry.py"
    read = pipe.result("resources/read", {"uri": f"{best['path']}#L2-L3"})["contents"][0]["text"]
    assert "wait_between_attempts" in read
    assert pipe.error("resources/read", {"uri": f"{LABEL}/../other/secret_recipe.py"})
    assert pipe.error("resources/read", {"uri": f"{LABEL}/other/secret_recipe.py"})
    alike = pipe.call("search_code", similar_to=f"{best['path']}:2-4")["structuredContent"]["results"]
    assert all(hit["path"].startswith(LABEL) for hit in alike)


def test_a_name_of_a_package_is_followed_over_the_border(findspot: Program, make: MakeFolder) -> None:
    project = _project(make)
    (project / "app.py").write_text(
        "from httpkit import retry\nimport absent\n\n\ndef main():\n    send()\n    absent.go()\n\n\n"
        "def send():\n    retry.wait_between_attempts(1)\n"
    )
    findspot.make_index(project)
    name = "httpkit.retry.wait_between_attempts"
    callers = findspot("callers", name, cwd=project)
    callers = callers.out + callers.err
    assert "A dependency defines it" in callers
    assert "Used at app.py:11." in callers
    missing = findspot("callers", "absent.go", cwd=project)
    missing = missing.out + missing.err
    assert "A dependency that cannot be read may define it (pypi/absent: not installed)." in missing
    assert "Used at app.py:7." in missing
    assert "go (app.py:7): pypi/absent: not installed" in findspot("callees", "main", cwd=project).out


def test_packages_that_differ_never_share_an_index(findspot: Program, make: MakeFolder) -> None:
    """A repository could commit a package whose text another project was then shown as its own."""
    files = {
        "requirements.txt": "httpkit\n",
        "app.py": "from httpkit import retry\n\ndef main():\n    retry.wait()\n",
        ".venv/pyvenv.cfg": "",
        f"{SITE}/httpkit-2.1.0.dist-info/METADATA": "Name: httpkit\nVersion: 2.1.0\n",
        f"{SITE}/httpkit/__init__.py": "",
    }
    texts = ("def wait():\n    'Wait for good.'\n", "def wait():\n    'Wait for evil.'\n")
    for name, text in zip(("first", "second"), texts, strict=True):
        project = make(files | {f"{SITE}/httpkit/retry.py": text}, name, git=True)
        findspot.make_index(project)
        word = "good" if name == "first" else "evil"
        assert f"Wait for {word}." in findspot("callees", "main", cwd=project).out
        answer = findspot("search", "--dependency", "httpkit", "wait", "--json", cwd=project)
        assert word in answer.json["results"][0]["text"]

"""Several projects that are asked as one."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contents import write_files
from findspot import Engine, Query
from findspot.core.errors import FileNotIndexedError, InvalidArgumentError, SeveralProjectsError
from findspot.core.model import Hit, IndexState, Mode, Results, Span
from findspot.core.paths import find_roots
from findspot.discover.checkouts import by_name, repositories_in
from findspot.research.findings import Aim, Focus, Inquiry
from findspot.research.task_signals import Request
from findspot.search.merging import MOST_ASKED, Fit, may_answer, merge
from findspot.workspace import Workspace

FILES = {
    "api/login.py": "def log_in(user):\n    return check_password(user)\n",
    "api/docs/guide.md": "# Login\n\nHow users log in.\n",
    "web/cart.js": "export function renderCart() {\n  return drawBasket(1);\n}\n",
    "team/tool/run.py": "def run_everything():\n    return 1\n",
    "notes/todo.txt": "nothing\n",
}


def repository(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workspace").resolve() / "all"
    write_files(folder, FILES)
    for name in ("api", "web", "team/tool"):
        repository(folder / name)
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINDSPOT_HOME", str(folder.parent / "home"))
        with contextlib.closing(Engine()) as engine:
            yield engine


@pytest.fixture(scope="module")
def workspace(engine: Engine, folder: Path) -> Workspace:
    workspace = engine.workspace(folder)
    assert workspace is not None
    workspace.update()
    engine.known_workspaces.note(workspace)
    return workspace


def test_repositories_are_found_two_folders_deep(folder: Path) -> None:
    assert repositories_in(folder) == [folder / "api", folder / "team/tool", folder / "web"]
    assert repositories_in(folder / "notes") == []


def test_the_own_code_of_a_folder_is_a_member_beside_its_only_repository(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    write_files(folder, {"own.py": "def own():\n    pass\n", "api/login.py": FILES["api/login.py"]})
    repository(folder / "api")
    with contextlib.closing(Engine()) as engine:
        for _ in range(2):  # before it is indexed, and then
            workspace = engine.workspace(folder)
            assert workspace is not None
            assert workspace.members == {"api": folder / "api", "mine": folder}
            workspace.update()
            engine.known_workspaces.note(workspace)
            found = {hit.path for name in ("own", "log_in") for hit in workspace.search(Query(name)).hits}
            assert found == {"mine/own.py", "api/login.py"}


def test_worktrees_of_one_repository_are_offered_once(tmp_path: Path) -> None:
    main = repository(tmp_path / "b-main")
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"]
    subprocess.run(["git", "-C", main, *commit], check=True)
    subprocess.run(["git", "-C", main, "worktree", "add", "-q", tmp_path / "a-branch"], check=True)
    assert repositories_in(tmp_path) == [main]


def test_of_two_members_with_one_name_the_later_has_its_parents_too() -> None:
    assert list(by_name(map(Path, ("/a/shop", "/b/shop", "/c/b/shop")))) == ["shop", "b-shop", "b-shop-2"]


def test_all_members_answer_and_paths_begin_with_their_names(workspace: Workspace) -> None:
    hits = workspace.search(Query("log_in")).hits
    assert (hits[0].path, hits[0].project) == ("api/login.py", "api")
    assert (workspace.roots / hits[0].path).is_file()
    assert workspace.search(Query("renderCart")).hits[0].path == "web/cart.js"
    found = workspace.search(Query("return", mode=Mode.REGEX)).hits
    assert {hit.project for hit in found} == {"api", "web", "team/tool"}
    assert all((workspace.folder / hit.path).is_file() for hit in found)
    assert [hit.path for hit in workspace.search(Query("log", corpus="docs")).hits] == ["api/docs/guide.md"]


def test_pages_follow_each_other(workspace: Workspace) -> None:
    every = workspace.search(Query("return", limit=10)).hits
    pages = [workspace.search(Query("return", limit=1, offset=n)).hits for n in range(len(every))]
    assert [hit for page in pages for hit in page] == list(every)


def test_a_name_or_a_glob_narrows_it(workspace: Workspace) -> None:
    assert list(chosen.members) == ["web"] if (chosen := workspace.chosen("WEB")) else False
    assert list(chosen.members) == ["api", "team/tool"] if (chosen := workspace.chosen("[at]*")) else False
    assert list(chosen.members) == ["team/tool"] if (chosen := workspace.chosen("tool")) else False
    assert workspace.chosen("nothing*") is None
    for pattern, name in (("api/**", "api"), ("team/tool/**", "team/tool")):
        found = workspace.search(Query("return", mode=Mode.REGEX, path_filter=pattern)).hits
        assert {hit.project for hit in found} == {name}


def test_relations_are_asked_of_the_member_that_defines_the_symbol(workspace: Workspace) -> None:
    findings = workspace.research(Inquiry(relation=Aim.CALLEES, symbol="run_everything"))
    assert findings.nodes[0].path == "team/tool/run.py"


def test_members_that_cannot_answer_are_named(workspace: Workspace, engine: Engine, tmp_path: Path) -> None:
    write_files(tmp_path / "new", {"a.py": "x = 1\n"})
    roots = [*workspace.members.values(), tmp_path / "new", tmp_path / "gone"]
    larger = engine.gathered(workspace.folder, roots)
    results = larger.search(Query("log_in"))
    assert results.hits[0].path == "api/login.py"
    assert "Not indexed, and not asked: new." in str(results.warning)
    assert "gone could not answer: Path does not exist" in str(results.warning)
    assert workspace.status().state is IndexState.READY


def test_the_setting_roots_names_members(workspace: Workspace, engine: Engine, tmp_path: Path) -> None:
    write_files(tmp_path / "mine", {"inner/a.py": "x = 1\n"})
    (tmp_path / "mine/.findspot.json").write_text(json.dumps({"roots": ["inner", "../elsewhere"]}))
    assert engine.workspace(tmp_path / "mine") is None  # one that leads out is refused, and so is the list
    (tmp_path / "mine/.findspot.json").write_text(json.dumps({"roots": ["inner"]}))
    assert list(engine.workspace(tmp_path / "mine").members) == ["inner"]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("../elsewhere", "outside the project"),
        (".git", "deny list"),
        ("a/node_modules/x", "deny list"),
        ("/", "home folder"),
        ("~", "home folder"),
    ],
)
def test_what_is_refused_as_a_member(tmp_path: Path, wanted: str, said: str) -> None:
    ask: Callable[..., tuple[Path, ...]] = find_roots
    with pytest.raises(InvalidArgumentError, match=said) as refused:
        ask(tmp_path, [wanted], inside_only=wanted not in ("/", "~"))
    assert refused.value.hint


def test_inside_a_member_the_status_is_that_of_the_member(workspace: Workspace, engine: Engine) -> None:
    inside = engine.workspace(workspace.folder / "api")
    alone = engine.project(workspace.folder / "api").status()
    assert inside.status() == alone
    assert list(inside.statuses()) == ["api"]
    assert workspace.chosen("api").status() == alone  # type: ignore[union-attr]


def test_an_empty_member_does_not_make_anything_fit(
    workspace: Workspace, engine: Engine, tmp_path: Path
) -> None:
    (tmp_path / "hollow").mkdir()
    engine.project(tmp_path / "hollow").update()
    larger = engine.gathered(workspace.folder, [*workspace.members.values(), tmp_path / "hollow"])
    nonsense = Query("quantum entanglement of photons in a cavity")
    assert workspace.search(nonsense).nothing_fits
    assert larger.search(nonsense).nothing_fits
    assert not larger.search(Query("log_in")).nothing_fits


def test_hits_of_members_where_nothing_fits_come_last() -> None:
    def answer(member: str, *scores: float, nothing_fits: bool = False) -> Results:
        hits = tuple(
            Hit(path=f"{n}.py", span=Span(1, 1), text="", score=score, kind="", language="", project=member)
            for n, score in enumerate(scores)
        )
        return Results("q", Mode.HYBRID, hits, len(hits), 0, nothing_fits=nothing_fits)

    fits, noise = answer("fits", 0.9, 0.1), answer("noise", 0.49, nothing_fits=True)
    merged = merge(Query("q"), [noise, fits])
    assert [hit.project for hit in merged.hits] == ["fits", "fits", "noise"]
    assert not merged.nothing_fits
    other = answer("other", 0.2, 0.1, nothing_fits=True)
    assert [hit.score for hit in merge(Query("q"), [other, noise]).hits] == [0.49, 0.2, 0.1]


def test_of_members_that_are_alike_the_one_comes_first_that_speaks_of_it_more() -> None:
    def answer(path: str, **shares: float) -> Results:
        hit = Hit(path, Span(1, 2), "", 0.4, "function", "python")
        return Results("q", Mode.HYBRID, (hit,), 1, 0.0, nearness=1.0, word_shares=shares)

    seldom, often = answer("a.py", invoice=0.01, pay=0.01), answer("b.py", invoice=0.2, pay=0.01)
    assert [hit.path for hit in merge(Query("q"), [seldom, often]).hits] == ["b.py", "a.py"]
    unheard = [answer("a.py", invoice=0.0), answer("b.py", invoice=0.0)]
    assert [hit.path for hit in merge(Query("q"), unheard).hits] == ["a.py", "b.py"]


DIFF = "--- a/{0}\n+++ b/{0}\n@@ -1,2 +1,2 @@\n-def log_in(user):\n+def log_in(user, key):\n     return 1\n"


@pytest.mark.parametrize(
    "request_",
    [
        Request(path="api/login.py", line=1),
        Request(path="login.py", line=1),
        Request("api/login.py:1"),
        Request(diff=DIFF.format("login.py")),
        Request(DIFF.format("api/login.py")),
        Request("how do users log in"),
    ],
)
def test_context_comes_from_the_member_that_a_signal_lies_in_or_fits(
    workspace: Workspace, request_: Request
) -> None:
    found = workspace.context(request_)
    assert "log_in" in found.summary
    assert all(region.path.startswith("api/") for region in found.regions)
    is_text = request_.signal.startswith("how")
    assert ("This is from 'api'." in str(found.warning)) is is_text


def test_context_of_a_path_that_is_nowhere_is_an_error(workspace: Workspace) -> None:
    with pytest.raises(FileNotIndexedError):
        workspace.context(Request(path="nowhere.py"))
    with pytest.raises(SeveralProjectsError):
        workspace.context(Request(diff="HEAD"))


def test_architecture_says_which_member_it_describes(workspace: Workspace) -> None:
    findings = workspace.research(Inquiry("how is it built", focus=Focus.ARCHITECTURE))
    assert re.search(
        r"This is about '[\w/]+' alone\. Ask others by name: [\w/]+, [\w/]+\.", str(findings.warning)
    )


def test_a_folder_of_repositories_stands_for_them(
    workspace: Workspace, engine: Engine, tmp_path: Path
) -> None:
    write_files(tmp_path / "mine", {"group/one/a.py": "x = 1\n", "group/two/b.py": "y = 1\n"})
    (tmp_path / "mine/.findspot.json").write_text(json.dumps({"roots": ["group"]}))
    for name in ("one", "two"):
        repository(tmp_path / f"mine/group/{name}")
    assert list(engine.workspace(tmp_path / "mine").members) == ["group/one", "group/two"]
    group = engine.workspace(tmp_path / "mine/group")
    engine.project(group.folder).update()  # an index without a file
    assert list(engine.workspace(group.folder).members) == ["one", "two"]


def test_a_part_of_a_workspace_is_not_remembered_for_the_whole(workspace: Workspace, engine: Engine) -> None:
    known = engine.known_workspaces
    known.note(workspace.chosen("a*"))
    assert known.around(workspace.members["web"]) == workspace.folder


def test_of_many_members_a_first_look_chooses_those_that_the_best_hits_can_come_from() -> None:
    far = {f"far{n}": Fit({"login": 0.01}, 0.1, False) for n in range(20)}
    near = {"near": Fit({"login": 0.5}, 0.6, False), "also": Fit({"login": 0.4}, 0.5, False)}
    assert may_answer(far | near) == ["near", "also"]
    assert may_answer(far | near | {"defines": Fit({"login": 0.5}, 0.5, True)})[0] == "defines"
    assert len(may_answer(far)) == MOST_ASKED
    assert may_answer({"only": Fit({})}) == ["only"]


def test_one_of_many_members_is_found_and_all_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    topics = ("invoice", "harbour", "violin", "planet", "recipe", "kernel", "bridge")
    files = {f"{each}/{each}.py": f"def open_{each}(value):\n    return value\n" for each in topics}
    write_files(tmp_path / "all", files | {"violin/guide.md": "# Violins\n\nHow to open one.\n"})
    for name in (*topics, "new"):
        repository(tmp_path / "all" / name)
    with contextlib.closing(Engine({"sync.watch": False})) as engine:
        for name in topics:
            engine.project(tmp_path / "all" / name).update()
        workspace = engine.workspace(tmp_path / "all")
        assert workspace is not None
        for name in topics:
            results = workspace.search(Query(f"where is the {name} opened"))
            assert results.hits[0].path == f"{name}/{name}.py"
            assert "Not indexed, and not asked: new." in str(results.warning)
        assert {hit.project for hit in workspace.search(Query("return", mode=Mode.REGEX)).hits} == {*topics}
        assert workspace.search(Query("violins", corpus="docs")).hits[0].path == "violin/guide.md"
        for mode in (Mode.HYBRID, Mode.KEYWORD):
            narrowed = workspace.search(Query("return a value", mode=mode, path_filter="recipe/**")).hits
            assert {hit.path for hit in narrowed} == {"recipe/recipe.py"}


LIBRARY = {
    "pyproject.toml": '[project]\nname = "money"\nversion = "2.0"\n',
    "src/money/__init__.py": "from money.sums import total\nfrom money.tills import Till\n",
    "src/money/tills.py": "class Till:\n    def lock(self):\n        return 1\n",
    "src/money/sums.py": "def total(items):\n    return sum(items)\n",
}
CONSUMER = {
    "pyproject.toml": '[project]\nname = "shop"\ndependencies = ["money"]\n',
    "cart.py": "import money\nfrom money import total\n\n\ndef pay(items):\n    return total(items)\n\n\n"
    "def owe(items):\n    return money.sums.total(items)\n",
    "own.py": "from elsewhere import total\n\n\ndef count():\n    return total([])\n",
    "till.py": "from money import Till\n\n\nclass Desk(Till):\n    def __init__(self):\n"
    "        self.other = Till()\n\n    def close(self):\n        self.lock()\n        self.other.lock()\n"
    "\n\ndef opened() -> Till:\n    return Desk()\n\n\ndef night(till: Till):\n    till.lock()\n"
    "    opened().lock()\n    return isinstance(till, Till)\n",
    "tests/test_till.py": "import pytest\nfrom money import Till\n\n\n@pytest.fixture\ndef till():\n"
    "    return Till()\n\n\ndef test_lock(till):\n    till.lock()\n",
    ".venv/lib/python3.11/site-packages/money/__init__.py": "",
    ".venv/lib/python3.11/site-packages/money-1.0.dist-info/METADATA": "Name: money\nVersion: 1.0\n",
    ".venv/pyvenv.cfg": "",
}
GO = {
    "gomoney/go.mod": "module example.com/money\n\ngo 1.22\n",
    "gomoney/sums/sums.go": "package sums\n\nfunc Total(n int) int { return n }\n",
    "goshop/go.mod": "module example.com/shop\n\ngo 1.22\n",
    "goshop/main.go": 'package main\n\nimport "example.com/money/sums"\n\n'
    "func Pay() int { return sums.Total(1) }\n",
    "jsmoney/package.json": '{"name": "@acme/money", "version": "1.0.0", "main": "index.js"}\n',
    "jsmoney/index.js": "export function subtotal(n) {\n  return n;\n}\n",
    "jsshop/package.json": '{"name": "jsshop"}\n',
    "jsshop/cart.js": 'import { subtotal } from "@acme/money";\n\nexport function payAll() {\n'
    "  return subtotal(1);\n}\n",
    "rsmoney/Cargo.toml": '[package]\nname = "rs-money"\nversion = "1.0.0"\n',
    "rsmoney/src/lib.rs": "pub fn rounded(n: i32) -> i32 {\n    n\n}\n",
    "rsshop/Cargo.toml": '[package]\nname = "rsshop"\n',
    "rsshop/src/main.rs": "use rs_money::rounded;\n\nfn main() {\n    rounded(1);\n}\n",
    "jmoney/pom.xml": "<project><groupId>com.acme</groupId><artifactId>jmoney</artifactId></project>\n",
    "jmoney/src/main/java/com/acme/Purse.java": "package com.acme;\n\npublic class Purse {\n"
    "    public static int emptied() {\n        return 0;\n    }\n}\n",
    "jshop/src/Shop.java": "import com.acme.Purse;\n\nclass Shop {\n    int shut() {\n"
    "        return Purse.emptied();\n    }\n}\n",
}


def test_callers_in_other_members_are_found_by_the_package_that_they_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FINDSPOT_HOME", str(tmp_path / "home"))
    folder = tmp_path / "all"
    files = {f"money/{path}": text for path, text in LIBRARY.items()} | GO
    write_files(folder, files | {f"shop/{path}": text for path, text in CONSUMER.items()})
    for member in folder.iterdir():
        repository(member)
    with contextlib.closing(Engine()) as engine:
        workspace = engine.workspace(folder)
        assert workspace is not None
        workspace.update()

        def callers(symbol: str) -> list[tuple[str, str, int]]:
            found = workspace.research(Inquiry(relation=Aim.CALLERS, symbol=symbol))
            return [(edge.source, edge.target, edge.line) for edge in found.edges]

        findings = workspace.research(Inquiry(relation=Aim.CALLERS, symbol="total"))
        target = "money/src/money/sums.py#total"
        places = [(edge.source, edge.target, edge.line) for edge in findings.edges]
        assert places == [("shop/cart.py#pay", target, 6), ("shop/cart.py#owe", target, 10)]
        assert "shop has money 1.0 installed; this is 2.0." in str(findings.warning)
        assert callers("Total") == [("goshop/main.go#Pay", "gomoney/sums/sums.go#Total", 5)]
        assert callers("subtotal") == [("jsshop/cart.js#payAll", "jsmoney/index.js#subtotal", 4)]
        assert callers("rounded") == [("rsshop/src/main.rs#main", "rsmoney/src/lib.rs#rounded", 4)]
        shut = ("jshop/src/Shop.java#Shop.shut", "jmoney/src/main/java/com/acme/Purse.java#Purse.emptied", 5)
        assert callers("emptied") == [shut]
        assert [(source, line) for source, _, line in callers("Till.lock")] == [
            ("shop/till.py#Desk.close", 9),
            ("shop/till.py#Desk.close", 10),
            ("shop/till.py#night", 18),
            ("shop/till.py#night", 19),
            ("shop/tests/test_till.py#test_lock", 11),
        ]
        assert [line for _, _, line in callers("Till")] == [6, 7]  # no type, base or value is a call
        untested = Inquiry(relation=Aim.CALLERS, symbol="Till.lock", include_tests=False)
        assert not any("test_till" in edge.path for edge in workspace.research(untested).edges)
        callees = workspace.research(Inquiry(relation=Aim.CALLEES, symbol="night"))
        assert [(edge.path, edge.line, edge.target) for edge in callees.edges if "money" in edge.target] == [
            ("shop/till.py", line, "money/src/money/tills.py#Till.lock") for line in (18, 19)
        ]
        assert "shop has money 1.0 installed; this is 2.0." in str(callees.warning)
        tests = workspace.research(Inquiry(relation=Aim.TESTS, symbol="Till.lock"))
        assert "shop/tests/test_till.py#test_lock" in {node.id for node in tests.nodes}

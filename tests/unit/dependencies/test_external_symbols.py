"""Chains of imported names lead to the definitions of packages, whatever form their declarations have."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import pytest

from findspot import Engine
from findspot.core.paths import SCHEME

NODE = {
    "web": {
        "package.json": json.dumps({"types": "types"}),
        "types/index.d.ts": """\
import parser = require("parser");
import * as core from "core-types";

/** Make an application. */
declare function web(): core.Application;
declare namespace web {
    var json: typeof parser.json;
    interface Router extends core.Routing<string> { own(): void }
    const router: Readonly<Router>;
    const both: { extra: number };
}
export = web;
""",
    },
    "parser": {
        "package.json": json.dumps({"main": "index.js"}),
        "index.js": "module.exports = function parse() {}\nexports.text = require('./text')\n",
    },
    "@types/parser": {
        "index.d.ts": """\
declare namespace parse {
    interface Parser {
        (): void;
        json(): void;
    }
}
declare const parse: parse.Parser;
export = parse;
""",
    },
    "core-types": {
        "package.json": json.dumps({"exports": {".": {"types": "./dist/index.d.ts"}}}),
        "dist/index.d.ts": """\
export * from "./inner";
export { Routing as default } from "./inner";
""",
        "dist/inner/index.d.ts": """\
export interface Application { listen(): Listening }
export declare class Listening { close(): void; static open(): Listening }
export interface Routing<T> extends Application { route(path: T): this }
""",
    },
    "circle": {
        "index.d.ts": "export * from './index';\nexport interface A extends B {}\n"
        "export interface B extends A {}\nexport declare const a: A;\n",
    },
}
PYTHON = {
    "fast": {
        "fast/__init__.py": "from ._core import (\n    sqrt,\n    add as plus,\n)\n"
        "from fast.tables import Table, connect\n",
        "fast/__init__.pyi": "sqrt: _Function[int]\n",
        "fast/_core.py": "add = object()\n",
        "fast/tables.py": "from base import Model\n\n\nclass Row(Model):\n    pass\n\n\nclass Table(Row):\n"
        "    def rows(self) -> Row: ...\n\n\ndef connect() -> Table:\n    return Table()\n",
    },
    "hostile": {
        "hostile/__init__.py": "\n" * 200_000 + "from .inner import thing\n",
        "hostile/inner.py": "from .inner import thing\n" * 2_000 + "from .inner import (\n" * 2_000,
    },
    "base": {"base/__init__.py": "class Model:\n    def validate(self):\n        '''Check it.'''\n"},
}


@pytest.fixture(scope="module")
def find(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., str]]:
    """Return where a chain of names is defined, without the version of the package."""
    root = tmp_path_factory.mktemp("project")
    site = root / ".venv" / "lib" / "python3.12" / "site-packages"
    files = {
        "package.json": json.dumps({"dependencies": dict.fromkeys(NODE, "1")}),
        "requirements.txt": "".join(f"{name}\n" for name in PYTHON),
        ".venv/pyvenv.cfg": "",
    }
    for name, texts in NODE.items():
        given = json.loads(texts.get("package.json", "{}"))
        manifest = {"package.json": json.dumps({"name": name, "version": "1", **given})}
        files |= {f"node_modules/{name}/{path}": text for path, text in (texts | manifest).items()}
    for name, texts in PYTHON.items():
        info = {f"{name}-1.dist-info/METADATA": f"Name: {name}\nVersion: 1\n"}
        files |= {str(site / path): text for path, text in (texts | info).items()}
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FINDSPOT_HOME", str(tmp_path_factory.mktemp("home")))
        packages = Engine().project(root).packages

        def find(language: str, module: str, *names: str) -> str:
            found = packages.describe(language, module, names) or ""
            return found.partition(" ")[0].removeprefix(SCHEME).replace("@1/", "/")

        yield find
        packages.close()


@pytest.mark.parametrize(
    ("module", "names", "place"),
    [
        ("web", "default", "npm/web/types/index.d.ts:5"),
        ("web", "default.json", "npm/web/types/index.d.ts:7"),
        ("web", "default.router.own", "npm/web/types/index.d.ts:8"),
        ("web", "router.route", "npm/core-types/dist/inner/index.d.ts:3"),
        ("web", "router.listen", "npm/core-types/dist/inner/index.d.ts:1"),
        ("web", "both.extra", "npm/web/types/index.d.ts:10"),
        ("web", "default().listen().close", ""),
        ("web", "default.json.json", ""),
        ("parser", "default.json", "npm/@types/parser/index.d.ts:4"),
        ("parser", "text", "npm/parser/index.js:2"),
        ("core-types", "default", "npm/core-types/dist/inner/index.d.ts:3"),
        ("circle", "a.nothing", ""),
        ("circle", "nothing", ""),
    ],
)
def test_declarations_of_typescript(find: Callable[..., str], module: str, names: str, place: str) -> None:
    assert find("typescript", module, *names.split(".")) == place


@pytest.mark.parametrize(
    ("names", "place"),
    [
        ("sqrt", "pypi/fast/fast/__init__.pyi:1"),
        ("plus", "pypi/fast/fast/_core.py:1"),
        ("connect().rows", "pypi/fast/fast/tables.py:9"),
        ("Table.validate", "pypi/base/base/__init__.py:2"),
        ("tables.connect", "pypi/fast/fast/tables.py:12"),
        ("Table.nothing", ""),
    ],
)
def test_names_of_python(find: Callable[..., str], names: str, place: str) -> None:
    assert find("python", "fast", *names.split(".")) == place


def test_a_package_may_be_hostile(find: Callable[..., str]) -> None:
    """Blank lines without end, brackets that nobody closes, and two thousand imports of itself."""
    assert find("python", "hostile", "thing") == ""

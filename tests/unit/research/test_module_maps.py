"""Maps of a project: flat packages, imports that do not run when a file is loaded, and where it begins."""

from __future__ import annotations

from pathlib import Path

from findspot.research.module_map import ModuleMap, entry_points, imports_between, module_map
from graphs import graph_of

FLAT = {
    "docs/conf.py": "import shop\n",
    "src/shop/__init__.py": "from .api import buy\n",
    "src/shop/api.py": "from .orders import Order\n\n\ndef buy():\n    return Order()\n",
    "src/shop/orders.py": (
        "from typing import TYPE_CHECKING\n\nfrom .money import Money\n\n"
        "if TYPE_CHECKING:\n    from .api import buy\n\n\nclass Order:\n    price: Money\n"
    ),
    "src/shop/money.py": (
        "class Money:\n    def order(self):\n        from .orders import Order\n\n        return Order()\n"
    ),
    "tests/test_shop.py": "from shop.api import buy\n",
}


def mapped(files: dict[str, str], home: Path, depth: int = 2) -> tuple[ModuleMap, list[str]]:
    with graph_of(files, home) as graph:
        imports = imports_between(graph, files)
        return module_map(graph, imports, depth), entry_points(graph, imports)


def test_a_flat_package_is_shown_by_its_files(tmp_path: Path) -> None:
    """protocol-and-research, missing: architecture of a flat package."""
    modules, _ = mapped(FLAT, tmp_path)
    names = [name.rpartition("/")[2] for layer in modules.layers for name in layer]
    assert names == ["__init__.py", "api.py", "orders.py", "money.py"]


def test_imports_that_do_not_run_make_no_cycle(tmp_path: Path) -> None:
    """protocol-and-research, awkward: TYPE_CHECKING and function-local imports count as dependencies."""
    modules, _ = mapped(FLAT, tmp_path)
    assert modules.cycles == ()
    late = [(d.source, d.target) for d in modules.dependences if d.late]
    assert late == [("src/shop/money.py", "src/shop/orders.py")]
    assert ("src/shop/orders.py", "src/shop/api.py") not in {
        (d.source, d.target) for d in modules.dependences
    }


def test_a_package_begins_at_its_face_and_not_in_its_documentation(tmp_path: Path) -> None:
    _, entries = mapped(FLAT, tmp_path)
    assert entries == ["src/shop/__init__.py"]


def test_main_comes_first_and_unimported_parts_are_no_entries(tmp_path: Path) -> None:
    files = {
        "app/__init__.py": "from .cli import main\n",
        "app/__main__.py": "from app.cli import main\n\nmain()\n",
        "app/cli.py": "from app.core import run\n\n\ndef main():\n    run()\n",
        "app/core.py": "def run():\n    return 1\n",
        "app/loops/auto.py": "from app.core import run\n",
        "app/worker.py": "from app.core import run\n",
    }
    _, entries = mapped(files, tmp_path)
    assert entries == ["app/cli.py#main", "app/__main__.py", "app/__init__.py", "app/worker.py"]


def test_folders_stay_folders_where_they_are_many(tmp_path: Path) -> None:
    files = {f"app/part{n}/a.py": f"from app.part{n + 1}.a import x\n\nx = 1\n" for n in range(4)}
    files |= {"app/part4/a.py": "x = 1\n", "app/part4/b.py": "from app.part4.a import x\n"}
    modules, _ = mapped(files, tmp_path, depth=1)
    assert set(modules.files) == {f"app/part{n}" for n in range(5)}

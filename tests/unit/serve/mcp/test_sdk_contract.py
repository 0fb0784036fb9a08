"""What we use of the MCP SDK beyond its public interface; a release that changes it fails here."""

from __future__ import annotations

import ast
from pathlib import Path

import findspot

SOURCE = Path(findspot.__file__).parent
PRIVATE = {"_connection", "_request_outbound"}


def _used(path: Path) -> set[str]:
    """The private attributes that a module reads of objects other than its own."""
    return {
        node.attr
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Attribute)
        and node.attr.startswith("_")
        and not node.attr.startswith("__")
        and ast.unparse(node.value) not in ("self", "cls", "super()", "os")
    }


def _imported(path: Path) -> set[str]:
    """The private modules and names that a module imports from the SDK."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] in ("mcp", "mcp_types"):
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if any(part.startswith("_") for part in name.split("."))}


def test_private_attributes_are_used_in_one_module_and_named_here() -> None:
    modules = [path for path in SOURCE.rglob("*.py") if path.name != "sdk.py"]
    assert _used(SOURCE / "serve" / "mcp" / "sdk.py") == PRIVATE
    texts = {path: path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    naming = [path for path in modules if any(name in texts[path] for name in PRIVATE)]
    assert [path.name for path in naming if _used(path) & PRIVATE] == []
    assert [path.name for path, text in texts.items() if "from mcp" in text and _imported(path)] == []
    mcp = [path for path in modules if path.is_relative_to(SOURCE / "serve" / "mcp")]
    assert {path.name: _used(path) for path in mcp if _used(path)} == {}

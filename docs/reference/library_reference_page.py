"""The reference of the library, from its docstrings."""

from __future__ import annotations

import ast
import inspect
import sys
from enum import Enum
from functools import cache
from pathlib import Path
from types import ModuleType

import findspot

_HEAD = """\
# Library reference

Everything that `findspot` exports. This page is generated from the docstrings.
[library.md](library.md) shows how the pieces are used.
"""

_SECTIONS = {
    "Projects": ("Engine", "Project", "Settings", "CancelToken", "ProgressSink", "Progress"),
    "Searching": (
        *(
            "Query",
            "Corpus",
            "Mode",
            "IncludeTests",
            "GroupBy",
            "Results",
            "Hit",
            "Strength",
            "Span",
        ),
        *("IndexReader", "Assistance", "Expansion", "Synthesis", "CodeReference"),
    ),
    "The index": (
        *("IndexReport", "IndexStatus", "IndexState", "Skip", "SkipReason"),
        *("Supervisor", "WatcherStatus"),
    ),
    "Dependencies": ("PackageIndexes", "Dependency"),
    "Research": (
        "Inquiry",
        "Focus",
        "Aim",
        "Findings",
        "FoundNode",
        "FoundEdge",
        "Citation",
        "Context",
        "Reason",
        "Region",
        "Request",
        "PossiblePlace",
    ),
    "The graph": ("Graph", "Node", "Edge", "Relation", "Outline", "Unresolved"),
    "Language models": ("Sample", "Prompt", "Completion"),
    "Documents and chunk files": (
        *("NamedIndexes", "Document", "AddedDocument", "IndexInfo"),
        *("SearchAnswer", "FoundDocument"),
        *("ProjectChunks", "ContextSearcher", "ContextChunk", "SearchOptions", "SearchResult"),
        "add_cortex_search_tool",
    ),
    "Tool catalogues": (
        *("Catalogue", "ToolSearchOptions", "SearchMode", "ToolResults", "ToolReference", "ToolDefinition"),
    ),
    "Models": ("Embedder", "EmbedMode"),
}


def library_reference_page() -> str:
    """Return every public name as Markdown, with its docstring and those of its members."""
    parts = [_HEAD]
    for heading, names in _SECTIONS.items():
        parts += [f"## {heading}", "", *("\n".join((*_entry(name), "")) for name in names)]
    return "\n".join([*parts, *_errors()])


def undocumented() -> list[str]:
    """Return the public names, and the public members of classes, that no docstring explains."""
    names = [name for section in _SECTIONS.values() for name in section]
    missing = [name for name in findspot.__all__ if not _docstring(name)]
    for name in names:
        value = getattr(findspot, name)
        if isinstance(value, type):
            methods = [
                (member, text) for member, text in _members(value) if ":" not in member.partition("(")[0]
            ]
            missing += [f"{name}.{member}" for member, text in methods if not text]
    return missing


def unlisted() -> set[str]:
    """Return what is exported and has no section, or has one and is not exported."""
    listed = {name for section in _SECTIONS.values() for name in section}
    return listed ^ {name for name in findspot.__all__ if not name.endswith("Error")}


def _entry(name: str) -> list[str]:
    value = getattr(findspot, name)
    lines = [f"### {name}", "", f"`{_signature(name, value)}`", "", _docstring(name)]
    if isinstance(value, type) and (members := _members(value)):
        lines += ["", *(f"- `{member}`: {text}" if text else f"- `{member}`" for member, text in members)]
    return lines


def _signature(name: str, value: object) -> str:
    if isinstance(value, type) and issubclass(value, Enum):
        return f"{name}: {', '.join(value)}"
    node = _definition(name)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return ast.unparse(node)
    if isinstance(node, ast.ClassDef):
        made = [part for part in node.body if _name_of(part) == "__init__"]
        return f"class {name}{_arguments(made[0])}" if made else f"class {name}"
    return f"{name}{_arguments(node)}"


def _docstring(name: str) -> str:
    """Return the first paragraph about a public name; of an alias, the string below its assignment."""
    node = _definition(name)
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return _first_paragraph(ast.get_docstring(node))
    return _string_after(_tree(_home_of(name)).body, node)


def _definition(name: str) -> ast.stmt:
    module = sys.modules[getattr(findspot, name).__module__] if _is_own(name) else _home_of(name)
    return next(node for node in _tree(module).body if _name_of(node) == name)


def _is_own(name: str) -> bool:
    return getattr(getattr(findspot, name), "__module__", "").startswith("findspot.")


def _home_of(name: str) -> ModuleType:
    own = [module for key, module in sys.modules.items() if key.startswith("findspot.")]
    modules = [module for module in own if str(module.__file__).endswith(".py")]
    return next(m for m in modules if any(_name_of(node) == name for node in _tree(m).body))


def _members(value: type) -> list[tuple[str, str]]:
    """Return the public fields, properties and methods that a class itself defines, each with its text."""
    if issubclass(value, Enum):
        return []
    definition = _definition(value.__name__)
    body = definition.body if isinstance(definition, ast.ClassDef) else []
    members = []
    for node in body:
        name = _name_of(node)
        if not name or name.startswith("_"):
            continue
        if isinstance(node, ast.FunctionDef):
            members.append((_method(node), _first_paragraph(ast.get_docstring(node))))
        else:
            members.append((ast.unparse(node), _string_after(body, node)))
    return members


def _method(node: ast.FunctionDef) -> str:
    if any(isinstance(mark, ast.Name) and mark.id == "property" for mark in node.decorator_list):
        return node.name
    return f"{node.name}{_arguments(node)}"


def _arguments(node: ast.stmt) -> str:
    assert isinstance(node, ast.FunctionDef)
    text = ast.unparse(node.args)
    for first in ("self", "cls"):
        text = text.removeprefix(f"{first}, ") if text != first else ""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    return f"({text}){returns}"


def _name_of(node: ast.stmt) -> str:
    if isinstance(node, ast.ClassDef | ast.FunctionDef):
        return node.name
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
    return target.id if isinstance(target, ast.Name) else ""


def _string_after(body: list[ast.stmt], node: ast.stmt) -> str:
    following = body[body.index(node) + 1 : body.index(node) + 2]
    match following:
        case [ast.Expr(value=ast.Constant(value=str() as text))]:
            return _first_paragraph(inspect.cleandoc(text))
    return ""


def _first_paragraph(text: str | None) -> str:
    return " ".join((text or "").split("\n\n")[0].split())


@cache
def _tree(module: ModuleType) -> ast.Module:
    return ast.parse(Path(module.__file__ or "").read_text("utf-8"))


def _errors() -> list[str]:
    """Return the errors as a table; each carries `user_message`, `developer_message`, `hint` and `code`."""
    errors = [getattr(findspot, name) for name in findspot.__all__ if name.endswith("Error")]
    rows = [
        f"| `{e.__name__}` | `{e.__base__.__name__}` | `{e.code}` | {_docstring(e.__name__)} |"
        for e in errors
    ]
    about = (
        "Each has `code`, `user_message`, `developer_message` and `hint`. The codes are explained in "
        "[troubleshooting.md](troubleshooting.md#error-codes)."
    )
    return [
        "## Errors",
        "",
        about,
        "",
        "| error | kind of | code | meaning |",
        "|---|---|---|---|",
        *rows,
        "",
    ]

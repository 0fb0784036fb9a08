"""`findspot outline` and `findspot map`: what a file defines, and how the modules of a project depend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.core.errors import FileNotIndexedError
from findspot.core.files import write_atomic
from findspot.core.roots import Roots
from findspot.research.module_map import ModuleMap
from findspot.serve.cli import output
from findspot.serve.cli.choose import folder_inside, folder_note, open_project
from findspot.serve.cli.indexing import prepare_index
from findspot.serve.cli.options import Manner, common, project_option, update_option
from findspot.serve.cli.research import depth_option
from findspot.serve.drawing import draw

if TYPE_CHECKING:
    from findspot.graph import Outline

_MAP_DEPTH = 1


@click.command()
@click.argument("file", metavar="FILE")
@project_option
@update_option
@common
def outline(manner: Manner, file: str, project: str | None, update: bool) -> None:
    """Show what FILE defines, nested as it is written, with its lines."""
    with open_project(project) as opened:
        behind = prepare_index(opened, manner, update=update)
        path = opened.roots.relative(_from_here(opened.roots, file))
        with opened.store.snapshot() as snapshot:
            if snapshot.file(path) is None:
                raise FileNotIndexedError(path)
        found = opened.researcher.outline(path)
    if behind:
        output.warn(behind)
    if manner.json:
        warned = {"warning": behind} if behind else {}
        output.emit({"path": path, "outline": [_object(item) for item in found]} | warned)
        return
    for item in found:
        _show(item, 0)
    if not found:
        output.note(f"The graph knows no definitions in '{path}'.")


def _from_here(roots: Roots, file: str) -> str:
    """Return a path as typed: relative to the working directory where that is inside, else to the root."""
    here = Path.cwd() / file
    return str(here.resolve()) if here.exists() and roots.spelled(here.resolve()) else file


def _show(item: Outline, depth: int) -> None:
    node = item.node
    output.line(f"{node.start_line:>5}-{node.end_line:<5} {'  ' * depth}{node.kind} {node.name}")
    for child in item.children:
        _show(child, depth + 1)


def _object(item: Outline) -> dict[str, Any]:
    node = item.node
    return {
        "id": node.id,
        "name": node.name,
        "kind": node.kind,
        "startLine": node.start_line,
        "endLine": node.end_line,
        "children": [_object(child) for child in item.children],
    }


@click.command(name="map")
@depth_option(_MAP_DEPTH, "How many levels of folders make a module.")
@click.option("--svg", type=click.Path(dir_okay=False, path_type=Path), help="Draw it into this file.")
@project_option
@update_option
@common
def map_(manner: Manner, depth: int, svg: Path | None, project: str | None, update: bool) -> None:
    """Show the modules of a project in layers, and what depends on what."""
    with open_project(project) as opened:
        behind = prepare_index(opened, manner, update=update)
        under = folder_inside(opened, project)
        modules = opened.researcher.modules(depth, under)
        warning = " ".join(filter(None, (behind, folder_note(opened, under))))
    if warning:
        output.warn(warning)
    if svg is not None:
        write_atomic(svg, draw(modules).encode())
        output.note(f"Drawn into {svg}.")
    if manner.json:
        output.emit(_map_object(modules) | ({"warning": warning} if warning else {}))
    elif svg is None:
        _show_map(modules)


def _map_object(modules: ModuleMap) -> dict[str, Any]:
    return {
        "modules": [
            {"name": name, "layer": number, "files": list(modules.files[name])}
            for number, layer in enumerate(modules.layers, 1)
            for name in layer
        ],
        "dependencies": [
            {"from": d.source, "to": d.target, "count": d.count, "path": d.path, "line": d.line}
            for d in modules.dependences
        ],
        "cycles": [list(cycle) for cycle in modules.cycles],
    }


def _show_map(modules: ModuleMap) -> None:
    if not modules.files:
        output.note("No file of this project imports another, as far as the graph knows its languages.")
    targets: dict[str, list[str]] = {}
    for dependence in modules.dependences:
        targets.setdefault(dependence.source, []).append(dependence.target)
    for number, layer in enumerate(modules.layers, 1):
        output.line(f"layer {number}", bold=True)
        for name in layer:
            files = output.count(len(modules.files[name]), "file")
            onto = f"  → {', '.join(targets[name])}" if name in targets else ""
            output.line(f"  {name}  ({files}){onto}")
    for cycle in modules.cycles:
        output.warn(f"in a cycle: {', '.join(cycle)}")

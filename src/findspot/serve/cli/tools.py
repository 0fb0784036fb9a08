"""`findspot tools index|search|show`: catalogues of MCP tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from findspot.catalogue.model import DEFAULT_MODE, DEFAULT_TOP_K, MAX_TOP_K, SearchMode, SearchOptions
from findspot.core.errors import InvalidArgumentError
from findspot.serve.cli import output
from findspot.serve.cli.ask import confirm
from findspot.serve.cli.choose import open_engine
from findspot.serve.cli.options import Manner, common, project_option, yes_option

if TYPE_CHECKING:
    from findspot.catalogue.build import Built
    from findspot.catalogue.catalogue import Catalogue
    from findspot.catalogue.model import ToolReference

_SHOWN_CHARS = 100


@click.group()
def tools() -> None:
    """Index the tools that MCP servers offer, and find the one that does what you want.

    \b
    findspot tools index .mcp.json
    findspot tools search read a file
    findspot tools show filesystem__read_file
    """


@tools.command("index")
@click.argument("sources", nargs=-1, metavar="[FILE]...")
@click.option("--user", is_flag=True, help="Make your own catalogue (~/.please), not the project's.")
@click.option("--provider", metavar="NAME", help="The embedding provider. Default: the configured one.")
@click.option("--dtype", metavar="fp32|fp16|q8", help="Precision of the stored vectors. Default: fp16.")
@click.option("--no-embeddings", is_flag=True, help="For keywords and patterns only.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out servers or tools that match.")
@click.option("--force", is_flag=True, help="Ask every server again, and replace a damaged index.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), metavar="S", help="Wait for a server. Default: 30."
)
@click.option("--follow/--no-follow", default=True, help="Keep its tools current while serving.")
@project_option
@yes_option
@common
def index(
    manner: Manner,
    sources: Sequence[str],
    *,
    project: str | None,
    user: bool,
    provider: str | None,
    dtype: str | None,
    no_embeddings: bool,
    exclude: Sequence[str],
    force: bool,
    timeout: float | None,
    follow: bool,
    yes: bool,
) -> None:
    """Ask the MCP servers of a client's configuration for their tools, or read JSON files of tools.

    FILE is a configuration (mcpServers), a tools/list result, an array of tools, or another
    index.json. Without one, it is what the index was made from before, else the configurations
    that the project holds: their servers are started, so you are asked first.
    """
    from findspot.catalogue.build import DEFAULT_TIMEOUT_S, BuildOptions

    with open_engine() as engine:
        catalogue = engine.catalogue(project or ".")
        files = _sources(catalogue, sources, user, yes, manner)
        options = BuildOptions(
            exclude=tuple(part for given in exclude for part in given.split(",") if part),
            force=force,
            dtype=dtype or engine.settings.embed.dtype,
            timeout_s=timeout or DEFAULT_TIMEOUT_S,
        )
        chosen = None if no_embeddings else provider or engine.settings.embed.provider
        say = output.note if manner.verbose else (lambda _line: None)
        path, built = catalogue.index(
            files, options, provider=chosen, user_wide=user, follow=follow, said=say
        )
    _report(manner, path, built)


@tools.command("search")
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@click.option("--mode", type=click.Choice([str(mode) for mode in SearchMode]), default=str(DEFAULT_MODE))
@click.option(
    "-n", "--top-k", type=click.IntRange(1, MAX_TOP_K), default=DEFAULT_TOP_K, help="Tools to show."
)
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.0, help="Lowest score, 0-1.")
@click.option("--server", metavar="NAME", help="Only tools of this server.")
@project_option
@common
def search(
    manner: Manner,
    words: Sequence[str],
    *,
    mode: str,
    top_k: int,
    threshold: float,
    server: str | None,
    project: str | None,
) -> None:
    """Find tools by QUERY: keywords, a wish, or a pattern.

    \b
    findspot tools search send a message --mode hybrid
    findspot tools search 'read.*file' --mode regex
    """
    from findspot.serve.shapes import found_tools_object

    with open_engine() as engine:
        options = SearchOptions(SearchMode(mode), top_k, threshold, server)
        found = engine.catalogue(project or ".").search(" ".join(words), options)
    if manner.json:
        output.emit(found_tools_object(found))
        return
    if found.warning:
        output.warn(found.warning)
    for tool in found.tools:
        _show_line(tool)
    if not found.tools:
        output.note("No tool fits. Try other words, or --mode hybrid.")
    else:
        shown = f"{len(found.tools)} of {output.count(found.total, 'match')}"
        output.note(f"{shown} in {found.elapsed_ms:.0f} ms; {found.total_indexed:,} tools indexed", dim=True)


@tools.command("show")
@click.argument("name")
@project_option
@common
def show(manner: Manner, name: str, project: str | None) -> None:
    """Show the tool NAME in full, with its input schema."""
    from findspot.serve.shapes import tool_object

    with open_engine() as engine:
        tool = engine.catalogue(project or ".").get(name)
    value = tool_object(tool)
    if manner.json:
        output.emit(value)
        return
    output.line(tool.name, bold=True)
    output.fields([("server", tool.server_name), ("title", tool.title or "")])
    for line in tool.description.split("\n"):
        output.line(f"  {line}")
    for part in ("inputSchema", "outputSchema", "annotations"):
        if value["tool"].get(part):
            output.line(part, bold=True)
            for line in json.dumps(value["tool"][part], indent=2, ensure_ascii=False).split("\n"):
                output.line(f"  {line}")


def _sources(
    catalogue: Catalogue, given: Sequence[str], user_wide: bool, yes: bool, manner: Manner
) -> list[Path]:
    """The files to read: those named, else those of the last time, else those found, if agreed to."""
    from findspot.catalogue.sources import client_files, existing

    if given:
        return existing(given)
    known = existing(map(str, catalogue.remembered(user_wide=user_wide)))
    if known:
        return known
    found = [] if user_wide else client_files(catalogue.root)
    if not found:
        raise InvalidArgumentError(
            "There is nothing to index: name a client's configuration or a JSON file of tools.",
            hint="For example: findspot tools index .mcp.json",
        )
    confirm("Start the servers of these configurations and index their tools?", yes, manner,
            about="\n".join(map(str, found)))  # fmt: skip
    return found


def _report(manner: Manner, path: Path, built: Built) -> None:
    from findspot.serve.shapes import catalogue_object

    if manner.json:
        output.emit(catalogue_object(str(path), built))
    else:
        output.line(f"{output.count(len(built.index.tools), 'tool')} in {path}", bold=True)
        rows = [(str(s.outcome), f"{s.tools:,}", s.name) for s in built.servers]
        if rows:
            output.table(rows, ("status", "tools", "server"), numbers=(1,))
    for server in built.servers:
        if server.error:
            kept = f"; its {server.tools} earlier tools were kept" if server.tools else ""
            output.warn(f"{server.name}: {server.error}{kept}")
    for text in built.notes:
        output.note(f"note: {text}")


def _show_line(tool: ToolReference) -> None:
    first = tool.description.strip().split("\n", 1)[0]
    output.line(f"{tool.score:5.2f}  {tool.name}")
    if first:
        output.line(f"       {first[:_SHOWN_CHARS]}{'…' if len(first) > _SHOWN_CHARS else ''}", dim=True)

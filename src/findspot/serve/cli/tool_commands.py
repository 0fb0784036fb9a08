"""`findspot tools index|search|show|log`: catalogues of MCP tools."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from findspot.catalogue.tool_record import (
    DEFAULT_MODE,
    DEFAULT_TOP_K,
    MAX_TOP_K,
    SearchMode,
    ToolSearchOptions,
)
from findspot.core.errors import InvalidArgumentError
from findspot.serve.cli import output
from findspot.serve.cli.call_command import call as call_command
from findspot.serve.cli.failure import ConfirmationRequiredError
from findspot.serve.cli.options import Choice, Group, Reply, common, limit_option, project_option, yes_option
from findspot.serve.cli.project_choice import open_engine
from findspot.serve.cli.tool_server_commands import (
    add,
    allow,
    ask_about_tools,
    ask_agreement,
    ask_input,
    disable,
    enable,
    list_,
    login,
    logout,
    remove,
    start_question,
)

if TYPE_CHECKING:
    from findspot.catalogue.catalogue import Catalogue
    from findspot.catalogue.catalogue_build import Built
    from findspot.catalogue.tool_record import ToolReference

_SHOWN_CHARS = 100

_BY_WORDS = (SearchMode.REGEX, SearchMode.BM25)
"""Modes to which `hybrid` is an alternative."""


@click.group(cls=Group)
def tools() -> None:
    """Index the tools that MCP servers offer, and find the one that does what you want.

    \b
    findspot tools index .mcp.json
    findspot tools search read a file
    findspot tools show filesystem__read_file
    findspot tools call filesystem__read_file --args '{"path": "a.txt"}'
    """


for _command in (call_command, add, list_, remove, enable, disable, allow, login, logout):
    tools.add_command(_command)


@tools.command("index")
@click.argument("sources", nargs=-1, metavar="[FILE]...")
@click.option("--user", is_flag=True, help="Build your user-wide catalogue (~/.please), not the project's.")
@click.option("--provider", metavar="NAME", help="The embedding provider. Default: the configured one.")
@click.option("--dtype", metavar="fp32|fp16|q8", help="Precision of the stored vectors. Default: fp16.")
@click.option("--no-embeddings", is_flag=True, help="Store no vectors: search by keywords and patterns only.")
@click.option("--exclude", multiple=True, metavar="GLOB", help="Leave out servers or tools that match.")
@click.option("--force", is_flag=True, help="Ask every server again, and replace a damaged index.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0.1),
    metavar="S",
    help="Seconds to wait per server. Default: 30.",
)
@click.option(
    "--follow/--no-follow",
    default=None,
    help="Keep the servers running to notice changes of their tools. Default: the last choice, at first no.",
)
@click.option("--replace", is_flag=True, help="Forget the files of earlier runs.")
@project_option
@yes_option
@common
def index(
    reply: Reply,
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
    follow: bool | None,
    replace: bool,
    yes: bool,
) -> None:
    """Ask the MCP servers of a client's configuration for their tools, or read JSON files of tools.

    FILE is a configuration (mcpServers), a tools/list result, an array of tools, or another
    index.json; it is added to those of earlier runs. Without one, those are read again, else the
    configurations that the project holds. You are asked before a server is started that is new or
    changed, and see its command.
    """
    from findspot.catalogue.catalogue_build import BuildOptions
    from findspot.catalogue.server_sources import START_TIMEOUT_S

    with open_engine() as engine:
        catalogue = engine.catalogue(project or ".")
        files = _sources(catalogue, sources, user)
        options = BuildOptions(
            exclude=tuple(part for given in exclude for part in given.split(",") if part),
            force=force,
            dtype=dtype or engine.settings.embed.dtype,
            timeout_s=timeout or START_TIMEOUT_S,
        )
        chosen = None if no_embeddings else provider or engine.settings.embed.provider
        say = output.note if reply.verbose else (lambda _line: None)
        path, built = catalogue.indexer.index(
            files,
            options,
            provider=chosen,
            agree=lambda servers: ask_agreement(servers, yes, reply),
            agree_to_tools=lambda tools: ask_about_tools(tools, yes),
            ask_input=ask_input,
            user_wide=user,
            follow=follow,
            replace_sources=replace,
            report=say,
        )
    _report(reply, path, built)


@tools.command("search")
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@click.option(
    "--mode",
    type=Choice([str(mode) for mode in SearchMode]),
    help=f"What to search by. Default: {DEFAULT_MODE}; bm25 if there are no embeddings.",
)
@limit_option(MAX_TOP_K, DEFAULT_TOP_K, "Tools", "--top-k")
@click.option("--threshold", type=click.FloatRange(0, 1), default=0.0, help="Lowest score, 0-1.")
@click.option("--server", metavar="NAME", help="Only tools of this server.")
@project_option
@common
def search(
    reply: Reply,
    words: Sequence[str],
    *,
    mode: str | None,
    limit: int,
    threshold: float,
    server: str | None,
    project: str | None,
) -> None:
    """Find tools by QUERY: keywords, what you want to do, or a pattern.

    \b
    findspot tools search send a message
    findspot tools search 'read.*file' --mode regex
    """
    from findspot.serve.shapes import tool_results_object

    with open_engine() as engine:
        options = ToolSearchOptions(SearchMode(mode) if mode else None, limit, threshold, server)
        results = engine.catalogue(project or ".").search(" ".join(words), options)
    if reply.json:
        output.emit(tool_results_object(results))
        return
    if results.warning:
        output.warn(results.warning)
    for tool in results.tools:
        _show_line(tool)
    if results.message:
        others = " Or try --mode hybrid." if mode in _BY_WORDS else ""
        output.note(f"{results.message}{others}")
    else:
        shown = f"{len(results.tools)} of {output.count(results.total, 'match')}"
        indexed = f"{results.total_indexed:,} tools indexed"
        output.note(f"{shown} in {results.elapsed_ms:.0f} ms; {indexed}", dim=True)


@tools.command("show")
@click.argument("name")
@project_option
@common
def show(reply: Reply, name: str, project: str | None) -> None:
    """Show the tool NAME in full, with its input schema."""
    from findspot.serve.shapes import tool_object

    with open_engine() as engine:
        catalogue = engine.catalogue(project or ".")
        tool, warning = catalogue.get(name), catalogue.notice.text()
        value = tool_object(tool, catalogue.access(tool), warning)
    if reply.json:
        output.emit(value)
        return
    if warning:
        output.warn(warning)
    output.line(tool.name, bold=True)
    access = value["access"]
    call = f"findspot tools call {tool.name} --args JSON" if access["state"] == "ready" else access["reason"]
    output.fields([("server", tool.server_name), ("title", tool.title or ""), ("call", call)])
    for line in tool.description.split("\n"):
        output.line(f"  {line}")
    for part in ("inputSchema", "outputSchema", "annotations"):
        if value["tool"].get(part):
            output.line(part, bold=True)
            for line in json.dumps(value["tool"][part], indent=2, ensure_ascii=False).split("\n"):
                output.line(f"  {line}")


@tools.command("log")
@click.option(
    "-n", "--limit", type=click.IntRange(1), default=20, metavar="N", help="Calls to show. Default: 20."
)
@click.option("--server", metavar="NAME", help="Only calls to this server.")
@click.option("--clear", is_flag=True, help="Delete the log.")
@common
def log(reply: Reply, limit: int, server: str | None, clear: bool) -> None:
    """Show the newest calls to tools: when, how long, how large, and how each ended.

    The log stays on this machine and holds no arguments and no answers, only their sizes.
    """
    from findspot.catalogue.call_log import clear_calls, recent_calls
    from findspot.serve.shapes import call_object, size

    if clear:
        clear_calls()
    calls = recent_calls(limit, server)
    if reply.json:
        output.emit({"calls": [call_object(call) for call in calls]})
        return
    if not calls:
        output.line("No calls have been logged.")
        return
    rows = [
        (
            call.time.replace("T", " ").rstrip("Z"),
            call.tool,
            str(call.outcome),
            f"{call.duration_ms:,.0f}",
            size(call.argument_bytes),
            size(call.answer_bytes),
            call.client,
        )
        for call in calls
    ]
    output.table(
        rows, ("time (UTC)", "tool", "result", "ms", "sent", "received", "client"), numbers=(3, 4, 5)
    )


def _sources(catalogue: Catalogue, given: Sequence[str], user_wide: bool) -> list[Path]:
    """Return the files to read: those named, none to read the earlier ones again, else the project's own."""
    from findspot.catalogue.known_clients import Machine
    from findspot.catalogue.server_sources import existing, find_configurations

    if given:
        return existing(given)
    if catalogue.indexer.remembered(user_wide=user_wide):
        return []
    files, notes = find_configurations(None if user_wide else catalogue.root, Machine())
    for text in notes:
        output.note(f"note: {text}")
    if not files and not catalogue.indexer.added(user_wide=user_wide):
        raise InvalidArgumentError(
            "There is nothing to index: name a client's configuration or a JSON file of tools.",
            hint="For example: findspot tools index .mcp.json",
        )
    return files


def _report(reply: Reply, path: Path, built: Built) -> None:
    from findspot.catalogue.catalogue_build import Outcome
    from findspot.serve.shapes import catalogue_object

    waiting = built.named(Outcome.NOT_AGREED)
    if not built.written and len(waiting) == len(built.servers):
        raise ConfirmationRequiredError(f"{start_question(len(waiting))} {', '.join(waiting)}.")
    if reply.json:
        output.emit(catalogue_object(str(path), built))
    else:
        _show_built(path, built)
    for server in built.servers:
        if server.error:
            note = f"; its {server.tools} earlier tools were kept" if server.tools else ""
            output.warn(f"{server.name}: {server.error}{note}")
    if waiting:
        output.warn(
            f"Not started, since you have not agreed to them as they are now: {', '.join(waiting)}. "
            "Run this on a terminal to see what they run, or pass --yes."
        )
    for text in built.notes:
        output.note(f"note: {text}")
    if built.changed:
        output.warn(
            f"New or changed since you agreed to their servers: {', '.join(built.changed)}. "
            "A call asks first; run this on a terminal to agree to them, or pass --yes."
        )
    if not built.written:
        output.warn(f"No server answered; {path} was not changed.")
    if not built.answered:
        raise click.exceptions.Exit(1)


def _show_built(path: Path, built: Built) -> None:
    if built.written:
        output.line(f"{output.count(len(built.index.tools), 'tool')} in {path}", bold=True)
    rows = [(str(s.outcome), f"{s.tools:,}", s.name) for s in built.servers]
    if rows:
        output.table(rows, ("status", "tools", "server"), numbers=(1,))


def _show_line(tool: ToolReference) -> None:
    first = tool.description.strip().split("\n", 1)[0]
    output.line(f"{tool.score:5.2f}  {tool.name}")
    if first:
        output.line(f"       {first[:_SHOWN_CHARS]}{'…' if len(first) > _SHOWN_CHARS else ''}", dim=True)

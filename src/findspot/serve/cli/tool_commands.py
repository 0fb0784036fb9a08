"""`findspot tools index|search|show|log|call`: catalogues of MCP tools, and calls of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from findspot.catalogue.call_results import decoded_bytes
from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.catalogue_build import BuildOptions, Built, Outcome
from findspot.catalogue.known_clients import Machine
from findspot.catalogue.server_sources import START_TIMEOUT_S, existing, find_configurations
from findspot.catalogue.tool_record import SearchMode, ToolReference, ToolSearchOptions
from findspot.core.errors import InvalidArgumentError
from findspot.core.files import parse_json
from findspot.serve.activity import COMMAND_LINE, clear_calls, recent_calls
from findspot.serve.arguments import TOOLS, argument, count
from findspot.serve.cli import output
from findspot.serve.cli.failure import ConfirmationRequiredError
from findspot.serve.cli.interaction import confirm
from findspot.serve.cli.options import Group, Reply, common, option_of, options_of, project_option, yes_option
from findspot.serve.cli.project_choice import open_engine
from findspot.serve.cli.tool_server_commands import (
    add,
    allow,
    ask_about_tools,
    ask_agreement,
    disable,
    enable,
    list_,
    login,
    logout,
    open_catalogue,
    remove,
    start_question,
)
from findspot.serve.library import call_tool
from findspot.serve.shapes import call_object, catalogue_object, tool_object, tool_results_object

if TYPE_CHECKING:
    from findspot.catalogue.server_pool import CallHandlers
    from findspot.catalogue.tool_calls import Confirmation


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


for _command in (add, list_, remove, enable, disable, allow, login, logout):
    tools.add_command(_command)


@tools.command("index")
@click.argument("sources", nargs=-1, metavar="[FILE]...")
@click.option("--user", is_flag=True, help="Build your user-wide catalogue (~/.please), not the project's.")
@click.option("--provider", metavar="NAME", help="The embedding provider. Default: the configured one.")
@click.option("--dtype", metavar="fp32|fp16|q8", help="Precision of the stored vectors. Default: fp16.")
@click.option("--no-embeddings", is_flag=True, help="Store no vectors: search by keywords and patterns only.")
@click.option("--force", is_flag=True, help="Ask every server again, and replace a damaged index.")
@option_of("timeout", argument("number", "Seconds to wait per server. Default: 30", minimum=0.1))
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
    with open_engine() as engine:
        catalogue = engine.catalogue(project or ".")
        files = _sources(catalogue, sources, user)
        options = BuildOptions(
            force=force,
            dtype=dtype or engine.settings.embed.dtype,
            timeout_s=timeout or START_TIMEOUT_S,
        )
        chosen = None if no_embeddings else provider or engine.settings.embed.provider
        path, built = catalogue.indexer.index(
            files,
            options,
            provider=chosen,
            agree=lambda servers: ask_agreement(servers, yes, reply),
            agree_to_tools=lambda tools: ask_about_tools(tools, yes),
            user_wide=user,
            follow=follow,
            replace_sources=replace,
        )
    _report(reply, path, built)


@tools.command("search")
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@options_of({name: TOOLS[name] for name in ("mode", "threshold", "server")})
@option_of("top_k", TOOLS["top_k"], "-n", "--limit")
@project_option
@common
def search(reply: Reply, words: Sequence[str], project: str | None, **options: Any) -> None:
    """Find tools by QUERY: keywords, what you want to do, or a pattern.

    \b
    findspot tools search send a message
    findspot tools search 'read.*file' --mode regex
    """
    mode = SearchMode(options.pop("mode")) if options["mode"] else None
    with open_catalogue(project) as catalogue:
        results = catalogue.search(" ".join(words), ToolSearchOptions(**options | {"mode": mode}))
    reply.answer_program(tool_results_object(results))
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
    with open_catalogue(project) as catalogue:
        tool, warning = catalogue.get(name), catalogue.registry.notice()
        value = tool_object(tool, catalogue.access(tool), warning)
    reply.answer_program(value)
    output.warn(warning)
    output.line(tool.name, bold=True)
    access = value["access"]
    call = f"findspot tools call {tool.name} --args JSON" if access["state"] == "ready" else access["reason"]
    output.fields([("server", tool.server_name), ("title", tool.title or ""), ("call", call)])
    output.lines(tool.description, "  ")
    for part in ("inputSchema", "outputSchema", "annotations"):
        if value["tool"].get(part):
            output.line(part, bold=True)
            output.lines(json.dumps(value["tool"][part], indent=2, ensure_ascii=False), "  ")


@tools.command("log")
@option_of("limit", count("Calls to show", 1, default=20), "-n")
@click.option("--server", metavar="NAME", help="Only calls to this server.")
@click.option("--clear", is_flag=True, help="Delete the log.")
@common
def log(reply: Reply, limit: int, server: str | None, clear: bool) -> None:
    """Show the newest calls to tools: when, how long, how large, and how each ended.

    The log stays on this machine and holds no arguments and no answers, only their sizes.
    """
    if clear:
        clear_calls()
    value = {"calls": [call_object(call) for call in recent_calls(limit, server)]}
    columns = "time tool result=outcome ms=durationMs sent=argumentBytes received=answerBytes client"
    reply.table(value, "calls", columns, "No calls have been logged.")


def _sources(catalogue: Catalogue, given: Sequence[str], user_wide: bool) -> list[Path]:
    """Return the files to read: those named, none to read the earlier ones again, else the project's own."""
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
    waiting = built.named(Outcome.NOT_AGREED)
    if not built.written and len(waiting) == len(built.servers):
        raise ConfirmationRequiredError(f"{start_question(len(waiting))} {', '.join(waiting)}.")
    if built.written and not reply.json:
        output.line(f"{output.count(len(built.index.tools), 'tool')} in {path}", bold=True)
    reply.table(catalogue_object(str(path), built), "servers", "status tools server=name", "")
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


def _show_line(tool: ToolReference) -> None:
    first = tool.description.strip().split("\n", 1)[0]
    output.line(f"{tool.score:5.2f}  {tool.name}")
    if first:
        output.line(f"       {output.cut(first, _SHOWN_CHARS)}", dim=True)


_MAX_ARGUMENT_BYTES = 16 * 1024 * 1024


@tools.command("call")
@click.argument("name")
@click.option(
    "--args", "given", metavar="JSON", default="{}", help="Arguments: a JSON object, or - to read it."
)
@click.option(
    "--timeout",
    type=click.FloatRange(0.1, 600),
    metavar="S",
    help="Seconds to wait for the answer, again after each report of progress. Default: 60.",
)
@project_option
@yes_option
@common
def call(
    reply: Reply, name: str, *, given: str, timeout: float | None, project: str | None, yes: bool
) -> None:
    """Call the tool NAME of a server that you agreed to start, and print what it answers.

    You are asked before a tool is called whose server says that it can destroy something, or that changed
    since you agreed to its server. The server is started for this call, and ended after it. The status is 1
    if the tool says that it failed. Ctrl-C cancels the call; what a server asks during it is not answered.

    \b
    findspot tools call time__get_current_time --args '{"timezone": "Europe/Paris"}'
    findspot tools call filesystem__read_file --args - < arguments.json
    """
    import anyio

    async def agree(asked: Confirmation) -> bool:
        """Ask about what is destructive or changed: for all else, typing the command is agreement enough."""
        if asked.declared or asked.changed:
            about = f"{asked.tool.name} {asked.shown_arguments}"
            ask = partial(confirm, asked.question, yes, reply, about=about)
            await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
        return False

    called = project or ".", COMMAND_LINE, name, _arguments(given)
    with open_engine() as engine:
        outcome = call_tool(engine, *called, confirm=agree, timeout_s=timeout, handlers=_handlers)
    reply.answer_program(outcome.result, int(outcome.is_error))
    _show(outcome.result)
    raise click.exceptions.Exit(int(outcome.is_error))


def _arguments(given: str) -> dict[str, Any]:
    """Read the arguments from the command line or standard input."""
    is_read = given == "-"
    text = sys.stdin.buffer.read(_MAX_ARGUMENT_BYTES) if is_read else given.encode("utf-8", "surrogateescape")
    try:
        value = parse_json(text)
    except ValueError as error:
        raise InvalidArgumentError(f"--args is not valid JSON: {error}.") from error
    if not isinstance(value, dict):
        raise InvalidArgumentError('--args must be a JSON object, such as \'{"path": "a.txt"}\'.')
    return value


def _handlers(_server: str) -> CallHandlers:
    from findspot.catalogue.server_pool import CallHandlers

    async def show_progress(progress: float, total: float | None, message: str | None) -> None:
        count = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        output.note(f"{message} ({count})" if message else count, dim=True)

    return CallHandlers(show_progress if sys.stderr.isatty() else None, None)


def _show(result: Mapping[str, Any]) -> None:
    """Print texts as they are, on a terminal without what could move its cursor; name all else."""
    for part in result["content"]:
        resource = part.get("resource", {})
        text = part.get("text", resource.get("text"))
        if text is not None:
            _print(text)
            continue
        data = part.get("data") or resource.get("blob") or ""
        what = part.get("mimeType") or resource.get("mimeType") or ""
        where = part.get("uri") or resource.get("uri") or ""
        size = f"{decoded_bytes(data):,} bytes" if data else ""
        output.note(f"[{' '.join(filter(None, (part['type'], what, where, size)))}; --json shows it]")
    if not result["content"] and "structuredContent" in result:
        _print(json.dumps(result["structuredContent"], indent=2, ensure_ascii=False))


def _print(text: str) -> None:
    if sys.stdout.isatty():
        output.lines(text.removesuffix("\n"))
    else:
        click.echo(text, nl=not text.endswith("\n"))

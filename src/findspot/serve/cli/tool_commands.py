"""`findspot tools`: the tools of MCP servers, calls of them, and the servers of a catalogue."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import anyio
import click

from findspot.catalogue.call_results import part_name
from findspot.catalogue.catalogue import BuildOptions, Built, Catalogue, Outcome
from findspot.catalogue.indexfile import project_of
from findspot.catalogue.known_clients import SERVER, Machine
from findspot.catalogue.server_registry import ADDED, ServerStatus, command_line, description
from findspot.catalogue.server_sources import (
    START_TIMEOUT_S,
    ServerSpec,
    existing,
    find_configurations,
    name_problem,
)
from findspot.catalogue.tool_record import SearchMode, ToolDefinition, ToolSearchOptions
from findspot.core.errors import InvalidArgumentError, first_cause
from findspot.core.files import parse_json
from findspot.core.paths import home_folder
from findspot.core.platforms import run_loop
from findspot.serve import activity
from findspot.serve.arguments import TOOLS, argument, count
from findspot.serve.cli import output
from findspot.serve.cli.failure import ConfirmationRequiredError
from findspot.serve.cli.interaction import agreed, can_ask, cancel, confirm
from findspot.serve.cli.options import Group, Reply, command, did_you_mean, option_of, options_of
from findspot.serve.cli.project_choice import open_engine
from findspot.serve.cli.terminal import open_in_browser
from findspot.serve.shapes import CALL, CATALOGUE, FOUND_TOOLS, Shape, tool_object, warned
from findspot.text.snippet import cut

if TYPE_CHECKING:
    from findspot.catalogue.server_pool import CallHandlers
    from findspot.catalogue.tool_calls import Confirmation
    from findspot.catalogue.tool_record import ToolDefinition

_SHOWN_CHARS = 100


@click.group(cls=Group)
def tools() -> None:
    """Index the tools that MCP servers offer, and find the one that does what you want.

    \b
    findspot tools index .mcp.json
    findspot tools search read a file
    findspot tools show filesystem__read_file
    findspot tools call filesystem__read_file --args '{"path": "a.txt"}'
    """


@command("index", group=tools, project=True, yes=True)
@click.argument("sources", nargs=-1, metavar="[FILE]...")
@click.option("--user", is_flag=True, help="Build your user-wide catalogue (~/.please), not the project's.")
@click.option("--provider", metavar="NAME", help="The embedding provider. Default: the configured one.")
@click.option("--dtype", metavar="fp32|fp16|q8", help="Precision of the stored vectors. Default: fp16.")
@click.option("--no-embeddings", is_flag=True, help="Store no vectors: search by keywords and patterns only.")
@click.option("--force", is_flag=True, help="Ask every server again, and replace a damaged index.")
@option_of("timeout", argument("number", "Seconds to wait per server. Default: 30", minimum=0.1))
@click.option("--replace", is_flag=True, help="Forget the files of earlier runs.")
def index(
    reply: Reply, sources: Sequence[str], *, project: str | None, user: bool, yes: bool, **wanted: Any
) -> None:
    """Ask the MCP servers of a client's configuration for their tools, or read JSON files of tools.

    FILE is a configuration (mcpServers), a tools/list result, an array of tools, or another
    index.json; it is added to those of earlier runs. Without one, those are read again, else the
    configurations that the project holds. You are asked before a server is started that is new or
    changed, and see its command.
    """
    with open_engine() as engine:
        catalogue = engine.catalogue(project or ".")
        files = _sources(catalogue, sources, user, replace=wanted["replace"])
        usual = engine.settings.embed
        dtype, timeout_s = wanted["dtype"] or usual.dtype, wanted["timeout"] or START_TIMEOUT_S
        path, built = catalogue.indexer.index(
            files,
            BuildOptions(wanted["force"], dtype, timeout_s, _tell_waiting),
            provider=None if wanted["no_embeddings"] else wanted["provider"] or usual.provider,
            agree=lambda servers: _ask_agreement(servers, yes, reply),
            agree_to_tools=lambda tools: _ask_about_tools(tools, yes),
            user_wide=user,
            replace_sources=wanted["replace"],
        )
    _report(reply, path, built)


@command("search", group=tools, project=True)
@click.argument("words", nargs=-1, required=True, metavar="QUERY...")
@options_of({name: TOOLS[name] for name in ("mode", "threshold", "server")})
@option_of("top_k", TOOLS["top_k"], "-n", "--limit")
def search(reply: Reply, words: Sequence[str], project: str | None, **options: Any) -> None:
    """Find tools by QUERY: keywords, what you want to do, or a pattern.

    \b
    findspot tools search send a message
    findspot tools search 'read.*file' --mode regex
    """
    with open_catalogue(project) as catalogue:
        results = catalogue.search(" ".join(words), ToolSearchOptions(**options))
    reply.answer_program(warned(FOUND_TOOLS(results), results.warning))
    output.warn(results.warning)
    for tool in results.tools:
        output.line(f"{tool.score:5.2f}  {tool.name}")
        if first := tool.description.strip().partition("\n")[0]:
            output.line(f"       {cut(first, _SHOWN_CHARS)}", dim=True)
    if results.message:
        others = " Or try --mode hybrid." if options["mode"] in (SearchMode.REGEX, SearchMode.BM25) else ""
        output.note(f"{results.message}{others}")
    else:
        shown = f"{len(results.tools)} of {output.count(results.total, 'match')}"
        indexed = f"{results.total_indexed:,} tools indexed"
        output.note(f"{shown} in {results.elapsed_ms:.0f} ms; {indexed}", dim=True)


@command("show", group=tools, project=True)
@click.argument("name")
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


@command("log", group=tools)
@option_of("limit", count("Calls to show", 1, default=20), "-n")
@click.option("--clear", is_flag=True, help="Delete the log.")
def log(reply: Reply, limit: int, clear: bool) -> None:
    """Show the newest calls to tools: when, how long, how large in tokens, and how each ended.

    They are a part of what `findspot activity` shows, which holds no arguments and no answers.
    """
    if clear:
        activity.clear(activity.CALL_TOOL)
    value = {"calls": list(map(CALL, activity.entries(limit, tool=activity.CALL_TOOL)))}
    columns = "time tool result=outcome ms=durationMs tokens client"
    reply.table(value, "calls", columns, "No calls have been logged.")


def _tell_waiting(what: str) -> None:
    if sys.stderr.isatty():
        output.note(f"Waiting for {what} …", dim=True)


def _sources(catalogue: Catalogue, given: Sequence[str], user_wide: bool, *, replace: bool) -> list[Path]:
    """Return the files to read: those named, none to read the earlier ones again, else the project's own."""
    if given:
        return existing(given)
    if not replace and catalogue.indexer.remembered(user_wide=user_wide):
        return []
    files, notes = find_configurations(None if user_wide else catalogue.root, Machine())
    for text in notes:
        output.note(f"note: {text}")
    added = catalogue.registry.added(catalogue.paths[-1 if user_wide else 0])
    if not files and not added.read()["mcpServers"]:
        raise InvalidArgumentError(
            "There is nothing to index: name a client's configuration or a JSON file of tools.",
            hint="For example: findspot tools index .mcp.json",
        )
    return files


def _report(reply: Reply, path: Path, built: Built) -> None:
    waiting = built.named(Outcome.NOT_AGREED)
    if not built.written and len(waiting) == len(built.servers):
        question = f"Start {output.count(len(waiting), 'server')} that you have not agreed to before?"
        raise ConfirmationRequiredError(f"{question} {', '.join(waiting)}.")
    if built.written and not reply.json:
        output.line(f"{output.count(len(built.index.tools), 'tool')} in {path}", bold=True)
    status = "success" if built.answered else "failed"
    about = {"totalTools": len(built.index.tools), "embeddingProvider": built.index.provider}
    value = CATALOGUE(built, status=status, path=str(path)) | about
    reply.table(value, "servers", "status tools server=name", "")
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


_MAX_ARGUMENT_BYTES = 16 * 1024 * 1024


@command("call", group=tools, project=True, yes=True)
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
    from findspot.catalogue.tool_calls import ToolCaller

    arguments = _arguments(given)

    async def agree(asked: Confirmation) -> bool:
        """Ask about what is destructive or changed: for all else, typing the command is agreement enough."""
        if asked.declared or asked.changed:
            about = f"{asked.tool.name} {asked.shown_arguments}"
            ask = partial(confirm, asked.question, yes, reply, about=about)
            await anyio.to_thread.run_sync(ask, abandon_on_cancel=True)
        return False

    async def called() -> tuple[ToolDefinition, dict[str, Any]]:
        caller = ToolCaller(engine.catalogue(project or "."), engine.servers)
        try:
            return await caller.call(name, arguments, confirm=agree, timeout_s=timeout, handlers=_handlers)
        finally:
            with anyio.CancelScope(shield=True):
                await engine.end_servers()

    _tell_waiting(name)
    started = time.perf_counter()
    with open_engine() as engine:
        _, result = run_loop(called)
    took_ms, failed = (time.perf_counter() - started) * 1000, bool(result.get("isError"))
    tokens = len(json.dumps(result)) // activity.CHARS_PER_TOKEN
    about = activity.COMMAND_LINE, "", activity.CALL_TOOL, name
    activity.note(activity.Entry(*about, (), 0, "error" if failed else "ok", took_ms, tokens))
    reply.answer_program(result, int(failed))
    _show(result)
    raise click.exceptions.Exit(int(failed))


def _arguments(given: str) -> dict[str, Any]:
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
        else:
            output.note(f"[{part_name(part)}; --json shows it]")
    if not result["content"] and "structuredContent" in result:
        _print(json.dumps(result["structuredContent"], indent=2, ensure_ascii=False))


def _print(text: str) -> None:
    if sys.stdout.isatty():
        output.lines(text.removesuffix("\n"))
    else:
        click.echo(text, nl=not text.endswith("\n"))


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_HIDDEN = re.compile(r"…(?!\$\{)|\*{4}")


@contextlib.contextmanager
def open_catalogue(given: str | None) -> Iterator[Catalogue]:
    with open_engine() as engine:
        yield engine.catalogue(given or ".")


_user_option = click.option("--user", is_flag=True, help="For all your projects, not only this one.")


@command("add", context_settings={"allow_interspersed_args": False}, group=tools, project=True)
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND [ARGS]...]")
@click.option("--url", metavar="URL", help="The address of a remote server, instead of a command.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable for the server; repeatable.")
@click.option("--header", multiple=True, metavar="NAME: VALUE", help="A header for the address; repeatable.")
@_user_option
def add(
    reply: Reply, name: str, command: Sequence[str], *, user: bool, project: str | None, **about: Any
) -> None:
    """Add the MCP server NAME, and index its tools.

    \b
    findspot tools add time uvx mcp-server-time
    findspot tools add --env 'TOKEN=${GITHUB_TOKEN}' github npx -y some-github-server
    findspot tools add --user --url https://example.com/mcp docs

    Options come before NAME; what follows belongs to COMMAND. The server always starts in the
    folder that you are in now, whatever project calls it.
    `${NAME}` in a value is replaced when the server starts, so that no secret is stored.
    """
    entry = _entry(command, **about)
    with open_engine() as engine:
        catalogue = engine.catalogue(project or ".")
        index = catalogue.paths[-1 if user else 0]
        _require_new(catalogue, name)
        with catalogue.registry.added(index).changing() as added:
            added["mcpServers"][name] = entry
        (spec,) = (spec for spec in catalogue.registry.servers(index) if spec.name == name)
        catalogue.registry.agreements.add([spec])
        catalogue.registry.choices.forget(index, name)
        options = BuildOptions(dtype=engine.settings.embed.dtype, asking=_tell_waiting)
        built = catalogue.indexer.index_new(index, engine.settings.embed.provider, options)
        tools, error = next((s.tools, s.error) for s in built.servers if s.name == name)
    value = {"status": "failed" if error else "success", "name": name, "tools": tools}
    reply.answer_program(value | ({"error": error} if error else {}), int(bool(error)))
    output.line(f"Added {spec.name}", bold=True)
    shown = description(spec, asks=False)[1:]
    for line in shown:
        output.line(line)
    if _HIDDEN.search(" ".join(shown)):
        output.warn(
            "What is hidden here is stored as it was typed. For a secret, add the server with the name of a "
            "variable, such as '${TOKEN}', which is read when it starts."
        )
    if error:
        output.warn(f"{name} did not answer: {error.rstrip('.')}. {spec.index_command} asks it again.")
        raise click.exceptions.Exit(1)
    output.note(f"{output.count(tools, 'tool')} indexed.")


def _entry(
    command: Sequence[str], *, url: str | None, env: Sequence[str], header: Sequence[str]
) -> dict[str, Any]:
    if command and command[0].startswith("-"):
        raise click.UsageError(f"{command[0]} must come before NAME.")
    if bool(command) == bool(url):
        raise click.UsageError("Name either a COMMAND or, with --url, an address.")
    if url is not None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise click.UsageError(f"'{url}' is not an http or https address.")
        if env:
            raise click.UsageError("--env is for a COMMAND; an address takes --header.")
        headers = {"headers": _pairs("--header", header, ": ")} if header else {}
        return {"type": "http", "url": url, **headers}
    if header:
        raise click.UsageError("--header is for an address; a COMMAND takes --env.")
    variables = {"env": _pairs("--env", env, "=")} if env else {}
    return {"command": command[0], "args": list(command[1:]), **variables, "cwd": str(Path.cwd())}


def _pairs(option: str, given: Sequence[str], separator: str) -> dict[str, str]:
    pairs = [text.partition(separator.strip()) for text in given]
    if not all(name.strip() and found for name, found, _ in pairs):
        raise click.UsageError(f"{option} takes NAME{separator}VALUE.")
    return {name.strip(): value.strip() for name, _, value in pairs}


def _require_new(catalogue: Catalogue, name: str) -> None:
    if name_problem(name) or not _NAME.fullmatch(name) or name == SERVER:
        raise InvalidArgumentError(
            f"'{name}' cannot be the name of a server.",
            hint="Use letters, digits, '-', '.' and single '_'; 'findspot' is taken.",
        )
    known = {server.name: server for server in catalogue.servers()}.get(name)
    if known is not None and not known.is_left:
        is_added = known.origin == ADDED
        first = f"remove it first: findspot tools remove {name}" if is_added else "take it out of there."
        raise InvalidArgumentError(
            f"There is a server '{name}' already, from {known.origin}.", hint=f"Use another name, or {first}"
        )


@command("list", group=tools, project=True)
def list_(reply: Reply, project: str | None) -> None:
    """List the MCP servers that are known here, where each comes from, and whether it can be used.

    \b
    agreed    you agreed to start it
    new       nobody agreed to start it; `findspot tools index` asks
    changed   its entry is another than the one that you agreed to
    disabled  by you
    failed    it did not answer when it was last asked, or its file cannot be read
    removed   its entry is gone; `findspot tools remove` forgets its tools
    listed    its tools come from a file; there is nothing to start
    """
    with open_catalogue(project) as catalogue:
        servers = catalogue.servers()
    value = {"servers": [_server_object(catalogue, server) for server in servers]}
    nothing = "No MCP servers are known here. `findspot tools index` and `tools add` add some."
    if not reply.table(value, "servers", "server=name state tools for=scope from=source", nothing):
        return
    for server in servers:
        if server.error:
            output.warn(f"{server.name}: {server.error}")
        if server.disabled_tools:
            output.note(f"note: disabled tools: {', '.join(server.disabled_tools)}")
        if server.allowed_tools:
            output.note(f"note: called without a question: {', '.join(server.allowed_tools)}")
        if server.spec and server.changed_tools:
            output.warn(
                f"New or changed since you agreed to {server.name}: {', '.join(server.changed_tools)}. "
                f"{server.spec.index_command} shows them and asks."
            )


_SERVER = Shape(
    {"name state": str, "tools": int, "disabledTools? allowedTools? changedTools?": [str], "error?": str}
)


def _server_object(catalogue: Catalogue, server: ServerStatus) -> dict[str, Any]:
    value = _SERVER(server)
    if server.spec is not None:
        scope = "all projects" if server.index == catalogue.user_index else "this project"
        value |= {"scope": scope, "source": str(server.spec.source)}
        value["url" if server.spec.url else "command"] = command_line(server.spec)
    return value


@command("remove", group=tools, project=True)
@click.argument("name")
def remove(reply: Reply, name: str, project: str | None) -> None:
    """Remove the server NAME with its tools: `findspot tools add` added it, or its entry is gone."""
    with open_catalogue(project) as catalogue:
        servers = {server.name: server for server in catalogue.servers()}
        if name not in servers:
            hint = did_you_mean(name, servers).strip() or "`findspot tools list` shows them."
            raise InvalidArgumentError(f"There is no server '{name}'.", hint=hint)
        server = servers[name]
        if not server.is_left and server.origin != ADDED:
            raise InvalidArgumentError(
                f"'{name}' comes from {server.origin}, which Findspot does not change.",
                hint=f"Remove it there, or turn it off: findspot tools disable {name}",
            )
        source = server.spec.source if server.spec else Path(server.origin)
        for index in [server.index] if server.index else catalogue.paths:
            if source == (added := catalogue.registry.added(index)).path:
                with added.changing() as entries:
                    entries["mcpServers"].pop(name, None)
            catalogue.registry.agreements.remove(name, source, project_of(index))
            catalogue.registry.choices.forget(index, name)
            catalogue.indexer.remove_server(index, name)
    reply.give({"status": "success", "name": name}, f"Removed {name}.")


def _switch(verb: str, about: str) -> None:
    @command(verb, group=tools, help=about, project=True)
    @click.argument("name", metavar="SERVER[__TOOL]")
    @_user_option
    def switch(reply: Reply, name: str, user: bool, project: str | None) -> None:
        with open_catalogue(project) as catalogue:
            server = {server.name: server for server in catalogue.servers()}.get(name)
            chosen = name if server else catalogue.get(name).name
            catalogue.registry.choices.make(catalogue.paths[-1 if user else 0], chosen, verb == "enable")
            is_so = catalogue.registry.choices.is_enabled(chosen) == (verb == "enable")
        where = "for all your projects" if user else "in this project"
        value = {"status": "success", "name": chosen, "state": f"{verb}d"}
        reply.give(value, f"{chosen} is {verb}d {where}.")
        if not is_so:
            output.warn(
                f"Your choice for this project counts first: without --user, this will {verb} it here."
            )
        if verb == "enable" and server and server.spec and not server.tools and not reply.json:
            output.note(f"Run {server.spec.index_command} to ask it for its tools.")


_switch("enable", "Enable a server, or one tool such as `github__create_issue`.")
_switch(
    "disable",
    "Disable a server, or one tool: it is not started, found or called.\n\n"
    "The choice is stored for you alone, and holds for this project unless --user is given.",
)


@command("allow", group=tools, project=True)
@click.argument("names", nargs=-1, required=True, metavar="SERVER__TOOL...")
@click.option("--undo", is_flag=True, help="Ask again before these tools are called.")
def allow(reply: Reply, names: Sequence[str], *, undo: bool, project: str | None) -> None:
    """Let assistants call these tools without asking you, until a tool changes.

    Tools whose server declares them read-only do not ask in any case.
    """
    with open_catalogue(project) as catalogue:
        tools = [catalogue.get(name) for name in names]
        for tool in tools:
            spec = catalogue.registry.agreed(tool.server_name)
            catalogue.registry.agreements.agree_to_tools(spec, [tool], always=not undo)
    listed = ", ".join(tool.name for tool in tools)
    told = f"You are asked before a call of {listed}." if undo else f"Called without a question: {listed}."
    value = {"status": "success", "tools": [t.name for t in tools], "state": "asks" if undo else "allowed"}
    reply.give(value, told)


def _ask_agreement(servers: Sequence[ServerSpec], yes: bool, reply: Reply) -> Sequence[ServerSpec]:
    """Ask of each server whether to start it, showing what it runs; start none if there is nobody to ask."""
    if yes:
        return servers
    accepted = []
    for spec in servers:
        name, *lines = description(spec)
        output.note(name, bold=True)
        for line in lines:
            output.note(line)
        if can_ask() and agreed(f"Start {spec.name}, to which you have not agreed before?"):
            accepted.append(spec)
    return accepted or (cancel(reply) if can_ask() else ())


def _ask_about_tools(tools: Sequence[ToolDefinition], yes: bool) -> bool:
    """Ask whether tools that are new or changed since their servers were agreed to may be called."""
    if yes or not can_ask():
        return yes
    for tool in tools:
        output.note(tool.name, bold=True)
        for line in tool.description.strip().split("\n"):
            output.note(f"  {line}")
    return agreed(f"Agree to {output.count(len(tools), 'new or changed tool')}?")


@command("login", group=tools, project=True)
@click.argument("server")
@click.option("--no-browser", is_flag=True, help="Only print the address to open.")
@option_of("timeout", argument("number", "Seconds to wait for you", minimum=1, default=300.0))
def login(reply: Reply, server: str, *, no_browser: bool, timeout: float, project: str | None) -> None:
    """Log in at the remote SERVER with your browser.

    Findspot prints an address of the server's authorization server, opens it in your browser, and waits
    until you are sent back. If the browser runs on another machine, the page it is sent back to does not
    open there: fetch that address on this machine, for example with curl.
    """
    from findspot.catalogue.oauth import LoginError, Logins, log_in, remote_server

    with open_catalogue(project) as catalogue:
        spec = remote_server(catalogue.registry, server)

    def show(address: str) -> None:
        output.note("Open this address to log in:")
        output.note(f"  {address}")
        output.note("Waiting for the browser. Ctrl-C cancels.")
        if not no_browser:
            open_in_browser(address)

    async def run() -> None:
        with anyio.fail_after(timeout):
            await log_in(spec, Logins(home_folder()), show)

    try:
        run_loop(run)
    except TimeoutError:
        raise LoginError(f"There was no login within {timeout:g} s.") from None
    except ExceptionGroup as errors:
        raise first_cause(errors) from errors
    reply.give({"server": server, "status": "logged_in"}, f"Logged in at {server}.")
    output.note(f"Read its tools: {spec.index_command}")


@command("logout", group=tools, project=True)
@click.argument("server")
def logout(reply: Reply, server: str, *, project: str | None) -> None:
    """Log out of the remote SERVER: delete the tokens here."""
    from findspot.catalogue.oauth import Logins, remote_server

    with open_catalogue(project) as catalogue:
        spec = remote_server(catalogue.registry, server)
    if Logins(home_folder()).remove(spec.url or ""):
        reply.give({"server": server, "status": "logged_out"}, f"Logged out of {server}.")
    else:
        reply.give({"server": server, "status": "no_login"}, f"There is no login at {server}.")

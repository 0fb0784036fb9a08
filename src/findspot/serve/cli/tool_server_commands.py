"""`findspot tools add|list|remove|enable|disable|login|logout`: the servers of a catalogue."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import click

from findspot.catalogue.catalogue import Catalogue
from findspot.catalogue.client_configs import name_problem
from findspot.catalogue.consent import command_line, description
from findspot.catalogue.known_clients import SERVER
from findspot.catalogue.server_registry import ServerStatus
from findspot.catalogue.server_sources import ServerSpec
from findspot.catalogue.tool_record import ToolDefinition
from findspot.core.errors import InvalidArgumentError, first_cause
from findspot.core.paths import home_folder
from findspot.core.progress import CancelToken
from findspot.serve.arguments import argument
from findspot.serve.cli import output
from findspot.serve.cli.interaction import agreed, can_ask, cancel, stoppable
from findspot.serve.cli.options import Reply, common, did_you_mean, option_of, project_option
from findspot.serve.cli.project_choice import open_engine
from findspot.serve.cli.terminal import open_in_browser
from findspot.serve.shapes import fields_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PAIRS = {
    "--env": (re.compile(r"\s*([^\s=][^=]*?)\s*=(.*)", re.DOTALL), "NAME=VALUE"),
    "--header": (re.compile(r"([A-Za-z0-9_-]+)\s*[:=]\s*(.*)"), "NAME: VALUE"),
}


@contextlib.contextmanager
def open_catalogue(given: str | None) -> Iterator[Catalogue]:
    """Provide the catalogue of tools of a project."""
    with open_engine() as engine:
        yield engine.catalogue(given or ".")


_user_option = click.option("--user", is_flag=True, help="For all your projects, not only this one.")


@click.command("add", context_settings={"allow_interspersed_args": False})
@click.argument("name")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND [ARGS]...]")
@click.option("--url", metavar="URL", help="The address of a remote server, instead of a command.")
@click.option("--sse", is_flag=True, help="The address speaks SSE, the older transport.")
@click.option("--env", multiple=True, metavar="NAME=VALUE", help="A variable for the server; repeatable.")
@click.option("--header", multiple=True, metavar="NAME: VALUE", help="A header for the address; repeatable.")
@_user_option
@project_option
@common
def add(
    reply: Reply,
    name: str,
    command: Sequence[str],
    *,
    url: str | None,
    sse: bool,
    env: Sequence[str],
    header: Sequence[str],
    user: bool,
    project: str | None,
) -> None:
    """Add the MCP server NAME, and index its tools.

    \b
    findspot tools add time uvx mcp-server-time
    findspot tools add --env 'TOKEN=${GITHUB_TOKEN}' github npx -y some-github-server
    findspot tools add --user --url https://example.com/mcp docs

    Options come before NAME; what follows belongs to COMMAND. The server starts in the current folder.
    `${NAME}` in a value is replaced when the server starts, so that no secret is stored.
    """
    entry = _entry(command, url, sse, env, header)
    with open_engine() as engine:
        catalogue = engine.catalogue(project or ".")
        index = catalogue.paths[-1 if user else 0]
        _require_new(catalogue, name)
        added = catalogue.registry.added(index)
        added.put({name: entry})
        (spec,) = (spec for spec in catalogue.registry.servers(index) if spec.name == name)
        catalogue.registry.agreements.add([spec])
        catalogue.registry.choices.forget(index, name)
        built = catalogue.indexer.index_new(index, engine.settings.embed)
        tools, error = next((s.tools, s.error) for s in built.servers if s.name == name)
    reply.answer_program(
        {"status": "success", "name": name, "tools": tools, **({"error": error} if error else {})}
    )
    output.line(f"Added {spec.name}", bold=True)
    for line in description(spec)[1:]:
        output.line(line)
    if error:
        output.warn(f"{name} did not answer: {error.rstrip('.')}. `findspot tools index` asks it again.")
    else:
        output.note(f"{output.count(tools, 'tool')} indexed.")


def _entry(
    command: Sequence[str], url: str | None, sse: bool, env: Sequence[str], header: Sequence[str]
) -> dict[str, Any]:
    """Return the entry of a new server."""
    if command and command[0].startswith("-"):
        raise click.UsageError(f"{command[0]} must come before NAME.")
    if bool(command) == bool(url):
        raise click.UsageError("Name either a COMMAND or, with --url, an address.")
    if url is not None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise click.UsageError(f"'{url}' is not an http or https address.")
        if env:
            raise click.UsageError("--env is for a COMMAND; an address takes --header.")
        kind = {"type": "sse"} if sse else {"type": "http"}
        return {**kind, "url": url} | ({"headers": _pairs(header, "--header")} if header else {})
    if header or sse:
        raise click.UsageError("--header and --sse are for an address; a COMMAND takes --env.")
    variables = {"env": _pairs(env, "--env")} if env else {}
    return {"command": command[0], "args": list(command[1:]), **variables, "cwd": str(Path.cwd())}


def _pairs(given: Sequence[str], option: str) -> dict[str, str]:
    pattern, form = _PAIRS[option]
    found = [pattern.fullmatch(text) for text in given]
    if None in found:
        raise click.UsageError(f"{option} takes {form}.")
    return {pair[1]: pair[2] for pair in found if pair}


def _require_new(catalogue: Catalogue, name: str) -> None:
    """Raise an error for a name that cannot be used."""
    if name_problem(name) or not _NAME.fullmatch(name) or name == SERVER:
        raise InvalidArgumentError(
            f"'{name}' cannot be the name of a server.",
            hint="Use letters, digits, '-', '.' and single '_'; 'findspot' is taken.",
        )
    known = {server.name: server for server in catalogue.servers()}.get(name)
    if known is not None:
        raise InvalidArgumentError(
            f"There is a server '{name}' already, from {_origin(catalogue, known)}.",
            hint=f"Use another name, or remove it first: findspot tools remove {name}",
        )


@click.command("list")
@project_option
@common
def list_(reply: Reply, project: str | None) -> None:
    """List the MCP servers that are known here, where each comes from, and whether it can be used.

    \b
    agreed    you agreed to start it
    new       nobody agreed to start it; `findspot tools index` asks
    changed   its entry is another than the one that you agreed to
    disabled  by you
    failed    it did not answer when it was last asked, or its file cannot be read
    removed   its entry is gone; `findspot tools index` forgets its tools
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
        if server.changed_tools:
            output.warn(
                f"New or changed since you agreed to {server.name}: {', '.join(server.changed_tools)}. "
                "`findspot tools index` shows them and asks."
            )


def _server_object(catalogue: Catalogue, server: ServerStatus) -> dict[str, Any]:
    value = fields_of(server, "name state tools")
    if server.spec is not None:
        value |= {"scope": _scope(catalogue, server), "source": str(server.spec.source)}
        value["url" if server.spec.url else "command"] = command_line(server.spec)
    further = fields_of(server, "disabled_tools allowed_tools changed_tools error")
    return value | {name: each for name, each in further.items() if each}


def _scope(catalogue: Catalogue, server: ServerStatus) -> str:
    if server.index is None:
        return ""
    return "all projects" if server.index == catalogue.user_index else "this project"


def _origin(catalogue: Catalogue, server: ServerStatus) -> str:
    if server.spec is None:
        return "a file of tools" if server.state == "listed" else ""
    added = server.index and catalogue.registry.added(server.index).path
    return "tools add" if server.spec.source == added else str(server.spec.source)


@click.command("remove")
@click.argument("name")
@project_option
@common
def remove(reply: Reply, name: str, project: str | None) -> None:
    """Remove the server NAME, which `findspot tools add` added, with its tools."""
    with open_catalogue(project) as catalogue:
        server = _known(catalogue, name)
        index = server.index
        if server.spec is None or index is None or _origin(catalogue, server) != "tools add":
            raise InvalidArgumentError(
                f"'{name}' comes from {_origin(catalogue, server)}, which Findspot does not change.",
                hint=f"Remove it there, or turn it off: findspot tools disable {name}",
            )
        catalogue.registry.added(index).remove([name])
        catalogue.registry.agreements.remove(server.spec)
        catalogue.registry.choices.forget(index, name)
        catalogue.indexer.remove_server(index, name)
    reply.give({"status": "success", "name": name}, f"Removed {name}.")


def _known(catalogue: Catalogue, name: str) -> ServerStatus:
    servers = {server.name: server for server in catalogue.servers()}
    if name not in servers:
        hint = did_you_mean(name, servers).strip() or "`findspot tools list` shows them."
        raise InvalidArgumentError(f"There is no server '{name}'.", hint=hint)
    return servers[name]


def _switch(command: str, about: str) -> click.Command:
    """Return the command that enables or disables."""

    @click.command(command, help=about)
    @click.argument("name", metavar="SERVER[__TOOL]")
    @_user_option
    @project_option
    @common
    def switch(reply: Reply, name: str, user: bool, project: str | None) -> None:
        _choose(reply, name, project, user=user, enabled=command == "enable")

    return switch


enable = _switch("enable", "Enable a server, or one tool such as `github__create_issue`.")
disable = _switch(
    "disable",
    "Disable a server, or one tool: it is not started, found or called.\n\n"
    "The choice is stored for you alone, and holds for this project unless --user is given.",
)


@click.command("allow")
@click.argument("names", nargs=-1, required=True, metavar="SERVER__TOOL...")
@click.option("--undo", is_flag=True, help="Ask again before these tools are called.")
@project_option
@common
def allow(reply: Reply, names: Sequence[str], *, undo: bool, project: str | None) -> None:
    """Let assistants call these tools without asking you, until a tool changes.

    Tools whose server declares them read-only do not ask in any case.
    """
    with open_catalogue(project) as catalogue:
        tools = [catalogue.get(name) for name in names]
        for tool in tools:
            spec = _agreed_server(catalogue, tool.server_name)
            catalogue.registry.agreements.agree_to_tools(spec, [tool], always=not undo)
    listed = ", ".join(tool.name for tool in tools)
    told = f"You are asked before a call of {listed}." if undo else f"Called without a question: {listed}."
    value = {"status": "success", "tools": [t.name for t in tools], "state": "asks" if undo else "allowed"}
    reply.give(value, told)


def _agreed_server(catalogue: Catalogue, name: str) -> ServerSpec:
    spec = catalogue.registry.find(name)
    if spec is None or not catalogue.registry.agreements.holds(spec):
        raise InvalidArgumentError(
            f"'{name}' is not a server that you have agreed to start.",
            hint="`findspot tools list` shows the servers, `findspot tools index` asks.",
        )
    return spec


def _choose(reply: Reply, name: str, project: str | None, *, user: bool, enabled: bool) -> None:
    with open_catalogue(project) as catalogue:
        is_server = name in {server.name for server in catalogue.servers()}
        chosen = name if is_server else catalogue.get(name).name
        catalogue.registry.choices.make(catalogue.paths[-1 if user else 0], chosen, enabled)
    state = "enabled" if enabled else "disabled"
    where = "for all your projects" if user else "in this project"
    reply.give({"status": "success", "name": chosen, "state": state}, f"{chosen} is {state} {where}.")
    if enabled and is_server and not reply.json:
        output.note("Run `findspot tools index` to ask it for its tools.")


def ask_agreement(servers: Sequence[ServerSpec], yes: bool, reply: Reply) -> Sequence[ServerSpec]:
    """Ask of each server whether to start it, showing what it runs; start none if there is nobody to ask."""
    if yes:
        return servers
    if not can_ask():
        for spec in servers:
            show_description(spec)
        return ()
    accepted = []
    for spec in servers:
        show_description(spec)
        if agreed(f"Start {spec.name}, to which you have not agreed before?"):
            accepted.append(spec)
    return accepted or cancel(reply)


def ask_about_tools(tools: Sequence[ToolDefinition], yes: bool) -> bool:
    """Ask whether tools that are new or changed since their servers were agreed to may be called."""
    if yes or not can_ask():
        return yes
    for tool in tools:
        output.note(tool.name, bold=True)
        for line in tool.description.strip().split("\n"):
            output.note(f"  {line}")
    return agreed(f"Agree to {output.count(len(tools), 'new or changed tool')}?")


def start_question(servers: int) -> str:
    return f"Start {output.count(servers, 'server')} that you have not agreed to before?"


def show_description(spec: ServerSpec) -> None:
    """Show what a server runs, and with what."""
    name, *lines = description(spec)
    output.note(name, bold=True)
    for line in lines:
        output.note(line)


_PATIENCE_S = 300.0


@click.command("login")
@click.argument("server")
@click.option("--no-browser", is_flag=True, help="Only print the address to open.")
@option_of("timeout", argument("number", "Seconds to wait for you", minimum=1, default=_PATIENCE_S))
@project_option
@common
def login(reply: Reply, server: str, *, no_browser: bool, timeout: float, project: str | None) -> None:
    """Log in at the remote SERVER with your browser.

    Findspot prints an address of the server's authorization server, opens it in your browser, and waits
    until you are sent back. If the browser runs on another machine, the page it is sent back to does not
    open there: fetch that address on this machine, for example with curl.
    """
    from findspot.catalogue.oauth import remote_server

    with open_catalogue(project) as catalogue:
        spec = remote_server(catalogue.registry, server)
    _wait_for_login(spec, timeout, None if no_browser else open_in_browser)
    reply.give({"server": server, "status": "logged_in"}, f"Logged in at {server}.")
    output.note("Read its tools: findspot tools index")


@click.command("logout")
@click.argument("server")
@project_option
@common
def logout(reply: Reply, server: str, *, project: str | None) -> None:
    """Log out of the remote SERVER: delete the tokens here."""
    from findspot.catalogue.oauth import Logins, remote_server

    with open_catalogue(project) as catalogue:
        spec = remote_server(catalogue.registry, server)
    if Logins(home_folder()).remove(spec.url or ""):
        reply.give({"server": server, "status": "logged_out"}, f"Logged out of {server}.")
    else:
        reply.give({"server": server, "status": "no_login"}, f"There is no login at {server}.")


_LOOK_S = 0.1
"""How often a login looks whether Ctrl-C was pressed."""


def _wait_for_login(spec: ServerSpec, timeout_s: float, open_address: Callable[[str], None] | None) -> None:
    """Run the login, which ends by an answer of the browser, by Ctrl-C or when the time is over."""
    import anyio

    from findspot.catalogue.oauth import LoginError, Logins, log_in

    def show(address: str) -> None:
        output.note("Open this address to log in:")
        output.note(f"  {address}")
        output.note("Waiting for the browser. Ctrl-C cancels.")
        if open_address is not None:
            open_address(address)

    async def run(cancel: CancelToken) -> None:
        async def cancel_with(scope: anyio.CancelScope) -> None:
            while not cancel.cancelled:
                await anyio.sleep(_LOOK_S)
            scope.cancel()

        with anyio.fail_after(timeout_s):
            async with anyio.create_task_group() as group:
                group.start_soon(cancel_with, group.cancel_scope)
                await log_in(spec, Logins(home_folder()), show)
                group.cancel_scope.cancel()

    try:
        with stoppable() as cancel:  # an interrupted task may swallow the interrupt; a scope repeats it
            anyio.run(run, cancel)
            cancel.check()
    except TimeoutError:
        raise LoginError(f"There was no login within {timeout_s:g} s.") from None
    except ExceptionGroup as errors:
        raise first_cause(errors) from errors

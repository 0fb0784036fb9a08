"""`findspot tools call`: call a tool of another MCP server in a terminal."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from findspot.core.errors import InvalidArgumentError
from findspot.core.files import parse_json, read_named, reason
from findspot.core.paths import expanded
from findspot.serve.cli import output
from findspot.serve.cli.interaction import can_ask, confirm, prompt
from findspot.serve.cli.options import Reply, common, project_option, yes_option
from findspot.serve.cli.project_choice import open_engine

if TYPE_CHECKING:
    import mcp_types as types

    from findspot.catalogue.catalogue import Catalogue
    from findspot.catalogue.live_connection import CallHandlers
    from findspot.catalogue.tool_calls import CallOutcome, Confirmation

CLIENT = "command line"
"""How the log of calls names this command."""

_MAX_ARGUMENT_BYTES = 16 * 1024 * 1024


@click.command("call")
@click.argument("name")
@click.option(
    "--args", "given", metavar="JSON", default="{}", help="Arguments: a JSON object, @FILE, or - to read it."
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
    if the tool says that it failed. Ctrl-C cancels the call.

    \b
    findspot tools call time__get_current_time --args '{"timezone": "Europe/Paris"}'
    findspot tools call filesystem__read_file --args @arguments.json
    """
    import anyio

    arguments = _arguments(given)

    def agree(asked: Confirmation) -> None:
        """Ask about what is destructive or changed: for all else, typing the command is agreement enough."""
        if asked.declared or asked.changed:
            confirm(asked.question, yes, reply, about=f"{asked.tool.name} {asked.shown_arguments}")

    with open_engine() as engine:
        catalogue = engine.catalogue(project or ".")
        called = partial(_call, catalogue, name, arguments, timeout_s=timeout, confirmation=agree)
        outcome = anyio.run(called)
    if reply.json:
        output.emit(outcome.result)
    else:
        _show(outcome.result)
    if outcome.is_error:
        raise click.exceptions.Exit(1)


def _arguments(given: str) -> dict[str, Any]:
    """Read the arguments from the command line, a file or standard input."""
    try:
        if given == "-":
            text = sys.stdin.buffer.read(_MAX_ARGUMENT_BYTES)
        elif given.startswith("@"):
            text = read_named(expanded(given[1:]), _MAX_ARGUMENT_BYTES)
        else:
            text = given.encode("utf-8", "surrogateescape")
    except OSError as error:
        raise InvalidArgumentError(
            f"The arguments cannot be read: {given[1:]} is {reason(error)}."
        ) from error
    try:
        value = parse_json(text)
    except ValueError as error:
        raise InvalidArgumentError(f"--args is not valid JSON: {error}.") from error
    if not isinstance(value, dict):
        raise InvalidArgumentError('--args must be a JSON object, such as \'{"path": "a.txt"}\'.')
    return value


async def _call(
    catalogue: Catalogue,
    name: str,
    arguments: dict[str, Any],
    *,
    timeout_s: float | None,
    confirmation: Callable[[Confirmation], None],
) -> CallOutcome:
    import anyio

    from findspot.catalogue.server_pool import ServerPool
    from findspot.catalogue.tool_calls import ToolCaller

    async def agree(asked: Confirmation) -> bool:
        await anyio.to_thread.run_sync(confirmation, asked, abandon_on_cancel=True)
        return False

    pool = ServerPool(catalogue.registry.home)
    try:
        return await ToolCaller(catalogue, pool, CLIENT).call(
            name, arguments, confirm=agree, timeout_s=timeout_s, handlers=_handlers
        )
    finally:
        with anyio.CancelScope(shield=True):
            await pool.aclose()


def _handlers(server: str) -> CallHandlers:
    import anyio

    from findspot.catalogue.live_connection import CallHandlers

    async def show_progress(progress: float, total: float | None, message: str | None) -> None:
        count = f"{progress:g} of {total:g}" if total else f"{progress:g}"
        output.note(f"{message} ({count})" if message else count, dim=True)

    async def ask(params: types.ElicitRequestParams) -> types.ElicitResult:
        return await anyio.to_thread.run_sync(_answer, server, params, abandon_on_cancel=True)

    return CallHandlers(show_progress if sys.stderr.isatty() else None, ask if can_ask() else None)


def _answer(server: str, params: types.ElicitRequestParams) -> types.ElicitResult:
    """Ask the user what a server asks."""
    import mcp_types as types

    output.note(f"{server} asks: {params.message}", bold=True)
    if isinstance(params, types.ElicitRequestURLParams):
        output.note(f"  {params.url}")
        opened = prompt("Have you opened it and done what it asks? [y/N]").lower() in ("y", "yes")
        return types.ElicitResult(action="accept" if opened else "decline")
    fields = params.requested_schema.get("properties", {})
    if not fields or prompt("Answer? [y/N]").lower() not in ("y", "yes"):
        agreed = not fields and prompt("Agree? [y/N]").lower() in ("y", "yes")
        return types.ElicitResult(action="accept" if agreed else "decline", content={} if agreed else None)
    required = params.requested_schema.get("required", ())
    values = {name: _field(name, schema, name in required) for name, schema in fields.items()}
    content = {name: value for name, value in values.items() if value is not None}
    return types.ElicitResult(action="accept", content=content)


def _field(name: str, schema: Mapping[str, Any], required: bool) -> Any:
    """Ask for one value until it fits; None for an optional one that is left empty."""
    choices = schema.get("enum") or [choice.get("const") for choice in schema.get("oneOf", ())]
    kind = schema.get("type", "string")
    shown = ", ".join(map(str, choices)) if choices else kind
    while True:
        typed = prompt(f"  {schema.get('title') or name} ({shown}{'' if required else ', optional'}):")
        if not typed:
            if not required:
                return schema.get("default")
            continue
        try:
            value = _READERS.get(kind, str)(typed)
        except (ValueError, KeyError):
            continue
        if not choices or value in choices:
            return value


_READERS: dict[str, Any] = {
    "integer": int,
    "number": float,
    "boolean": lambda typed: {"y": True, "yes": True, "true": True, "n": False, "no": False, "false": False}[
        typed.lower()
    ],
    "array": lambda typed: [part.strip() for part in typed.split(",")],
}


def _show(result: Mapping[str, Any]) -> None:
    """Print texts as they are, on a terminal without what could move its cursor; name all else."""
    from findspot.catalogue.call_results import decoded_bytes

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
        output.lines(text.expandtabs().removesuffix("\n"))
    else:
        click.echo(text, nl=not text.endswith("\n"))

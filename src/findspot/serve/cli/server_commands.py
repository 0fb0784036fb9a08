"""`findspot serve`, `gateway`, `ui`, `service`, and what was asked: `logs`, `activity`, `stats`."""

from __future__ import annotations

import contextlib
import html
import os
import sys
import threading
import time
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path, PurePosixPath
from typing import Any

import click

from findspot.core.caller import working_folder
from findspot.core.config import SERVED, load_settings, terminal_settings
from findspot.core.files import make_private_dir, write_atomic
from findspot.core.log import keep_log, last_lines, log_file, record_object
from findspot.core.paths import home_folder, index_folder, project_root
from findspot.core.settings import CATALOGUE_TOOLSET
from findspot.core.utc_time import age
from findspot.door import pipe
from findspot.door.address import IN_PROCESS_VARIABLE, reason_for_none, service_folder
from findspot.door.connection import ask
from findspot.publishing.published_store import published_address
from findspot.serve import activity
from findspot.serve.arguments import count
from findspot.serve.cli import output
from findspot.serve.cli.failure import DECLINED
from findspot.serve.cli.options import Group, Reply, command, option_of, together, toolsets_option
from findspot.serve.cli.terminal import open_in_browser, terminal
from findspot.serve.shapes import ACTIVITY

_PAGE = """\
<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0; url={address}">
<title>Findspot</title>
<a href="{address}">Open Findspot</a>
"""
_COLOURS = {"WARNING": "yellow", "ERROR": "red", "CRITICAL": "red"}
_SHOWN_PLACES = 3


def _serve(toolsets: tuple[str, ...], read_only: bool, *, http: str | None, **tokens: Any) -> None:
    given = [f"--{option.replace('_', '-')}" for option, value in tokens.items() if value]
    if http is None and given:
        raise click.UsageError(f"{given[0]} needs --http: standard input and output have no tokens.")
    if len(set(given) - {"--tokens"}) > 1 or (tokens["no_token"] and tokens["tokens"]):
        raise click.UsageError(f"{' and '.join(given)} cannot be combined.")
    if http is None:
        named = ("--toolsets", ",".join(toolsets)) if toolsets else ()
        raise click.exceptions.Exit(pipe.main(["serve", *named, *["--read-only"] * read_only]))
    from findspot.serve.mcp.access import Terms
    from findspot.serve.mcp.http_server import run as run_http

    terms = Terms(read_only, toolsets=toolsets)
    run_http(http, terms, import_module("findspot.resident.host").beside, **tokens)


_serving_options = together(
    click.option(
        "--http",
        metavar="[HOST:PORT]",
        is_flag=False,
        flag_value="",
        help="Serve streamable HTTP instead, at /mcp. Default: 127.0.0.1:8765.",
    ),
    click.option(
        "--token-file",
        metavar="FILE",
        help="File of the bearer token that clients must send, else FINDSPOT_HTTP_TOKEN, else a new one.",
    ),
    click.option("--no-token", is_flag=True, help="Let in every user of this machine without a token."),
    click.option(
        "--tokens",
        metavar="FILE",
        help="File of tokens, each with the projects it is for. See docs/teams.md.",
    ),
)


@click.command()
@_serving_options
@click.option("--read-only", is_flag=True, help="Offer no tools that change anything.")
@click.option(
    "--from",
    "addresses",
    multiple=True,
    metavar="ADDRESS",
    help="Answer from the index that is published there: a folder, or s3://…. Nothing is copied, and nothing "
    "changed. May be given several times.",
)
@toolsets_option("Toolsets to offer, such as `project,documents`, or `all`. Default: the setting.")
def serve(*, read_only: bool, addresses: tuple[str, ...], toolsets: tuple[str, ...], **reached: Any) -> None:
    """Serve the tools over MCP on standard input and output.

    This is what an assistant starts; see the README for how to connect one.
    """
    with _reading(addresses) if addresses else contextlib.nullcontext():
        _serve(toolsets, read_only or bool(addresses), **reached)


@contextlib.contextmanager
def _reading(addresses: tuple[str, ...]) -> Iterator[None]:
    """Serve published indexes: each has an empty folder while it is served, and nothing else on the disk."""
    home = load_settings().home
    here = working_folder()
    for address in addresses:
        root = home / "published" / (PurePosixPath(address).name or "index")
        make_private_dir(root)
        SERVED[index_folder(home, root)] = root, published_address(root, address)
    os.chdir(root if len(addresses) == 1 else root.parent)
    os.environ[IN_PROCESS_VARIABLE] = "1"  # it is one reader of many: nobody else's process
    try:
        yield
    finally:
        os.chdir(here)
        for folder in (*(root for root, _ in SERVED.values()), home / "published"):
            with contextlib.suppress(OSError):  # another reader is there
                folder.rmdir()


@click.command()
@_serving_options
def gateway(**reached: Any) -> None:
    """Serve the tools of all your MCP servers behind three: search_tools, get_tool and call_tool.

    An assistant that starts this instead of ten servers reads three descriptions instead of hundreds.
    `findspot tools index` says which servers there are, and asks whether they may be started.
    """
    _serve((CATALOGUE_TOOLSET,), False, **reached)


@click.command()
@click.argument("path", required=False)
@option_of("port", count("Port to serve at. Default: 8766, or a free one", 0, 65_535))
@click.option("--no-open", is_flag=True, help="Print the address without opening a browser.")
def ui(path: str | None, port: int | None, no_open: bool) -> None:
    """Open a page in the browser: search, projects, and what an index holds.

    It is served on this machine only, to whoever has the address that is printed, until stopped.
    """
    from findspot.serve.web.page_server import run

    current = terminal()
    if current.is_own:
        settings = load_settings()
        keep_log(settings.home / "logs", settings.log.level)
    start = project_root(path or working_folder())
    with contextlib.ExitStack() as files:

        def opened(address: str) -> None:
            output.line(f"Findspot is at {address}")
            output.note("Stop it with Ctrl+C.")
            sys.stdout.flush()
            # Without a screen, a browser would start inside the terminal.
            has_screen = sys.platform in ("win32", "darwin") or terminal_settings().screen
            if not no_open and sys.stdout.isatty() and has_screen:
                open_in_browser(files.enter_context(leading_to(address)))

        stop = threading.Event()
        with current.stopping(lambda _: stop.set()):
            run(start, port, opened, current.engine, stop)


@contextlib.contextmanager
def leading_to(address: str) -> Iterator[Path]:
    """Provide a private file that leads a browser to an address with a token.

    The address itself would stand on the browser's command line, which every user of the machine can read.
    """
    folder = home_folder() / "ui"
    make_private_dir(folder)
    file = folder / f"open-{os.getpid()}.html"
    write_atomic(file, _PAGE.format(address=html.escape(address, quote=True)).encode())
    try:
        yield file
    finally:
        file.unlink(missing_ok=True)


@command()
@option_of("lines", count("Lines to show", 1, 1_000_000, default=50), "-n")
@click.option("--path", "only_path", is_flag=True, help="Print the path of the log, and exit.")
def logs(reply: Reply, lines: int, only_path: bool) -> None:
    """Show the log that servers keep: counts, durations and paths, never source text.

    To follow it as it grows: tail -F "$(findspot logs --path)"
    """
    path = log_file(home_folder())
    if only_path:
        reply.give({"path": str(path)}, str(path))
        return
    shown = last_lines(path, lines)
    reply.answer_program({"path": str(path), "lines": [record_object(line) for line in shown]})
    if not shown:
        output.note(f"Nothing is logged yet ({path}).")
    for line in shown:
        output.line(line, fg=_COLOURS.get(record_object(line).get("level", "")))


@command()
@click.option("--days", type=click.IntRange(1), metavar="DAYS", help="Only the last DAYS days.")
def stats(reply: Reply, days: int | None) -> None:
    """Show how much was searched on this machine, by the record that `findspot activity` shows."""
    columns = "by=surface searches answered tokens"
    reply.table({"usage": activity.usage(days)}, "usage", columns, "Nothing has been counted yet.")


@command("activity")
@option_of("limit", count("Questions to show", 1, default=20), "-n")
@click.option("--client", metavar="NAME", help="Only questions of this client.")
@click.option("--days", type=click.IntRange(1), metavar="DAYS", help="Only the last DAYS days.")
@click.option("--clear", is_flag=True, help="Delete the record.")
def activity_(reply: Reply, *, limit: int, client: str | None, days: int | None, clear: bool) -> None:
    """Show what assistants asked on this machine, and which answers they got.

    The newest come first. The record stays on this machine, for 90 days and 5,000 questions. Turn it off
    with `findspot config set --global activity false`.
    """
    if clear:
        activity.clear()
    matching = activity.entries(client=client or "", days=days)
    shown, summed, on = matching[:limit], activity.summary(matching), activity.recording()
    listed = list(map(ACTIVITY, shown))
    reply.answer_program({"recording": on, "summary": summed, "activity": listed})
    for entry in reversed(shown) if sys.stdout.isatty() else shown:
        _show_entry(entry)
    if shown:
        output.note(_sum_up(summed), dim=True)
    else:
        output.line("Nothing has been asked yet." if on else "Nothing is recorded.")
    if not on:
        output.note("Recording is off: the setting `activity` is false.")


def _show_entry(entry: activity.Entry) -> None:
    when = entry.time.replace("T", " ").removesuffix("Z")
    about = f"{Path(entry.project).name}  {entry.tool}" if entry.project else entry.tool
    figures = f"{entry.duration_ms:,.0f} ms  {output.count(entry.tokens, 'token')}"
    output.line(f"{when}  {entry.client}  {about}  {figures}", dim=True)
    if entry.question:
        output.line(f"  {' '.join(entry.question.split())}", bold=True)
    if entry.outcome != "ok":
        output.line(f"    {entry.outcome}", fg="yellow")
        return
    for place in entry.answers[:_SHOWN_PLACES]:
        output.line(f"    {place}")
    rest = entry.found - min(len(entry.answers), _SHOWN_PLACES)
    if rest > 0 or not entry.found:
        output.line(f"    … {rest:,} more" if entry.found else "    nothing found", dim=True)


def _sum_up(summed: dict[str, Any]) -> str:
    questions = output.count(summed["questions"], "question")
    tokens = output.count(summed["tokens"], "token")
    return f"{questions}, {summed['answered']:,} answered, {tokens}, median {summed['medianMs']:,.0f} ms"


_STOP_S = 70.0
_STOP_LOOK_S = 0.05


@click.group(cls=Group)
def service() -> None:
    """Show or stop the resident process, or show its log.

    It is started by the first command or assistant that needs it, answers all of them, and leaves by itself
    some minutes after the last one.
    """


@command(group=service)
def status(reply: Reply) -> None:
    """Show whether the resident process runs, and whom it answers."""
    about = ask("status")
    reply.answer_program(
        {"running": about is not None, "folder": service_folder(str(home_folder())), **(about or {})}
    )
    if about is None:
        why = reason_for_none()
        output.line("The resident process does not run." + (f" Here it is not used: {why}." if why else ""))
        return
    output.line(sentence(about), bold=True)
    for client in about["clients"]:
        output.line(f"  {client['command'] or client['kind']}  in {client['folder']}")
    output.fields(("" if place else "watches", folder) for place, folder in enumerate(about["projects"]))


def sentence(about: dict[str, Any]) -> str:
    clients = output.count(len(about["clients"]), "client")
    minutes = int(age(about["started"]).total_seconds() // 60)
    since = output.count(minutes, "minute")
    return f"Process {about['pid']} of version {about['version']} runs for {since}, with {clients}."


@command(group=service)
def stop(reply: Reply) -> None:
    """Have the resident process leave, once the calls that run are answered.

    Assistants that are connected go on with a new one.
    """
    about = ask("stop")
    if about is not None:
        deadline = time.monotonic() + _STOP_S
        while _runs(about["pid"]) and time.monotonic() < deadline:
            time.sleep(_STOP_LOOK_S)
        if _runs(about["pid"]):
            reply.give({"stopped": False}, f"Process {about['pid']} still finishes its calls.")
            raise click.exceptions.Exit(DECLINED)
    reply.give({"stopped": about is not None}, "Stopped." if about else "The resident process does not run.")


def _runs(pid: int) -> bool:
    """Return whether a process runs; one that ended and that nobody waited for does not."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][:1] != "Z"
    return True


service.add_command(logs, "logs")

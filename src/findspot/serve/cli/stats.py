"""`findspot stats`: how much it was used here, and what that spared."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime, timedelta

import click

from findspot.serve import usage
from findspot.serve.cli import output
from findspot.serve.cli.options import Manner, common


@click.command()
@click.option("--days", type=click.IntRange(1), help="Only the last so many days.")
@click.option("--clear", is_flag=True, help="Forget everything that was counted.")
@common
def stats(manner: Manner, days: int | None, clear: bool) -> None:
    """Show how much Findspot was used on this machine, and the tokens that its answers spared.

    Only counts are kept, here and nowhere else: no query, no path, no text.
    """
    if clear:
        usage.clear()
    since = (datetime.now(UTC) - timedelta(days=days - 1)).strftime("%Y-%m-%d") if days else ""
    found = usage.usage(since)
    if manner.json:
        output.emit({"usage": [asdict(item) | {"saved": item.saved} for item in found]})
        return
    if not found:
        output.line("Nothing has been counted yet.")
        return
    rows = [
        [item.surface, f"{item.searches:,}", f"{item.answered:,}", f"{item.shown:,}", f"{item.saved:,}"]
        for item in found
    ]
    output.table(rows, ["by", "searches", "answered", "tokens shown", "tokens saved"], numbers=range(1, 5))
    output.note(
        "Saved: what the files of the answers would have cost, read whole, less the answers.", dim=True
    )

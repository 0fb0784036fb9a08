"""`findspot models`: the embedding providers as they stand on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from findspot.serve import shapes
from findspot.serve.cli import output
from findspot.serve.cli.choose import open_engine
from findspot.serve.cli.options import Manner, common

if TYPE_CHECKING:
    from findspot.embed.survey import Standing


@click.command()
@click.option("--no-speed", is_flag=True, help="Do not measure how fast they are.")
@common
def models(manner: Manner, no_speed: bool) -> None:
    """List the embedding providers: installed or not, size, speed here, and where texts go.

    Speed is in chunks of 1,000 characters a second, measured for a moment on this machine; services
    elsewhere are not asked. `findspot reindex --provider NAME` changes an index to another one.
    """
    from findspot.embed.survey import survey

    with open_engine() as engine:
        found = survey(engine.settings.embed, measure=not no_speed)
    if manner.json:
        output.emit({"providers": [_object(standing) for standing in found]})
        return
    header = ("", "provider", "ready", "size", "dims", "chunks/s", "texts go to", "")
    output.table([_row(standing) for standing in found], header, numbers=(3, 4, 5))
    output.note("* is the configured one. `findspot reindex --provider NAME` changes an index.", dim=True)


def _row(standing: Standing) -> tuple[str, ...]:
    speed = standing.chunks_per_s
    return (
        "*" if standing.chosen else "",
        standing.provider,
        "yes" if standing.installed else "no",
        shapes.size(standing.size_bytes) if standing.size_bytes is not None else "-",
        str(standing.dimensions or "-"),
        "-" if speed is None else f"{speed:,.0f}",
        standing.sends_to or "this machine only",
        standing.detail,
    )


def _object(standing: Standing) -> dict[str, Any]:
    return {
        "provider": standing.provider,
        "chosen": standing.chosen,
        "installed": standing.installed,
        "detail": standing.detail,
        "leavesMachine": standing.leaves_machine,
        "sendsTo": standing.sends_to,
        "sizeBytes": standing.size_bytes,
        "dimensions": standing.dimensions,
        "chunksPerSecond": None if standing.chunks_per_s is None else round(standing.chunks_per_s, 1),
    }

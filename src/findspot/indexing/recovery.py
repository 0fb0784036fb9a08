"""Indexing that survives a damaged index: what is derived is rebuilt, what is not is set aside first."""

from __future__ import annotations

from findspot.core.errors import DiskFullError, IndexCorruptError, IndexFormatError
from findspot.core.files import disk_full
from findspot.core.log import get_logger
from findspot.core.model import IndexReport
from findspot.indexing import pipeline
from findspot.indexing.pipeline import Run
from findspot.store.records import DerivedDamagedError

_log = get_logger("indexing")


def apply(run: Run) -> IndexReport:
    """Bring an index up to date; a damaged one is kept as `index.bak` and rebuilt, and the report says so."""
    try:
        return pipeline.apply(run)
    except IndexFormatError:
        if not run.force:
            raise
        run.store.set_aside()
    except DerivedDamagedError:
        run.store.repair()
    except IndexCorruptError as error:
        backup = run.store.set_aside()
        _log.warning("%s; kept as %s and rebuilt", error.developer_message, backup.name)
        note = f"The index was damaged and has been rebuilt; the damaged one is kept in {backup.name}."
        return pipeline.apply(run.afresh(note))
    except DiskFullError as error:
        if error.needed_mb is None and run.needed_bytes:
            raise disk_full(run.store.folder, run.needed_bytes) from error
        raise
    return pipeline.apply(run.afresh())

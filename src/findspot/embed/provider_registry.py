"""The table of embedding providers: a name in the settings → what opens it and what it costs."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from findspot.core.config import hub_settings, secret
from findspot.core.errors import InvalidArgumentError, ModelMismatchError
from findspot.core.log import get_logger
from findspot.core.paths import home_folder
from findspot.core.settings import EmbedSettings
from findspot.embed.embedder import Embedder

_log = get_logger("embed")

IN_THE_BOX = "local:static"
"""The built-in model, which needs nothing and sends nothing."""

HTTP_ENDPOINT = "http://localhost:8121"


class OpenEmbedder(Protocol):
    """A function that opens a model, or returns one that is open already."""

    def __call__(self, provider: str, settings: EmbedSettings | None = None) -> Embedder: ...


@dataclass(frozen=True, slots=True)
class Provider:
    open: Callable[[EmbedSettings], Embedder]
    in_workers: bool = False
    """Whether each worker process opens its own model, which must be cheap; others are opened once."""
    remote: bool = False
    """Whether texts leave this machine, or may do so."""


def _static(_settings: EmbedSettings) -> Embedder:
    from findspot.embed.static_model import StaticEmbedder

    return StaticEmbedder.open()


def _transformer(settings: EmbedSettings) -> Embedder:
    from findspot.embed.transformer import TRANSFORMERS, TransformerEmbedder

    model = TRANSFORMERS[settings.provider]
    return TransformerEmbedder(
        model, settings.dtype, home_folder(), hub_settings(), _log.warning, sha256=settings.sha256
    )


def _http(settings: EmbedSettings) -> Embedder:
    from findspot.embed.services import TIMEOUT_S, HttpEmbedder, ServiceProgram

    return HttpEmbedder(
        settings.endpoint or HTTP_ENDPOINT,
        timeout_s=TIMEOUT_S,
        hint="Start the embedding service, or set `embedding.endpoint` to where it runs.",
        program=ServiceProgram(settings.command) if settings.command else None,
    )


def _api(settings: EmbedSettings) -> Embedder:
    from findspot.embed.services import DIALECTS, ApiEmbedder

    dialect = DIALECTS[settings.provider]
    return ApiEmbedder(dialect, secret(dialect.key_variable), settings.endpoint, settings.model)


PROVIDERS: dict[str, Provider] = {
    "local:static": Provider(_static, in_workers=True),
    "local:minilm": Provider(_transformer),
    "local:mdbr-leaf": Provider(_transformer),
    "http": Provider(_http, remote=True),
    "api:openai": Provider(_api, remote=True),
    "api:voyage": Provider(_api, remote=True),
}
"""Adding a provider is one row; its module is imported when it is opened."""


def provider_named(name: str) -> Provider:
    if name not in PROVIDERS:
        raise InvalidArgumentError(
            f"There is no embedding provider '{name}'.",
            hint=f"Choose one of: {', '.join(sorted(PROVIDERS))}.",
        )
    return PROVIDERS[name]


def require_chosen(model: str, chosen: str, hint: str) -> None:
    """Refuse a model whose provider is named by a file and not chosen by the user.

    Anybody may have written a catalogue or a chunk file: it must not decide where questions are sent.
    """
    if model.partition("@")[0] not in (IN_THE_BOX, chosen):
        raise ModelMismatchError(model, chosen, hint)


def settings_of(provider: str, settings: EmbedSettings | None) -> EmbedSettings:
    """Return the settings with which a provider is opened that need not be the chosen one.

    A configured endpoint is used or the provider is refused: texts never go to a hosted service while the
    user has named another address. It belongs to the chosen provider, or, where that one is local and has
    no use for an address, to whichever service is opened.
    """
    row = provider_named(provider)
    if settings is None or settings.provider == provider:
        return settings or EmbedSettings(provider)
    chosen = provider_named(settings.provider)
    if row.open is _transformer and chosen.open is not _transformer:  # the hashes are of its weights
        return EmbedSettings(provider, sha256=settings.sha256)
    if not row.remote or settings.endpoint is None:
        return EmbedSettings(provider)
    if chosen.remote:
        raise InvalidArgumentError(
            f"`embedding.endpoint` is the address of {settings.provider}, so {provider} has none.",
            hint=f"Set `embedding.provider` to {provider} with its own endpoint, or unset the endpoint.",
        )
    command = settings.command if provider == "http" else None
    return EmbedSettings(provider, endpoint=settings.endpoint, model=settings.model, command=command)


def open_embedder(provider: str, settings: EmbedSettings | None = None) -> Embedder:
    row = provider_named(provider)
    return row.open(settings_of(provider, settings))


class OpenModels:
    """Open models, one per combination of settings, since opening one takes long. Thread-safe."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._models: dict[EmbedSettings, Embedder] = {}

    def __call__(self, provider: str, settings: EmbedSettings | None = None) -> Embedder:
        """Return the open model of a provider, which may differ from the one in `settings`."""
        key = settings_of(provider, settings)
        with self._guard:
            if key not in self._models:
                self._models[key] = open_embedder(provider, key)
            return self._models[key]

    def close(self) -> None:
        """Close all models; the next use opens them again."""
        with self._guard:
            for model in self._models.values():
                model.close()
            self._models.clear()

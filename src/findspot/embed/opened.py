"""Models kept open: opening one reads its whole vocabulary, so that is done once, not at every search."""

from __future__ import annotations

import threading

from findspot.core.settings import EmbedSettings
from findspot.embed.protocol import Embedder
from findspot.embed.registry import open_embedder, settings_of


class OpenModels:
    """One open model for each way of setting it up. Safe to use from several threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._models: dict[EmbedSettings, Embedder] = {}

    def __call__(self, provider: str, settings: EmbedSettings | None = None) -> Embedder:
        """Return the open model of a provider, which need not be the one that `settings` choose."""
        key = settings_of(provider, settings)
        with self._guard:
            if key not in self._models:
                self._models[key] = open_embedder(provider, key)
            return self._models[key]

    def close(self) -> None:
        """Close all; the next use opens them again."""
        with self._guard:
            for model in self._models.values():
                model.close()
            self._models.clear()

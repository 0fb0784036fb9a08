"""The table of embedding providers: a name in the settings → what opens it."""

from __future__ import annotations

from collections.abc import Callable

from findspot.core.errors import InvalidArgumentError
from findspot.embed.protocol import Embedder


def _static() -> Embedder:
    from findspot.embed.providers.static import StaticEmbedder

    return StaticEmbedder.open()


PROVIDERS: dict[str, Callable[[], Embedder]] = {
    "local:static": _static,
}
"""Adding a provider is one row; its module is imported when it is opened."""


def open_embedder(provider: str) -> Embedder:
    """The provider of that name, ready to embed."""
    opener = PROVIDERS.get(provider)
    if opener is None:
        raise InvalidArgumentError(
            f"There is no embedding provider '{provider}'.",
            hint=f"Choose one of: {', '.join(sorted(PROVIDERS))}.",
        )
    return opener()

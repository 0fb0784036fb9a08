"""Which settings a provider is opened with that is not the chosen one: an endpoint is never replaced."""

from __future__ import annotations

import pytest

from findspot.core.errors import InvalidArgumentError, ProviderError
from findspot.core.settings import EmbedSettings
from findspot.embed.embedder import EmbedMode
from findspot.embed.provider_registry import OpenModels, open_embedder, settings_of
from findspot.embed.survey import survey

LOCAL = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize("provider", ["api:openai", "api:voyage", "http"])
def test_an_endpoint_counts_for_a_service_that_an_option_names(
    provider: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """documents A2: texts and the key went to api.openai.com though a local address was configured."""
    monkeypatch.setenv("OPENAI_API_KEY", "mine")
    monkeypatch.setenv("VOYAGE_API_KEY", "mine")
    settings = EmbedSettings("local:static", endpoint=LOCAL, model="m", command=None)
    for model in (open_embedder(provider, settings), OpenModels()(provider, settings)):
        with pytest.raises(ProviderError, match=r"127\.0\.0\.1:9"):
            model.embed(["text"], EmbedMode.QUERY)
    sent = {row.provider: row.sends_to for row in survey(settings)}
    assert (sent[provider] or "").startswith("http://127.0.0.1:9")


def test_an_endpoint_of_another_service_is_refused() -> None:
    settings = EmbedSettings("http", endpoint="http://localhost:8121")
    with pytest.raises(InvalidArgumentError, match=r"`embedding\.endpoint` is the address of http") as caught:
        open_embedder("api:openai", settings)
    assert "embedding.provider" in caught.value.hint
    assert all(row.sends_to != "https://api.openai.com/v1" for row in survey(settings))


def test_without_an_endpoint_a_named_service_is_the_hosted_one() -> None:
    assert settings_of("api:openai", EmbedSettings("http", command="x")) == EmbedSettings("api:openai")
    assert settings_of("local:static", EmbedSettings("http", endpoint=LOCAL)) == EmbedSettings("local:static")
    own = EmbedSettings("http", endpoint=LOCAL, command="x")
    assert settings_of("http", own) is own
    given = EmbedSettings("local:static", sha256="0" * 64)
    assert settings_of("local:mdbr-leaf", given).sha256 == "0" * 64
    assert settings_of("local:minilm", EmbedSettings("local:mdbr-leaf", sha256="0" * 64)).sha256 is None

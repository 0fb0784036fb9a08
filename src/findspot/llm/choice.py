"""Which language model is asked: the client's where it offers one, else a configured service, else none."""

from __future__ import annotations

from findspot.core.config import secret
from findspot.core.settings import LlmSettings
from findspot.llm.protocol import Bounded, ClientModel, LanguageModel, Sample
from findspot.llm.services import DIALECTS, ServiceModel

NONE = "none"


def choose_model(settings: LlmSettings, client: Sample | None = None) -> LanguageModel | None:
    """Return the first that there is, for one answer of ours; with the provider `none`, not even the
    client's.
    """
    if settings.provider == NONE:
        return None
    if client is not None:
        return Bounded(ClientModel(client))
    dialect = DIALECTS.get(settings.provider)
    if dialect is None:
        return None
    service = ServiceModel(dialect, secret(dialect.key_variable), settings.endpoint, settings.model)
    return Bounded(service)

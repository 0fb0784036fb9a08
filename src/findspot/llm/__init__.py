"""An optional language model: the client's own, or a configured service."""

from findspot.llm.language_model import Completion, LanguageModel, Prompt, Sample
from findspot.llm.llm_services import choose_model

__all__ = ["Completion", "LanguageModel", "Prompt", "Sample", "choose_model"]

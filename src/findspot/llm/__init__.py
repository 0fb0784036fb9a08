"""A language model, where there is one: the client's own, or a configured service."""

from findspot.llm.choice import choose_model
from findspot.llm.protocol import Completion, LanguageModel, Prompt, Sample

__all__ = ["Completion", "LanguageModel", "Prompt", "Sample", "choose_model"]

"""What is asked of a language model: one text for one text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question: what the model is to do, and the text to do it with."""

    rules: str
    text: str
    max_tokens: int
    """Of the answer."""


class LanguageModel(Protocol):
    """Answers prompts; raises `LanguageModelError` when it cannot."""

    @property
    def name(self) -> str:
        """As answers name it."""

    def complete(self, prompt: Prompt) -> str: ...


Sample = Callable[[Prompt], str]
"""The client's own model, as whoever speaks with the client hands it down."""


@dataclass(frozen=True, slots=True)
class ClientModel:
    """The model of the assistant that is asking."""

    sample: Sample
    name: str = "client"

    def complete(self, prompt: Prompt) -> str:
        return self.sample(prompt)

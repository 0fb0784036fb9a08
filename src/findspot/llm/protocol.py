"""What is asked of a language model: one text for one text."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from findspot.core.errors import LanguageModelError

PATIENCE_S = 10.0
"""How long one answer of ours waits for a model in all: somebody waits, and there is an answer without it."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One question: what the model is to do, and the text to do it with."""

    rules: str
    text: str
    max_tokens: int
    """Of the answer."""
    timeout_s: float = PATIENCE_S
    """How long the answer is waited for."""


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model answered, and which one it was."""

    text: str
    made_by: str
    """As answers name the model."""


class LanguageModel(Protocol):
    """Answers prompts within their time; raises `LanguageModelError` when it cannot."""

    @property
    def name(self) -> str:
        """As warnings name it."""

    def complete(self, prompt: Prompt) -> Completion: ...


Sample = Callable[[Prompt], Completion]
"""The client's own model, as whoever speaks with the client hands it down."""


@dataclass(frozen=True, slots=True)
class ClientModel:
    """The model of the assistant that is asking."""

    sample: Sample
    name: str = "client"

    def complete(self, prompt: Prompt) -> Completion:
        return self.sample(prompt)


class Bounded:
    """A model that is waited for a limited time over all prompts of one answer."""

    def __init__(
        self,
        model: LanguageModel,
        patience_s: float = PATIENCE_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._model = model
        self._left_s = patience_s
        self._clock = clock

    @property
    def name(self) -> str:
        return self._model.name

    def complete(self, prompt: Prompt) -> Completion:
        if self._left_s <= 0:
            raise LanguageModelError(f"{self.name}: its earlier answers took all the time there is")
        start = self._clock()
        try:
            return self._model.complete(replace(prompt, timeout_s=min(prompt.timeout_s, self._left_s)))
        finally:
            self._left_s -= self._clock() - start

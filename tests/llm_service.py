"""What a language model's service answers in tests: the JSON that the task asks for."""

from __future__ import annotations

import json
from typing import Any

from loopback import Reply, Request

TERMS = {"terms": ["credentials", "sign_in", "login"]}
TOLD = {
    "summary": "Credentials are checked by login.",
    "references": [1, 99, "x"],
    "followUps": ["what calls login()"],
}


def answer_to(rules: str) -> dict[str, Any]:
    """The answer to one of our tasks, told from its rules."""
    return TERMS if "expand queries" in rules else TOLD


def chat(request: Request) -> Reply:
    """An OpenAI-compatible service whose model speaks around its JSON, as they do."""
    text = f"Sure:\n```json\n{json.dumps(answer_to(request.body['messages'][0]['content']))}\n```"
    return Reply(body={"choices": [{"message": {"role": "assistant", "content": text}}]})

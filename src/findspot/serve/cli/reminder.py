"""`findspot remind`: the hook of the assistants' plugins, run after each shell command of an assistant.

If the command was a grep through files, it prints a note about `findspot grep` and the tools, once per
conversation. It runs often, so it imports little; it never fails, and it never stops a command.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from typing import Any

NOTE = (
    "This project can be searched with Findspot. `findspot grep PATTERN --about 'what you look for'` takes "
    "ripgrep's options, finds the same lines and shows those that matter first, by function. For a question, "
    "its tool `search_code` returns the best passages in one call, and `code_research` finds callers, "
    "implementations and importers. (Shown once per conversation.)"
)
_MAX_BYTES = 1 << 20
_MAX_MARKS = 500
_MOST_CHARS = 10_000
"""Of a command line that is looked at: nobody searches by a longer one."""
_SEARCH = re.compile(r"(?:^|[;&(\n])\s*(?:git\s+grep|rg|ag|ack|e?grep)\s+\S")
"""A search that begins a command; one at the end of a pipe looks through what another command printed."""


def remind() -> None:
    """Read a hook's JSON from standard input; print a note for the assistant if it is due."""
    with contextlib.suppress(Exception):
        payload = json.loads(sys.stdin.buffer.read(_MAX_BYTES))
        if is_search(payload) and _is_first(payload):
            sys.stdout.write(json.dumps(_answer(payload)) + "\n")
            sys.stdout.flush()


def is_search(payload: dict[str, Any]) -> bool:
    """Return whether a tool call looks for a pattern in files."""
    arguments: Any = payload.get("tool_input", payload.get("toolArgs"))
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    if isinstance(arguments.get("command"), str):
        return bool(_SEARCH.search(arguments["command"][:_MOST_CHARS]))
    return bool(arguments.get("pattern"))


def _is_first(payload: dict[str, Any]) -> bool:
    """Return whether this conversation has not been reminded, and remember it."""
    keys = ("session_id", "sessionId", "conversation_id", "agent_id")
    conversation = "\0".join(str(payload[key]) for key in keys if payload.get(key))
    if not conversation:
        return False
    import hashlib

    from findspot.core.paths import home_folder

    file = home_folder() / "reminded.txt"
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    known = file.read_text("ascii").split() if file.exists() else []
    mark = hashlib.sha256(conversation.encode()).hexdigest()[:32]
    if mark in known:
        return False
    file.write_text("\n".join([*known[-_MAX_MARKS:], mark]), "ascii")
    return True


def _answer(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the note in the form of Cursor, of Copilot CLI, or of the other assistants."""
    if "conversation_id" in payload:
        return {"additional_context": NOTE}
    if "toolName" in payload:
        return {"additionalContext": NOTE}
    event = payload.get("hook_event_name", "PostToolUse")
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": NOTE}}

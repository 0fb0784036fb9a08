"""`findspot remind`: the hook of the assistants' plugins, run after each shell command of an assistant.

If the command was a grep for a concept, it prints a note that Findspot answers such questions, once per
conversation. It runs often, so it imports little; it never fails, and it never stops a command.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
import sys
from collections.abc import Iterator
from typing import Any

NOTE = (
    "This project can be searched with Findspot. For a question or a concept, its tool `search_code` returns "
    "the best passages in one call, and `code_research` finds callers, implementations and importers. grep "
    "stays right for exact text. (Shown once per conversation.)"
)
_MAX_BYTES = 1 << 20
_MAX_MARKS = 500
_SEARCHERS = frozenset(("grep", "egrep", "rg", "ag", "ack"))
_SEPARATORS = frozenset(("&&", "||", ";", "&", "|", "|&", "(", ")", "\n"))
_PIPES = frozenset(("|", "|&"))
_MOST_CHARS = 10_000
"""Of a command line that is looked at: nobody searches by a longer one."""
_OF_FILES = ("grep", "egrep")
"""Those that search a folder only if an option says so."""
_RUNNERS = frozenset(("xargs", "command", "sudo", "time", "nice", "exec", "git"))
_RECURSIVE = re.compile(r"-[A-Za-z]*[rR]|--(?:dereference-)?recursive$|--include")
_VALUE_OPTIONS = frozenset(
    ("-e", "--regexp", "-f", "--file", "-g", "--glob", "-t", "--type", "-T", "--type-not", "-m", "-A", "-B",
     "-C", "--max-count", "--context", "--include", "--exclude", "--exclude-dir", "-d", "-D")
)  # fmt: skip
"""Options whose value is the next word."""
_JOINTS = re.compile(r"\\?\||\.\*|\.\+|\\[bsSwW][*+]?|\[[^\]]*\][*+?]?|[\s()^$?]+")
"""What joins the words of a pattern."""
_WORD = re.compile(r"[a-z]{3,}|[A-Z][a-z]{2,}")
_FILE = re.compile(r"[^*]*\.\w{1,8}")


def remind() -> None:
    """Read a hook's JSON from standard input; print a note for the assistant if it is due."""
    with contextlib.suppress(Exception):
        if sys.stdin.isatty():
            sys.stdout.write(
                "The plugins for assistants run this command as a hook; it reads the hook's JSON.\n"
            )
            return
        payload = json.loads(sys.stdin.buffer.read(_MAX_BYTES))
        if is_concept_search(payload) and _is_first(payload):
            sys.stdout.write(json.dumps(_answer(payload)) + "\n")
            sys.stdout.flush()


def is_concept_search(payload: dict[str, Any]) -> bool:
    """Return whether a tool call looks in files for words that describe something."""
    arguments: Any = payload.get("tool_input", payload.get("toolArgs"))
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    if isinstance(arguments.get("command"), str):
        return any(map(_is_concept, _patterns(arguments["command"][:_MOST_CHARS])))
    path = str(arguments.get("path") or "")
    return _is_concept(str(arguments.get("pattern") or "")) and not _FILE.fullmatch(path)


def _is_concept(pattern: str) -> bool:
    """Return whether a pattern consists of words, not of a name, a literal or an expression."""
    words = [word for word in _JOINTS.split(pattern) if word]
    return bool(words) and all(_WORD.fullmatch(word) for word in words)


def _patterns(command: str) -> Iterator[str]:
    """Yield the patterns that a command line searches files for."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    words: list[str] = []
    reads_pipe = False
    for token in [*lexer, ";"]:
        if token not in _SEPARATORS:
            words.append(token)
            continue
        yield from _of_simple_command(words, reads_pipe=reads_pipe)
        words, reads_pipe = [], token in _PIPES


def _of_simple_command(words: list[str], *, reads_pipe: bool) -> Iterator[str]:
    names = [word.rpartition("/")[2] for word in words]
    at = next((place for place, name in enumerate(names) if name in _SEARCHERS), None)
    if at is None or not all(n in _RUNNERS or "=" in n or n.startswith("-") for n in names[:at]):
        return
    reads_names = "xargs" in names[:at]
    pattern, paths, flags = _arguments(words[at + 1 :])
    searches_folders = (
        reads_names or "git" in names[:at] or names[at] not in _OF_FILES
        or any("*" in path for path in paths) or any(map(_RECURSIVE.match, flags))
    )  # fmt: skip
    is_one_file = len(paths) == 1 and _FILE.fullmatch(paths[0])
    if pattern and searches_folders and not is_one_file and (reads_names or not reads_pipe):
        yield pattern


def _arguments(words: list[str]) -> tuple[str, list[str], list[str]]:
    """Return the pattern, the paths and the options of a search."""
    flags, plain, patterns = [], [], []
    rest = iter(words)
    for word in rest:
        if word.startswith("-") and len(word) > 1:
            flags.append(word)
            value = next(rest, "") if word in _VALUE_OPTIONS else ""
            if word in ("-e", "--regexp"):
                patterns.append(value)
        elif not word.isdigit() and word not in (">", "<", "2>", ">&", "2>&1", "/dev/null"):
            plain.append(word)
    if not patterns and plain:
        patterns = [plain.pop(0)]
    return "|".join(patterns), plain, flags


def _is_first(payload: dict[str, Any]) -> bool:
    """Return whether this conversation has not been reminded, and remember it."""
    keys = ("session_id", "sessionId", "conversation_id", "agent_id")
    conversation = "\0".join(str(payload[key]) for key in keys if payload.get(key))
    if not conversation:
        return False
    import hashlib

    from findspot.core.paths import home_folder

    folder = home_folder() / "reminded"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    marks = list(folder.iterdir())
    if len(marks) > _MAX_MARKS:
        for mark in sorted(marks, key=lambda path: path.stat().st_mtime)[: _MAX_MARKS // 2]:
            mark.unlink(missing_ok=True)
    try:
        (folder / hashlib.sha256(conversation.encode()).hexdigest()[:32]).touch(0o600, exist_ok=False)
    except FileExistsError:
        return False
    return True


def _answer(payload: dict[str, Any]) -> dict[str, Any]:
    """Return the note in the form of Cursor, of Copilot CLI, or of the other assistants."""
    if "conversation_id" in payload:
        return {"additional_context": NOTE}
    if "toolName" in payload:
        return {"additionalContext": NOTE}
    event = payload.get("hook_event_name", "PostToolUse")
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": NOTE}}

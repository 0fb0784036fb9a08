"""A few lines for assistants in a project's AGENTS.md or CLAUDE.md, between marks of their own."""

from __future__ import annotations

from pathlib import Path

from findspot.serve.cli.clients.text import MalformedError, line_of

BEGIN = "<!-- findspot:begin -->"
END = "<!-- findspot:end -->"
PARAGRAPH = """\
## Finding code and documentation

This project is indexed by Findspot. Before you read files or run grep to find something, ask its tools:

- `search_code` with a question or a name finds code by meaning and by word;
- `search_docs` does the same for documentation;
- `search_by_path` lists files by glob.

Each result names its file and lines, so read just those.
"""

_PAGES = ("AGENTS.md", "CLAUDE.md")


def pages(root: Path) -> list[Path]:
    """Return the pages of a project to write to: those that are there and do not refer to one another."""
    agents, claude = (root / name for name in _PAGES)
    if not claude.is_file():
        return [agents]
    if not agents.is_file():
        return [claude]
    if claude.samefile(agents) or agents.name in claude.read_text("utf-8", "replace"):
        return [agents]
    return [agents, claude]


def put(text: str, newline: str) -> str:
    """Return the page with the paragraph at its end, or in the place where it was before."""
    block = f"{BEGIN}\n{PARAGRAPH}{END}".replace("\n", newline)
    found = _find(text)
    if found:
        return text[: found[0]] + block + text[found[1] :]
    gap = "" if not text or text.endswith("\n") else newline
    return text + gap + (newline if text.strip() else "") + block + newline


def take_out(text: str) -> str:
    """Return the page without the paragraph and the blank line that parted it."""
    found = _find(text)
    if not found:
        return text
    before, after = text[: found[0]], text[found[1] :].removeprefix("\r").removeprefix("\n")
    blank = next((end for end in ("\r\n\r\n", "\n\n") if before.endswith(end)), "")
    return before.removesuffix(blank) + blank[: len(blank) // 2] + after


def _find(text: str) -> tuple[int, int] | None:
    start = text.find(BEGIN)
    if start < 0:
        return None
    end = text.find(END, start)
    if end < 0:
        raise MalformedError(f"`{BEGIN}` has no `{END}`", line_of(text, start))
    return start, end + len(END)

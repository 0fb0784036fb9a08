"""Pairs of a question-like text and the code or prose that answers it, out of one source file.

Python is read with its own parser. Other languages share one reader: a comment directly above a
line that defines something belongs to it, and the definition ends where its brackets or its
indentation do. It is wrong now and then; a pair is a hint to a model, not an index entry.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

MAX_QUERY_CHARS = 300
MAX_TEXT_CHARS = 1000
"""As much as a chunk of an index holds."""
MIN_QUERY_WORDS = 3
MIN_CODE_CHARS = 60
MAX_BODY_LINES = 60

SUFFIXES = {
    "py": "python",
    "pyi": "python",
    "js": "javascript",
    "mjs": "javascript",
    "jsx": "javascript",
    "ts": "typescript",
    "tsx": "typescript",
    "go": "go",
    "rs": "rust",
    "rb": "ruby",
    "php": "php",
    "lua": "lua",
    "java": "java",
    "kt": "kotlin",
    "scala": "scala",
    "swift": "swift",
    "c": "c",
    "h": "c",
    "cc": "c++",
    "cpp": "c++",
    "cxx": "c++",
    "hpp": "c++",
    "hh": "c++",
    "m": "objective-c",
    "mm": "objective-c",
    "cs": "c#",
    "ex": "elixir",
    "exs": "elixir",
    "erl": "erlang",
    "hs": "haskell",
    "sh": "bash",
    "zig": "zig",
    "md": "markdown",
    "rst": "rst",
}


@dataclass(frozen=True)
class Pair:
    """`raw` is the piece as it stood in its file, which the guard sees too; `name` is what it defines."""

    kind: str
    language: str
    query: str
    text: str
    raw: str = ""
    name: str = ""


def pairs_of(path: str, text: str) -> Iterator[Pair]:
    """All usable pairs of a file, by the suffix of its name."""
    language = SUFFIXES.get(path.rsplit(".", 1)[-1].lower())
    if language is None or "\0" in text or _is_generated(text):
        return
    if language == "python":
        yield from _python(text)
    elif language in ("markdown", "rst"):
        yield from _sections(text, language)
    else:
        yield from _commented(text, language)


_NOT_PROSE = re.compile(
    r"copyright|licen[sc]ed? under|all rights reserved|SPDX"
    r"|eslint|noqa|pylint|endregion|sourceMappingURL",
    re.I,
)


def first_paragraph(text: str) -> str:
    """The prose that opens a doc comment, tags and markup left out; empty where it says too little."""
    text = re.sub(r"^\s*(@\w+|:\w+:|\\(brief|short))\s*", "", text.strip())
    paragraph = re.split(
        r"\n\s*\n|\n\s*(?:@|:param|:return|\\param|\\return|>>>|Args:|Parameters|Returns:|---|```)", text
    )[0]
    paragraph = re.sub(r"<[^<>]{1,80}>|\{@\w+\s+([^{}]*)\}|[`*]", r" \1", paragraph)
    paragraph = " ".join(paragraph.split())
    if len(paragraph) > MAX_QUERY_CHARS:
        sentence = re.split(r"(?<=[.!?])\s", paragraph)[0]
        paragraph = sentence[:MAX_QUERY_CHARS]
    words = re.findall(r"[A-Za-z]{2,}", paragraph)
    licence_like = _NOT_PROSE.search(paragraph)
    if (
        len(words) < MIN_QUERY_WORDS
        or licence_like
        or len(re.findall(r"[A-Za-z ]", paragraph)) < 0.7 * len(paragraph)
    ):
        return ""
    return paragraph


def spoken(name: str) -> str:
    """An identifier as words; empty where it has fewer than two."""
    parts = re.findall(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+", name)
    return " ".join(part.lower() for part in parts) if len(parts) >= 2 else ""


def _is_generated(text: str) -> bool:
    head = text[:600].lower()
    longest = max(map(len, text.split("\n", 200)[:200]), default=0)
    return "do not edit" in head or "@generated" in head or "auto-generated" in head or longest > 2000


# --- Python ------------------------------------------------------------------------------------


def _python(text: str) -> Iterator[Pair]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _python_definition(node, lines)
    yield from _block_comments(lines, "python", "#")


def _python_definition(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, lines: list[str]
) -> Iterator[Pair]:
    end = node.end_lineno or node.lineno
    raw = "\n".join(lines[node.lineno - 1 : end])
    first = node.body[0]
    doc = ast.get_docstring(node)
    code = raw
    if doc is not None and first.end_lineno is not None:
        code = "\n".join(lines[node.lineno - 1 : first.lineno - 1] + lines[first.end_lineno : end])
    code = code[:MAX_TEXT_CHARS]
    if len(code) < MIN_CODE_CHARS:
        return
    query = first_paragraph(doc or "")
    if query:
        yield Pair("doc", "python", query, code, raw, node.name)
        yield from _named(node.name, "python", "\n".join(lines[first.lineno - 1 : end]), raw)
    elif spoken(node.name) and not isinstance(node, ast.ClassDef):
        kind = "test" if node.name.startswith("test_") else "name"
        body = "\n".join(lines[first.lineno - 1 : end])[:MAX_TEXT_CHARS]
        if len(body) >= MIN_CODE_CHARS:
            query = spoken(node.name.removeprefix("test_")) or spoken(node.name)
            yield Pair(kind, "python", query, body, raw, node.name)


def _named(name: str, language: str, body: str, raw: str) -> Iterator[Pair]:
    """The name of a documented definition asks for its comment and its body together."""
    query = spoken(name)
    if query and len(body) >= 2 * MIN_CODE_CHARS:
        yield Pair("named", language, query, body[:MAX_TEXT_CHARS], raw, name)


# --- other languages ---------------------------------------------------------------------------

_LINE_COMMENT = {
    "python": "#",
    "ruby": "#",
    "bash": "#",
    "elixir": "#",
    "lua": "--",
    "haskell": "--",
    "erlang": "%",
}
_DEFINES = re.compile(
    r"^\s*(?:(?:export|default|public|private|protected|internal|static|final|abstract|async|override|virtual|inline|"
    r"extern|const|unsafe|open|suspend|sealed|data|case|implicit|lazy|local|pub(?:\([\w:]+\))?|declare|readonly|"
    r"partial|constexpr|explicit|friend|template\s*<[^>]*>|@\w+(?:\([^)]*\))?|#\[[^\]]*\]|\[[^\]]*\])\s+)*"
    r"(?:(?P<word>func|fn|def|defp|defmacro|class|struct|interface|type|trait|enum|impl|module|defmodule|object|fun|function|val|let|var|"
    r"const|namespace|protocol|extension|record|macro_rules!|newtype|instance|data|static|typealias|union|init|property|mod)\b"
    r"(?:\s*\([^)]*\))?\s*(?P<name>[\w.$]+)|(?P<call>[\w:.~$<>*&\[\],\s]*?)\b(?P<cname>[A-Za-z_$][\w$]*)\s*[(<=])"
)
_HASKELL = re.compile(
    r"^(?:data |newtype |class |type |instance )?(?P<name>[a-z_][\w']*|[A-Z]\w*)\s*(?:::|=|\w)"
)
_NOT_NAMES = {
    "if",
    "for",
    "while",
    "switch",
    "return",
    "else",
    "catch",
    "import",
    "use",
    "require",
    "include",
    "new",
    "case",
}


def _commented(text: str, language: str) -> Iterator[Pair]:
    lines = text.splitlines()
    marker = _LINE_COMMENT.get(language, "//")
    at = 0
    while at < len(lines):
        comment, after = _comment_at(lines, at, marker)
        if after == at:
            at += 1
            continue
        start = after
        while start < len(lines) and re.match(r"^\s*(@\w|#\[|\[\w)", lines[start]) and start < after + 6:
            start += 1
        yield from _definition(comment, lines, (at, after, start), language)
        at = after
    yield from _block_comments(lines, language, marker)
    yield from _undocumented(lines, language)


def _definition(comment: str, lines: list[str], at: tuple[int, int, int], language: str) -> Iterator[Pair]:
    """The pair of a comment at line `top`, what follows it, and the definition at `start`."""
    top, after, start = at
    if start >= len(lines) or not lines[start].strip():
        return
    name = defined_name(lines[start], language)
    query = first_paragraph(comment)
    if not name or not query:
        return
    end = _end_of(lines, start, language)
    code = "\n".join(lines[after:end])[:MAX_TEXT_CHARS]
    if len(code) >= MIN_CODE_CHARS or (len(code) >= 25 and "(" in code):
        raw = "\n".join(lines[top:end])[: 3 * MAX_TEXT_CHARS]
        yield Pair("doc", language, query, code, raw, name)
        body = "\n".join(lines[start + 1 : end])
        if len(body) >= MIN_CODE_CHARS:
            yield from _named(name, language, f"{comment.strip()}\n{body}", raw)


def _undocumented(lines: list[str], language: str) -> Iterator[Pair]:
    """Definitions without a comment: the name in words asks for the body below it."""
    for at, line in enumerate(lines):
        if at and re.match(r"^\s*(//|/?\*|#|--|@|%)", lines[at - 1]):
            continue
        if not re.search(r"[({:]\s*$|\)\s*(->.*)?$|\bdo\s*$", line):
            continue
        match = _DEFINES.match(line)
        if not match or not match.group("word"):
            continue
        query = spoken(match.group("name") or "")
        end = _end_of(lines, at, language)
        body = "\n".join(lines[at + 1 : end])[:MAX_TEXT_CHARS]
        if query and len(body) >= 2 * MIN_CODE_CHARS:
            yield Pair("name", language, query, body, name=match.group("name") or "")


def defined_name(line: str, language: str = "") -> str:
    """The name that a line defines, as far as one line can tell."""
    match = (_HASKELL if language == "haskell" else _DEFINES).match(line)
    if not match:
        return ""
    found = match.groupdict()
    name = found.get("name") or found.get("cname") or ""
    return "" if name in _NOT_NAMES else name


def _comment_at(lines: list[str], at: int, marker: str) -> tuple[str, int]:
    """The comment that starts at a line, and the line after it; the same line where there is none."""
    stripped = lines[at].strip()
    if stripped.startswith(("/*", "{-")) and marker != "#":
        closing = "*/" if stripped.startswith("/*") else "-}"
        end = at
        while end < len(lines) and closing not in lines[end] and end < at + 80:
            end += 1
        block = lines[at : end + 1]
        cleaned = [
            re.sub(r"^\s*(/\*+!?|\{-\s*\|?|\*+/|\*+|-\})\s?|\s*(\*+/|-\}).*$", "", line) for line in block
        ]
        return "\n".join(cleaned), end + 1
    if stripped.startswith(('@doc """', '@moduledoc """')):
        end = at + 1
        while end < len(lines) and lines[end].strip() != '"""':
            end += 1
        return "\n".join(line.strip() for line in lines[at + 1 : end]), end + 1
    end = at
    while end < len(lines) and lines[end].strip().startswith(marker) and not lines[end].startswith("#!"):
        end += 1
    prefix = re.compile(rf"^\s*{re.escape(marker)}[/!#%-]*\s?[|^]?\s?")
    return "\n".join(prefix.sub("", line) for line in lines[at:end]), end


def _end_of(lines: list[str], start: int, language: str) -> int:
    """The line after a definition: where its brackets close, else where its indentation ends."""
    limit = min(len(lines), start + MAX_BODY_LINES)
    if language in ("ruby", "elixir", "lua", "haskell", "erlang"):
        indent = len(lines[start]) - len(lines[start].lstrip())
        for at in range(start + 1, limit):
            line = lines[at]
            shallow = len(line) - len(line.lstrip()) <= indent
            if language == "haskell" and not line.strip():
                return at
            if line.strip() and shallow and language != "haskell":
                return at + 1 if line.strip().startswith("end") else at
        return limit
    depth = 0
    opened = False
    for at in range(start, limit):
        code = re.sub(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'|//.*$', "", lines[at])
        depth += sum(code.count(char) for char in "{([") - sum(code.count(char) for char in "})]")
        opened = opened or "{" in code
        if depth <= 0 and (opened or code.rstrip().endswith((";", ",")) or not code.strip()):
            return at + 1
    return limit


def _block_comments(lines: list[str], language: str, marker: str) -> Iterator[Pair]:
    """A comment inside a body speaks of the lines below it, up to the next blank line."""
    for at, line in enumerate(lines[:-2]):
        if not line.startswith((" ", "\t")) or not line.strip().startswith(marker + " "):
            continue
        if lines[at + 1].strip().startswith(marker) or (at and lines[at - 1].strip().startswith(marker)):
            continue
        query = line.strip().removeprefix(marker).strip()
        if len(query.split()) < 4 or not first_paragraph(query):
            continue
        end = at + 1
        while end < len(lines) and lines[end].strip() and end < at + 16:
            end += 1
        code = "\n".join(lines[at + 1 : end])[:MAX_TEXT_CHARS]
        if len(code) >= 80:
            yield Pair("comment", language, first_paragraph(query), code)


# --- prose -------------------------------------------------------------------------------------


def _sections(text: str, language: str) -> Iterator[Pair]:
    lines = text.splitlines()
    headings = list(_headings(lines, language))
    title = headings[0][1] if headings else ""
    for (at, heading, body_at), following in zip(
        headings, [*headings[1:], (len(lines), "", 0)], strict=False
    ):
        body = "\n".join(lines[body_at : following[0]]).strip()[:MAX_TEXT_CHARS]
        words = re.findall(r"[A-Za-z]{2,}", heading)
        if len(body) < 120 or not words:
            continue
        query = heading if len(words) > 1 else f"{title} {heading}"
        query = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*_#]", r"\1", query).split())
        if len(query) <= 120 and not re.match(r"^v?\d", query) and at >= 0:
            yield Pair("section", language, query, body)


def _headings(lines: list[str], language: str) -> Iterator[tuple[int, str, int]]:
    fenced = False
    for at, line in enumerate(lines):
        if line.startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        if language == "markdown" and re.match(r"^#{1,5}\s+\S", line):
            yield at, line.lstrip("# ").rstrip("# "), at + 1
        elif (
            at
            and re.match(r"^([=\-~^\"'`+*#])\1{2,}\s*$", line)
            and lines[at - 1].strip()
            and len(line) >= len(lines[at - 1]) - 2
        ):
            yield at - 1, lines[at - 1].strip(), at + 1

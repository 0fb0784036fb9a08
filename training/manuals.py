"""Question-like pairs out of manual pages and change logs.

A manual's one-line summary asks for its description, a heading for its section; a line of a change
log that names a function asks for that function.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

MIN_SECTION_CHARS = 120
MAX_SECTION_CHARS = 1000
MAX_CHANGE_CHARS = 200

MANUAL_SUFFIXES = tuple(f"{section}{part}" for section in "12345678" for part in ("", "ssl", "x", "p", "pm"))
CHANGE_LOG = re.compile(r"(^|/)(changelog|changes|news|history|release[-_]?notes|whatsnew)[^/]*$", re.I)

_ESCAPE = re.compile(r"\\f.|\\[&/|^]|\\s[+-]?\d|\\\*\(..|\\\(em")
_MACRO = re.compile(r"^[.'](?!\\\")(\w{1,3})\s*(.*)$")
_SPOKEN_MACROS = re.compile(r"B|I|BR|IB|RB|RI|BI|IR|SM|Nm|Fn|Fl|Ar|Pa|Xr|Em|Sy|Li|Va|Cm|Ic|Dv|Er|Nd|Fa|Ft|Op")
"""Macros whose arguments are part of the sentence."""

_NOT_QUESTIONS = re.compile(
    r"^(name|synopsis|see also|authors?|copyright|history|bugs|standards|colophon)$", re.I
)


def manual_sections(text: str) -> Iterator[tuple[str, str]]:
    """Heading and plain text of each section of a page in `man` or `mdoc` form."""
    heading, body = "", list[str]()
    for line in text.splitlines():
        match = _MACRO.match(line)
        if match and match.group(1) in ("SH", "Sh"):
            yield heading, _joined(body)
            heading, body = _plain(match.group(2)).strip('" '), []
        elif match and _SPOKEN_MACROS.fullmatch(match.group(1)):
            body.append(("- " if match.group(1) == "Nd" else "") + _plain(match.group(2)))
        elif match and match.group(1) in ("TP", "PP", "Pp", "LP", "It", "IP", "SS", "Ss"):
            body.append("\n" + _plain(match.group(2)))
        elif not line.startswith((".", "'")):
            body.append(_plain(line))
    yield heading, _joined(body)


def manual_pairs(text: str) -> Iterator[tuple[str, str]]:
    """Question and answer: the summary and the description, then each heading and its section."""
    if "\n.SH" not in text and "\n.Sh" not in text:
        return
    sections = dict(manual_sections(text))
    named = sections.get("NAME", sections.get("Name", ""))
    name, dash, summary = named.partition(" - ")
    described = sections.get("DESCRIPTION", sections.get("Description", ""))
    if dash and len(summary.split()) >= 3 and len(described) >= MIN_SECTION_CHARS:
        synopsis = sections.get("SYNOPSIS", sections.get("Synopsis", ""))[:200]
        yield " ".join(summary.split())[:200], f"{name}\n{synopsis}\n{described}"[:MAX_SECTION_CHARS]
    for heading, body in sections.items():
        if heading and not _NOT_QUESTIONS.match(heading) and len(body) >= MIN_SECTION_CHARS:
            yield f"{name.strip().split(',')[0]} {heading.lower()}".strip(), body[:MAX_SECTION_CHARS]


def changed_names(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each entry of a change log that names code, without its markup, and the names."""
    for entry in re.split(r"\n\s*(?=[-*+•]\s)", text):
        line = entry.split("\n\n")[0]
        names = re.findall(r"`+([A-Za-z_][\w.]*)(?:\(\))?`+", line)
        plain = " ".join(re.sub(r"\[([^\]]*)\]\([^)]*\)|:\w+:|[`*]|\(?#\d+\)?", r"\1", line).split())
        plain = plain.lstrip("-+• ")
        if names and 20 <= len(plain) <= MAX_CHANGE_CHARS:
            yield plain, [name.rsplit(".", 1)[-1] for name in names]


def _plain(line: str) -> str:
    return _ESCAPE.sub("", line).replace("\\-", "-").replace('"', "").replace("\\", "")


def _joined(lines: list[str]) -> str:
    return re.sub(r"[ \t]+", " ", " ".join(lines)).strip()

"""Offline documentation as plain text: HTML, manual pages and info files."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_HEADINGS = {"h1": "# ", "h2": "## ", "h3": "### ", "h4": "#### ", "h5": "##### ", "h6": "###### "}
_BLOCKS = frozenset({"p", "div", "section", "article", "ul", "ol", "dl", "table", "tr", "blockquote", "br"})
_UNREAD = frozenset({"script", "style", "nav", "noscript", "template", "svg", "head"})
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*)+")

_FONT = re.compile(r"\\f(?:\[[^\]]*\]|\(..|.)|\\s[-+]?\d|\\[&/,|^:%]|\\[kvhowzbln]'[^']*'")
_NAMED = re.compile(r"\\\((..)|\\\[([^\]]+)\]")
_GLYPHS = {"aq": "'", "dq": '"', "lq": "“", "rq": "”", "em": "—", "en": "–", "bu": "•", "ha": "^", "ti": "~"}
_SECTIONS = {"SH": "## ", "Sh": "## ", "SS": "### ", "Ss": "### "}
_BREAKS = frozenset({"PP", "P", "LP", "TP", "IP", "Pp", "It", "RS", "RE", "br", "sp", "HP", "nf", "fi"})
_DROPPED = frozenset({"TH", "Dd", "Dt", "Os", "ad", "hy", "nh", "de", "ds", "ie", "el", "if", "so", "ne"})

_INFO_NODE = re.compile(r"^File: [^\n]*?Node: ([^,\n]+)[^\n]*$", re.MULTILINE)


def text_of_html(text: str) -> str:
    """Return the readable text of a page, headings and code marked as in Markdown."""
    reader = _Page()
    reader.feed(text)
    reader.close()
    return _BLANK_LINES.sub("\n\n", "".join(reader.parts)).strip() + "\n"


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self._unread = 0
        self._code = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _UNREAD:
            self._unread += 1
        elif tag == "pre":
            self._code += 1
            self.parts.append("\n\n```\n")
        elif tag in _HEADINGS:
            self.parts.append(f"\n\n{_HEADINGS[tag]}")
        elif tag in ("li", "dt"):
            self.parts.append("\n- ")
        elif tag in _BLOCKS:
            self.parts.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNREAD:
            self._unread = max(0, self._unread - 1)
        elif tag == "pre":
            self._code = max(0, self._code - 1)
            self.parts.append("\n```\n\n")
        elif tag in _HEADINGS or tag in _BLOCKS:
            self.parts.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self.parts.append(data if self._code else re.sub(r"\s+", " ", data))


def text_of_manual(text: str, name: str) -> str:
    """Return the text of a manual page, its sections as headings."""
    lines = [f"# {name}"]
    for line in text.splitlines():
        if not line.startswith((".", "'")):
            lines.append(_plain(line))
            continue
        macro, _, rest = line[1:].strip().partition(" ")
        if macro.startswith('\\"') or macro in _DROPPED:
            continue
        words = _plain(rest.replace('"', ""))
        if macro in _SECTIONS:
            lines += ["", f"{_SECTIONS[macro]}{words}", ""]
        elif macro in _BREAKS:
            lines += ["", words] if words else [""]
        else:
            lines.append(f"-{words}" if macro == "Fl" else words)
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip() + "\n"


def _plain(text: str) -> str:
    text = _NAMED.sub(lambda found: _GLYPHS.get(found[1] or found[2], ""), _FONT.sub("", text))
    return text.replace("\\-", "-").replace("\\e", "\\").replace("\\ ", " ").replace("\\.", ".")


def text_of_info(text: str) -> str:
    """Return the text of an info file, its nodes as headings."""
    named = _INFO_NODE.sub(lambda found: f"## {found[1]}", text)
    return _BLANK_LINES.sub("\n\n", named.replace("\x1f", "")).strip() + "\n"

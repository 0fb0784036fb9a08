"""Takes the text of a bug report or feature request apart: what it says, shows, quotes and names.

Markdown, plain text, Trac and reStructuredText are read in one pass over the lines. What a template or a
program wrote says little about the place of the problem: headings, versions, check lists and logs. Of these
only the files that they name count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from findspot.rank.mentions import Name, Place, all_names, all_places
from findspot.rank.traces import MAX_LINE_CHARS, Frame, TraceReader

MAX_CHARS = 20_000
MAX_TITLE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Report:
    """A report in its parts, each in the order of the text."""

    title: str
    prose: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    """Examples, and what was typed in a session."""
    errors: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    """Trace after trace, the innermost frame of each last, whichever way round the language prints it."""
    places: tuple[Place, ...] = ()
    names: tuple[Name, ...] = ()


_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_FENCE = re.compile(r"[\s>]*(?:(`{3,}|~{3,})\s*\{?\.?([\w+#.-]*)|(\{\{\{|\{code|\{noformat|<pre))")
_CLOSING = {"{{{": "}}}", "{code": "{code}", "{noformat": "{noformat}", "<pre": "</pre>"}
"""Of Trac, Jira and HTML."""
_OUTPUT = frozenset(("text", "txt", "log", "output", "plain", "plaintext", "pytb", "traceback", "none"))
"""What blocks are called that hold no example."""
_DIRECTIVE = re.compile(r"\.\. (?:code-block|code|sourcecode|parsed-literal)::")
_TYPED = re.compile(r"\s*(?:>>> ?|\.\.\.(?: |$)|In ?\[\d*\]: ?|irb[^>]{0,30}> ?|iex\(\d+\)> ?|\$ (?=\S))")
"""The prompts of interpreters and shells."""
_LIST_ITEM = re.compile(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+(?=\S)")
_QUOTE = re.compile(r"^\s{0,3}>(?!>>)(?:\s|$)")
_HEADING = re.compile(
    r"\s{0,3}(?:#{1,6}\s|={1,4} .*=\s*$|(?:\*\*[^*]{1,120}\*\*|__[^_]{1,120}__):?\s*$|<(?:summary|h\d))"
)
_UNDERLINE = re.compile(r"\s{0,3}([-=~^*#\"'+])\1{2,}\s*$")
_CHECKBOX = re.compile(r"(?:[-*+]|\d+\.)? ?\[[ xX✓✔]?\]\s")
_VERSION = re.compile(
    r"(?:[-*+|•] ?)?[`*]*[A-Za-z@][\w.@/+-]*(?: [A-Za-z][\w.()/-]*){0,3}[`*]*"
    r"(?:\s*(?::|==|@|\||\(|->)\s*|\s+)`?v?\d+\.\d+[\w.+~-]*`?\)?(?:\s+\S{1,60}){0,3}$"
)
"""`Python 3.12.1`, `- Node: v20.1`."""
_LOG = re.compile(
    r"(?:[\w.|-]{0,30}\s)?[\[(]?(?:\d{4}[-/.]\d\d[-/.]\d\d[T ,]|\d\d:\d\d:\d\d)"
    r"|\[?(?:INFO|DEBUG|WARN(?:ING)?|TRACE|VERBOSE|NOTICE)\]?[\s:|]|(?:npm|yarn) (?:WARN|ERR!|info)"
    r"|0x[0-9a-f]{6,}"
)
_TITLE_TAG = re.compile(
    r"\[(?:bug|feature|question|enhancement|regression)[^\]\n]{0,20}\]:?\s*"
    r"|(?:bugs?|features?|questions?|enhancement|regression)(?: report| request)?:\s+",
    re.IGNORECASE,
)
_TAG = re.compile(
    r"</?(?:details|summary|br|p|div|span|b|i|em|strong|code|kbd|sub|sup|ul|ol|li|hr|img|a|pre|table|t[rdh]|h\d"
    r"|center|video)\b[^<>]{0,300}>"
)
"""Of HTML: `Vec<Cart>` and `<Cart>` name something."""
_URL = re.compile(r"(!?\[[^\[\]\n]{0,300}\])?\(?<?(https?://[^\s<>)\]\"'`]+)>?\)?")


def read_report(text: str) -> Report:
    """Take a report apart; of longer texts the first 20,000 characters are read."""
    text = _COMMENT.sub("", text[:MAX_CHARS].replace("\r\n", "\n")).expandtabs(4)
    return _ReportReader(text.split("\n")).read()


class _ReportReader:
    """Reads the lines one after another, and gives each block to the part it belongs to."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.traces = TraceReader()
        self.prose: list[str] = []
        self.code: list[str] = []
        self.links: list[str] = []
        self.printed: list[str] = []
        """Output, logs, headings and check lists: they may name files."""
        self.open: list[str] = []
        """The paragraph that is being read."""

    def read(self) -> Report:
        title = self._title()
        while self.at < len(self.lines):
            self._next()
        self._end_paragraph()
        self.traces.close()
        errors = tuple(self.traces.errors)
        title = title or (errors[0][:MAX_TITLE_CHARS] if errors else "")
        return Report(
            title=title,
            prose=tuple(self.prose),
            code=tuple(self.code),
            errors=errors,
            frames=tuple(self.traces.frames),
            places=all_places(self.links, [title, *self.prose, *self.code, *errors, *self.printed]),
            names=all_names(title, self.prose, self._shown()),
        )

    def _shown(self) -> Iterator[str]:
        """Yield the examples, and what traces and errors name."""
        yield from self.code
        for frame in self.traces.frames:
            yield f"{frame.function}\n{frame.source}"
        yield from self.traces.errors

    def _title(self) -> str:
        """Read the first line, unless a text begins with code, a list or a trace."""
        self.at = next((at for at, line in enumerate(self.lines) if line.strip()), len(self.lines))
        first = "".join(self.lines[self.at : self.at + 1])
        begins_otherwise = _FENCE.match(first) or _TYPED.match(first) or _LIST_ITEM.match(first)
        if not first or begins_otherwise or _begins_trace(self.lines, self.at):
            return ""
        self.at += 1
        self.traces.message_in(first)
        title = first.strip().lstrip("# ").removeprefix("Subject: ")
        tag = _TITLE_TAG.match(title)
        return (title[tag.end() :] if tag else title)[:MAX_TITLE_CHARS] or title[:MAX_TITLE_CHARS]

    def _next(self) -> None:
        """Read one line, or the block that begins there."""
        line = self.lines[self.at][:MAX_LINE_CHARS]
        stripped = line.strip()
        if not stripped:
            self._end_paragraph()
            self.at += 1
        elif fence := _FENCE.match(line):
            self._fenced(fence)
        elif _DIRECTIVE.match(stripped) or (line.startswith("    ") and not self.open):
            self._indented()
        elif used := self.traces.read(self.lines, self.at):
            self._end_paragraph()
            self.at += used
        elif _TYPED.match(line):
            self._end_paragraph()
            self._block("", list(self._until_blank()))
        else:
            self._sort(self.lines[self.at], stripped)
            self.at += 1

    def _fenced(self, fence: re.Match[str]) -> None:
        """Read a block up to the line that closes it."""
        self._end_paragraph()
        mark = fence[1] or _CLOSING[fence[3]]
        rest = self.lines[self.at][fence.end() :]
        start = self.at + 1
        if mark in rest:  # all in one line
            self.open.append(rest.replace(mark, " "))
            self.at = start
            return
        ends = (at for at in range(start, len(self.lines)) if mark in self.lines[at])
        end = next(ends, len(self.lines))
        self.at = end + 1
        self._block(
            (fence[2] or "").lower(), [_QUOTE.sub("", line, count=1) for line in self.lines[start:end]]
        )

    def _indented(self) -> None:
        """Read what is indented by four, or stands below a directive: an example, or sentences of a list."""
        self._end_paragraph()
        start = self.at
        width = 4 if self.lines[start].startswith("    ") else 1
        self.at += width == 1
        while self.at < len(self.lines) and not self.lines[self.at][:width].strip():
            self.at += 1
        block = [line for line in self.lines[start : self.at] if not _DIRECTIVE.match(line)]
        if any(map(_LIST_ITEM.match, block[:1])):
            for line in block:
                self._sort(line, line.strip())
        else:
            self._block("", block)

    def _until_blank(self) -> Iterator[str]:
        while self.at < len(self.lines) and self.lines[self.at].strip():
            yield self.lines[self.at]
            self.at += 1

    def _block(self, language: str, block: Sequence[str]) -> None:
        """Sort a block into traces, examples, logs and output."""
        if block and block[0].startswith("#!") and "/" not in block[0]:  # of Trac
            language, block = block[0][2:].strip(), block[1:]
        rest, at = [], 0
        while at < len(block):
            used = self.traces.read(block, at, fenced=True)
            if not used:
                rest.append(block[at])
            at += used or 1
        self.traces.close()
        full = [line.strip()[:MAX_LINE_CHARS] for line in rest if line.strip()]
        text = "\n".join(rest).strip("\n")
        typed = [line[found.end() :] for line in rest if (found := _TYPED.match(line[:MAX_LINE_CHARS]))]
        if _at_least_half(_LOG, full):
            for line in rest:
                self.traces.logged_in(line)
            self.printed.append(text)
        elif typed:
            self.code.append("\n".join(typed))
            self.printed.append(text)
        elif full and not _at_least_half(_VERSION, full):
            (self.printed if language in _OUTPUT else self.code).append(text)

    def _sort(self, line: str, stripped: str) -> None:
        """Sort a line that is neither code nor trace."""
        short = stripped[:MAX_LINE_CHARS]
        if _HEADING.match(line) or _CHECKBOX.match(short) or _LOG.match(short):
            self._end_paragraph()
            self.printed.append(stripped)
            self.traces.logged_in(short)
        elif _UNDERLINE.match(line):  # what stands above it is a heading
            self.printed += self.open
            self.open = []
        elif short.count(" ") < 6 and _VERSION.match(short):
            self._end_paragraph()
        else:
            text = _QUOTE.sub("", line, count=1)
            if item := _LIST_ITEM.match(text):
                self._end_paragraph()
                text = text[item.end() :]
            self.open.append(text)

    def _end_paragraph(self) -> None:
        """Take the sentences of a paragraph that ends here, without tags and addresses."""
        text, self.open = _TAG.sub(" ", "\n".join(self.open)), []
        self.links += [found[2] for found in _URL.finditer(text)]
        text = _URL.sub(lambda found: (found[1] or " ").strip("![]"), text).strip()
        if any(map(str.isalpha, text)):
            self.traces.message_in(text)
            self.prose.append(text)


def _at_least_half(shape: re.Pattern[str], lines: Sequence[str]) -> bool:
    return 2 * sum(shape.match(line) is not None for line in lines) >= len(lines) > 0


def _begins_trace(lines: list[str], at: int) -> bool:
    """Return whether a line is a frame, the head of a trace, or an error message that one follows."""
    probe = TraceReader()
    used = probe.read(lines, at)
    probe.close()
    if not used or probe.frames or not probe.errors:
        return used > 0
    after = next((later for later in range(at + used, len(lines)) if lines[later].strip()), None)
    return after is not None and probe.read(lines, after) > 0

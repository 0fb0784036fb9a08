"""Takes the text of a bug report or feature request apart: what it says, shows, quotes and names.

Markdown, plain text, e-mail, Trac and reStructuredText are read in one pass over the lines. What says little
about the place of the problem is left out: headings, versions, signatures and the like. Of what programs
printed, only the files that it names count.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from findspot.rank.mentions import Name, Place, all_names, all_places
from findspot.rank.report_lines import (
    CHECKBOX,
    DIRECTIVE,
    FENCE,
    HEADING,
    LABEL,
    LIST_ITEM,
    NUMBERED_CODE,
    OTHER_FENCES,
    PROMPT,
    QUOTE,
    SIGNATURE,
    TAG,
    TITLE_TAG,
    TYPED,
    UNDERLINE,
    URL,
    Section,
    are_code,
    are_environment,
    are_log,
    is_environment,
    is_label,
    is_log,
    is_polite,
    is_template,
    section_of,
)
from findspot.rank.traces import MAX_LINE_CHARS, Frame, TraceReader

MAX_CHARS = 20_000
MAX_TITLE_CHARS = 200

MAX_SIGNATURE = 8
"""Lines after `Regards,` that are a signature."""

SHORT_CHARS = 120
"""A polite paragraph of this length says nothing else."""


@dataclass(frozen=True, slots=True)
class Report:
    """A report in its parts, each in the order of the text."""

    title: str
    prose: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    """Examples; of interactive sessions only what was typed."""
    errors: tuple[str, ...] = ()
    frames: tuple[Frame, ...] = ()
    """Trace after trace, the innermost frame of each last, whichever way round the language prints it."""
    places: tuple[Place, ...] = ()
    names: tuple[Name, ...] = ()


_OUTPUT_LANGUAGES = frozenset(
    ("text", "txt", "log", "output", "plain", "plaintext", "pytb", "traceback", "none")
)
_SHELLS = frozenset(
    ("", "console", "shell-session", "shell", "sh", "bash", "zsh", "cmd", "powershell", "pycon")
)


def read_report(text: str) -> Report:
    """Take a report apart; of longer texts the first 20,000 characters are read."""
    lines = text[:MAX_CHARS].replace("\r\n", "\n").expandtabs(4).split("\n")
    return _ReportReader(lines).read()


class _ReportReader:
    """Reads the lines one after another, and hands each block to the part it belongs to."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.at = 0
        self.section = Section.DESCRIPTION
        self.traces = TraceReader()
        self.prose: list[str] = []
        self.code: list[str] = []
        self.links: list[str] = []
        self.printed: list[str] = []
        """Output, logs and check lists: they may name files."""
        self.open: list[str] = []
        self.in_checklist = -1
        """After the last line of a check list."""
        self.sentences_until = 0
        """The end of a block that is indented and still no code."""
        self.last_comment_end = max((at for at, line in enumerate(lines) if "-->" in line), default=-1)

    def read(self) -> Report:
        title = self._title()
        while self.at < len(self.lines):
            self._line(self.lines[self.at])
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
            names=all_names(title, self.prose, self.code, self.traces.frames, errors),
        )

    def _title(self) -> str:
        """Read the first line, unless a text begins with code, a list or a trace."""
        while self.at < len(self.lines) and not self.lines[self.at].strip():
            self.at += 1
        if self.at == len(self.lines):
            return ""
        first = self.lines[self.at]
        if FENCE.match(first) or first.lstrip().startswith(">>>") or LIST_ITEM.match(first):
            return ""
        if _begins_trace(self.lines, self.at):
            self._trace()
            return ""
        self.at += 1
        self.traces.message_in(first)
        title = first.strip().lstrip("# ").removeprefix("Subject: ")
        if (tag := TITLE_TAG.match(title)) and (tag["tag"] is None or is_label(tag["tag"])):
            title = title[tag.end() :] or title
        return title[:MAX_TITLE_CHARS]

    def _line(self, line: str) -> None:
        """Read one line, or the block that begins there."""
        stripped = line.strip()
        if not stripped:
            self._end_paragraph()
            self.at += 1
        elif not (
            self._block(line, stripped)
            or self._comment(line)
            or (stripped[0] == "#" and stripped[1:2].isdigit() and self._trace())
            or self._heading(line, stripped)
            or self._trace()
        ):
            self.at += 1
            self._sort(line, stripped)

    def _trace(self) -> bool:
        """Read a line of a trace."""
        used = self.traces.read(self.lines, self.at)
        if used:
            self._end_paragraph()
            self.at += used
        return used > 0

    def _block(self, line: str, stripped: str) -> bool:
        """Read a block of code: fenced, in Trac's braces, indented, or an interactive session."""
        first = stripped[0]
        quote = QUOTE.match(line) if first == ">" else None
        if first in "`~>" and (fence := FENCE.match(line, quote.end() if quote else 0)):
            mark = fence[1]
            if mark in line[fence.end() :]:
                return False
            self._fenced(
                fence[2].lower(), lambda text: text.lstrip("> ").startswith(mark), quoted=bool(quote)
            )
            return True
        if first in "{<":
            for opening, closing in OTHER_FENCES.items():
                if stripped.startswith(opening) and closing not in stripped[len(opening) :]:
                    self._fenced("", partial(_holds, closing))
                    return True
        if first == "." and (directive := DIRECTIVE.match(stripped)):
            self._fenced(
                directive[1].lower(), lambda text: bool(text) and not text[0].isspace(), closed=False
            )
            return True
        if self.at < self.sentences_until:
            return False
        literal = not self.open and bool(self.prose) and self.prose[-1].endswith("::")
        if line.startswith("    ") and (not self.open or self.open[-1].rstrip().endswith(":")):
            return self._indented(is_code=literal)
        return (
            stripped.startswith((">>>", "In ["))
            and TYPED.match(line) is not None
            and self._indented(is_code=True, session=True)
        )

    def _fenced(
        self, language: str, closes: Callable[[str], bool], *, quoted: bool = False, closed: bool = True
    ) -> None:
        """Read a block up to the line that closes it; that line is a part of the block where it is a mark."""
        self._end_paragraph()
        start = end = self.at + 1
        while end < len(self.lines) and not closes(self.lines[end]):
            end += 1
        block = self.lines[start:end]
        self.at = end + 1 if closed else end
        if block and block[0].startswith("#!") and "/" not in block[0]:
            language, block = block[0][2:].strip(), block[1:]
        self._sort_block(language, [QUOTE.sub("", line, count=1) for line in block] if quoted else block)

    def _indented(self, *, is_code: bool, session: bool = False) -> bool:
        """Read what is indented by four, or a session up to the next empty line; not a list's sentences."""
        end = self.at
        while end < len(self.lines):
            line = self.lines[end]
            if not line.strip():
                after = self.lines[end + 1] if end + 1 < len(self.lines) else ""
                if not (after.startswith("    ") or (session and after.startswith((">>>", "In [")))):
                    break
            elif not (session or line.startswith("    ")):
                break
            end += 1
        block = self.lines[self.at : end]
        if not (is_code or are_code(block) or are_log(block) or are_environment(block) or _has_trace(block)):
            self.sentences_until = end
            return False
        self._end_paragraph()
        self.at = end
        self._sort_block("literal" if is_code and not session else "", block)
        return True

    def _comment(self, line: str) -> bool:
        """Read `<!-- … -->`."""
        start = line.find("<!--")
        if start < 0 or self.at > self.last_comment_end:
            return False
        end = self.at
        while "-->" not in self.lines[end][start + 4 if end == self.at else 0 :]:
            end += 1
            if end > self.last_comment_end:
                return False
        text = "\n".join(self.lines[self.at : end + 1])
        close = text.index("-->", start + 4)
        self.lines[end] = text[:start] + text[close + 3 :]
        self.at = end
        return True

    def _heading(self, line: str, stripped: str) -> bool:
        """Read a heading, underlined or marked, and begin its section."""
        if stripped[0] in "#=*_<" and (found := HEADING.match(line[:MAX_LINE_CHARS])):
            text = next(group for group in found.groups() if group is not None)
        elif not stripped[0].isalnum() and UNDERLINE.match(line):
            self._end_paragraph()
            self.at += 1
            return True
        elif (
            len(stripped) < 100
            and not self.open
            and self.at + 1 < len(self.lines)
            and UNDERLINE.match(self.lines[self.at + 1])
        ):
            text = stripped
            self.at += 1
        else:
            return self._label(stripped)
        self._end_paragraph()
        self.at += 1
        self.section = section_of(text) or Section.DESCRIPTION
        if not is_label(text):
            self.open = [text]
            self._end_paragraph()
        return True

    def _label(self, stripped: str) -> bool:
        """Read `Expected: …`, `Steps to reproduce:` and the like; what follows is read as a line."""
        found = LABEL.match(stripped[:MAX_LINE_CHARS]) if ":" in stripped or "?" in stripped else None
        section = section_of(found[1]) if found else None
        if not found or not section or not is_label(found[1]):
            return False
        if section is Section.ENVIRONMENT and found[2]:
            return False
        self._end_paragraph()
        self.section = section
        self.lines[self.at] = stripped[found.start(2) :] if found[2] else ""
        return True

    def _sort(self, line: str, stripped: str) -> None:
        """Sort a line that is neither code nor trace nor heading."""
        if CHECKBOX.match(stripped):
            self._end_paragraph()
            self.printed.append(stripped)
            self.in_checklist = self.at
        elif len(stripped) < 100 and SIGNATURE.match(stripped):
            self._end_paragraph()
            if ": " not in stripped and len(self.lines) - self.at <= MAX_SIGNATURE:
                self.at = len(self.lines)
        elif is_environment(stripped):
            self._end_paragraph()
        elif is_log(stripped):
            self._end_paragraph()
            self.printed.append(stripped)
            self.traces.logged_in(stripped)
        elif self.in_checklist == self.at - 1 and line.startswith("  "):
            self.printed.append(stripped)
            self.in_checklist = self.at
        elif prompt := PROMPT.match(line[:MAX_LINE_CHARS]):
            self._end_paragraph()
            self.code.append(line[prompt.end() :])
        else:
            quote = QUOTE.match(line) if stripped[0] == ">" else None
            text = line[quote.end() :] if quote else line
            if item := LIST_ITEM.match(text):
                self._end_paragraph()
                text = text[item.end() :]
            self.open.append(text)

    def _end_paragraph(self) -> None:
        """Sort the lines of a paragraph that ends here into prose or noise."""
        text, self.open = "\n".join(self.open), []
        text = TAG.sub(" ", text) if "<" in text else text
        if "://" in text:
            self.links += [found[2] for found in URL.finditer(text)]
            text = URL.sub(lambda found: (found[1] or " ").strip("![]"), text)
        text = text.strip()
        if text.lower() == text.upper():  # no letters
            return
        short = len(text) < SHORT_CHARS
        if short and (
            ("`" not in text and is_polite(text)) or is_template(text) or (text[-1] != "." and is_label(text))
        ):
            return
        if short and self.section is Section.CHECKS:
            self.printed.append(text)
        elif not (short and self.section is Section.ENVIRONMENT):
            self.traces.message_in(text)
            self.prose.append(text)

    def _sort_block(self, language: str, block: list[str]) -> None:
        """Sort a block into traces, examples, sessions, tables of versions, logs and output."""
        rest, at = [], 0
        while at < len(block):
            used = self.traces.read(block, at, fenced=True)
            if not used:
                rest.append(block[at])
            at += used or 1
        self.traces.close()
        if not any(line.strip() for line in rest):
            return
        text = "\n".join(rest).strip("\n")
        if are_environment(rest):
            return
        if are_log(rest):
            for line in rest:
                self.traces.logged_in(line)
            self.printed.append(text)
        elif not self._session(language, rest):
            shown = language in _OUTPUT_LANGUAGES or (not language and self.section is Section.LOGS)
            if not shown and (language or are_code(rest)) and any(map(str.isalnum, text)):
                self.code.append(text)
            else:
                quoted = [line[found.end() :] for line in rest if (found := NUMBERED_CODE.match(line[:20]))]
                if quoted:
                    self.code.append("\n".join(quoted))
                self.printed.append(text)

    def _session(self, language: str, lines: list[str]) -> bool:
        """Split what was typed at a prompt from what was printed."""
        typed: list[str] = []
        printed: list[str] = []
        for line in lines:
            short = line[:MAX_LINE_CHARS]
            found = TYPED.match(short) or (PROMPT.match(short) if language in _SHELLS else None)
            (typed if found else printed).append(line[found.end() :] if found else line)
        if not typed:
            return False
        self.code.append("\n".join(typed))
        self.printed.append("\n".join(printed))
        return True


def _begins_trace(lines: list[str], at: int) -> bool:
    """Return whether a line is a frame, the head of a trace, or an error message that one follows."""
    probe = TraceReader()
    used = probe.read(lines, at)
    probe.close()
    if not used or probe.frames or not probe.errors:
        return used > 0
    after = next((later for later in range(at + used, len(lines)) if lines[later].strip()), None)
    return after is not None and probe.read(lines, after) > 0


def _holds(mark: str, line: str) -> bool:
    return mark in line


def _has_trace(lines: list[str]) -> bool:
    probe = TraceReader()
    return any(probe.read(lines, at) for at in range(min(3, len(lines))))

"""The interactive picker: type, see results, Enter opens one in the editor."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from findspot.core.errors import FindspotError
from findspot.core.model import Hit, Query, Results
from findspot.serve.cli import output
from findspot.serve.cli.listing import query_words, source_lines, with_passage
from findspot.serve.cli.terminal import ReadKeys, open_in_editor, reading_keys

if TYPE_CHECKING:
    from findspot.project import Project

LIMIT = 20
_LIST_SHARE = 0.4
_HELP = "type to search · ↑↓ choose · Enter opens · Esc leaves"
_ENTER_SCREEN, _LEAVE_SCREEN, _HOME, _CLEAR_LINE, _CLEAR_BELOW = (
    "\x1b[?1049h", "\x1b[?1049l", "\x1b[H", "\x1b[K", "\x1b[J",
)  # fmt: skip


@dataclass(slots=True)
class Picker:
    """The query, its results, and which of them is chosen."""

    search: Callable[[str], Results]
    query: str = ""
    hits: tuple[Hit, ...] = ()
    chosen: int = 0
    message: str = _HELP

    def press(self, key: str) -> bool:
        """Handle one key; returns whether the query changed."""
        before = self.query
        if key == "backspace":
            self.query = self.query[:-1]
        elif key == "clear":
            self.query = ""
        elif key == "word":
            self.query = self.query.rstrip().rpartition(" ")[0]
        elif len(key) == 1:
            self.query += key
        else:
            self._move(key)
        return self.query != before

    def _move(self, key: str) -> None:
        steps = {"up": -1, "down": 1, "page up": -10, "page down": 10, "home": -LIMIT, "end": LIMIT}
        self.chosen = max(0, min(len(self.hits) - 1, self.chosen + steps.get(key, 0)))

    def search_now(self) -> None:
        """Search for what is typed now."""
        self.chosen = 0
        if not self.query.strip():
            self.hits, self.message = (), _HELP
            return
        try:
            results = self.search(self.query)
        except FindspotError as error:
            self.hits, self.message = (), error.user_message
            return
        self.hits = results.hits
        about = f"{output.count(len(results.hits), 'result')} in {results.elapsed_ms:.0f} ms"
        self.message = results.warning or (about if results.hits else "No results. Try other words.")

    @property
    def hit(self) -> Hit | None:
        return self.hits[self.chosen] if self.hits else None

    def screen(self, columns: int, rows: int) -> list[str]:
        """Return the lines of the screen: the query, the results, the chosen one's text."""
        room = max(3, int((rows - 3) * _LIST_SHARE))
        first = max(0, min(self.chosen - room // 2, len(self.hits) - room))
        listed = [
            self._row(position, columns) for position in range(first, min(first + room, len(self.hits)))
        ]
        head = [
            f"❯ {output.clean(self.query)}"[:columns],
            output.paint(output.clean(self.message)[:columns], sys.stdout, dim=True),
        ]
        text = self._text(columns, rows - len(head) - len(listed) - 1)
        return [*head, *listed, "", *text][:rows]

    def _row(self, position: int, columns: int) -> str:
        hit = self.hits[position]
        what = hit.breadcrumb or ", ".join(hit.symbols[:2]) or hit.kind
        line = output.clean(f"{hit.strength:<6}  {hit.path}:{hit.focus or hit.span.start}  {what}")
        mark, style = ("▸ ", {"bold": True, "fg": "cyan"}) if position == self.chosen else ("  ", {})
        return mark + output.paint(line[: max(1, columns - 2)], sys.stdout, **style)

    def _text(self, columns: int, rows: int) -> list[str]:
        if self.hit is None or rows < 1:
            return []
        width = len(str(self.hit.span.end))
        lines = with_passage(self.hit, self.hit.text.split("\n"), max(1, columns - width - 2))
        focus = (self.hit.focus or self.hit.span.start) - self.hit.span.start
        start = max(0, min(focus - rows // 3, len(lines) - rows))
        shown = source_lines(lines[start : start + rows], query_words(self.query), columns - width - 2)
        return [
            output.paint(f"{self.hit.span.start + position:>{width}}", sys.stdout, dim=True) + "  " + line
            for position, line in enumerate(shown, start)
        ]


def pick(project: Project) -> None:
    """Run the picker over a project until a result is opened or the user leaves."""
    picker = Picker(lambda text: project.search(Query(text, limit=LIMIT)))
    with reading_keys() as read:
        click.echo(_ENTER_SCREEN, nl=False)
        try:
            hit = _choose(picker, read)
        finally:
            click.echo(_LEAVE_SCREEN, nl=False)
    if hit is not None:
        output.line(f"{hit.path}:{hit.focus or hit.span.start}")
        open_in_editor(project.roots / hit.path, hit.focus or hit.span.start)


def _choose(picker: Picker, read: ReadKeys) -> Hit | None:
    while True:
        _draw(picker)
        changed = False
        for key in read():
            if key == "leave":
                return None
            if key == "enter":
                if changed:
                    picker.search_now()
                    changed = False
                if picker.hit is not None:
                    return picker.hit
            else:
                changed |= picker.press(key)
        if changed:
            picker.search_now()


def _draw(picker: Picker) -> None:
    size = shutil.get_terminal_size()
    lines = [f"{line}{_CLEAR_LINE}" for line in picker.screen(size.columns, size.lines - 1)]
    cursor = f"\x1b[1;{min(size.columns, len(picker.query) + 3)}H"
    click.echo(_HOME + "\r\n".join(lines) + _CLEAR_BELOW + cursor, nl=False, color=True)
    sys.stdout.flush()

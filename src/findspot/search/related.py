"""What a reader of the best hits looks up next: the values of constants that they use, and who calls them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from findspot.core.facts import Relation
from findspot.core.model import CodeReference, Corpus, Hit, Span
from findspot.rank.roles import Role, role_of
from findspot.search.freshness import Disk
from findspot.store.records import StoredFile, SymbolPlace, last_name
from findspot.store.snapshot import Snapshot

HITS = 2
"""The hits whose constants are looked up: those that an answer shows with their code."""

MAX_CONSTANTS = 4
MAX_CALLERS = 3
MAX_FILES = 12
"""Files that are read for callers, at most: of a name that more files use, three callers say little."""

LINE_CHARS = 90

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]{2,}")
_SHOUTED = re.compile(r"_?[A-Z][A-Z0-9_]{2,}")
_CONSTANT = "constant"
_CALLED = frozenset({"function", "method"})


@dataclass(frozen=True, slots=True)
class Related:
    """Looks up what belongs to hits, in one snapshot; files that changed since then are left out."""

    snapshot: Snapshot
    disk: Disk

    def add(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits, the best with constants and callers."""
        first = [replace(hit, constants=self._constants(hit)) for hit in hits[:HITS]]
        if first:
            first[0] = replace(first[0], callers=self._callers(first[0]))
        return (*first, *hits[HITS:])

    def _constants(self, hit: Hit) -> tuple[CodeReference, ...]:
        file = self._unchanged(hit.path)
        if file is None or hit.overview:
            return ()
        used = list(dict.fromkeys(_IDENTIFIER.findall(_defining_text(hit))))
        symbols = self.snapshot.symbols
        own = {
            place.name: place
            for place in symbols.constants_of(file.id)
            if place.kind == _CONSTANT or _SHOUTED.fullmatch(place.name)
        }
        shouted = [name for name in used if _SHOUTED.fullmatch(name) and name not in own]
        found = own | {name: place for name in shouted if (place := self._only_definition(name))}
        references = (self._reference(found[name], hit) for name in used if name in found)
        return tuple(filter(None, references))[:MAX_CONSTANTS]

    def _only_definition(self, name: str) -> SymbolPlace | None:
        """Return where a constant of another file is defined, if there is one place only."""
        places = [p for p in self.snapshot.symbols.places(name.lower()) if p.name == name]
        return places[0] if len(places) == 1 else None

    def _reference(self, place: SymbolPlace, hit: Hit) -> CodeReference | None:
        """Return the line that defines a constant; None where the hit shows it."""
        stored = self.snapshot.files.by_id.get(place.file_id)
        if stored is None or self._unchanged(stored.path) is None:
            return None
        if stored.path == hit.path and hit.span.start <= place.line <= hit.span.end:
            return None
        text = self.snapshot.chunks.line(place.file_id, place.line)
        return CodeReference(stored.path, place.line, _clipped(text), place.name) if text else None

    def _callers(self, hit: Hit) -> tuple[CodeReference, ...]:
        """Return calls of what a hit defines, where its name is defined once: then they need no resolving."""
        if hit.kind not in _CALLED or not hit.breadcrumb or hit.definition is None:
            return ()
        name = last_name(hit.breadcrumb.rpartition(" > ")[2])
        naming = self.snapshot.facts.files_naming(name)
        if sum(defined for _, defined, _ in naming) != 1 or len(naming) > MAX_FILES:
            return ()
        files = [self.snapshot.files.by_id.get(number) for number, _, used in naming if used]
        ordered = sorted(
            filter(None, files), key=lambda f: (role_of(f.path) is not Role.SOURCE, f.path != hit.path)
        )
        calls: list[CodeReference] = []
        for file in ordered:
            calls += [call for call in self._calls(file, name) if not _inside(call, hit)]
            if len(calls) >= MAX_CALLERS:
                break
        return tuple(calls[:MAX_CALLERS])

    def _calls(self, file: StoredFile, name: str) -> Iterator[CodeReference]:
        facts = self.snapshot.facts.of_file(file.id) if self._unchanged(file.path) else None
        if facts is None:
            return
        relations, names, _, lines, _ = facts.columns
        for relation, called, line in zip(relations, names, lines, strict=True):
            if called == name and relation == Relation.CALL:
                text = self.snapshot.chunks.line(file.id, line)
                if text:
                    yield CodeReference(file.path, line, _clipped(text))

    def _unchanged(self, path: str) -> StoredFile | None:
        """Return a file of code that is as indexed."""
        file = self.snapshot.files.find(path)
        if file is None or file.corpus != Corpus.CODE or self.disk.lines_if_changed(file) is not None:
            return None
        return file


def _defining_text(hit: Hit) -> str:
    about = hit.definition or hit.span
    lines = hit.text.split("\n")[about.start - hit.span.start : about.end - hit.span.start + 1]
    return "\n".join(lines)


def _inside(call: CodeReference, hit: Hit) -> bool:
    about: Span = hit.definition or hit.span
    return call.path == hit.path and about.start <= call.line <= about.end


def _clipped(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= LINE_CHARS else text[: LINE_CHARS - 1] + "…"

"""What a reader of the best hits looks up next: constants, calls, and files that change with them."""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from findspot.core.errors import IndexCorruptError
from findspot.core.facts import Relation
from findspot.core.git import History
from findspot.core.model import CodeReference, Corpus, Hit, Strength
from findspot.core.utc_time import day_of
from findspot.history.commit_store import CommitStore
from findspot.rank.roles import Role, role_of
from findspot.search.freshness import Disk
from findspot.store.records import StoredFile, SymbolPlace, last_name
from findspot.store.snapshot import Snapshot
from findspot.text.snippet import cut

HITS = 2
"""The hits that are read on from: those that an answer shows with their code."""

MAX_CONSTANTS = 4
MAX_CALLERS = 3
MAX_CALLEES = 5
LINE_CHARS = 90

MOST_SUGGESTED = 3
FIRST_FILES = 3
"""The files, best first, whose companions are looked for."""

LEAST_TOGETHER = 5
LEAST_SHARE = 0.5
"""How often a file must have changed with one of them, and in which share of that one's commits."""

LARGE_COMMIT = 20
"""Files of a commit that says little about any two of them."""

_SUGGESTED_ROLES = frozenset({Role.SOURCE, Role.TEST, Role.DECLARATION})

_IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]{2,}")
_SHOUTED = re.compile(r"_?[A-Z][A-Z0-9_]{2,}")
_COMMENT_OR_STRING = re.compile(
    r"#[^\n]*|//[^\n]*|--\s[^\n]*|/\*.*?\*/|\"\"\".*?\"\"\""
    r"|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'",
    re.DOTALL,
)
_GOES_ON = ("{", "(", "[", "=", "\\")
_NO_RECEIVER = frozenset({""})
_OWN_RECEIVERS = frozenset({"", "self", "this", "cls"})
_BARE_METHODS = frozenset({"java", "kotlin", "csharp", "cpp", "swift", "ruby", "scala"})
"""Languages in which a method calls another one of its type by its name alone."""
_CONSTANT = "constant"
_CALLED = frozenset({"function", "method"})
_SURE = 0.8
_UNSURE = "  (not certain)"
"""The least confidence of a call that is shown as one, and what is said of others."""


@dataclass(frozen=True, slots=True)
class Related:
    """Looks up what belongs to hits, in one snapshot; files that changed since then are left out."""

    snapshot: Snapshot
    disk: Disk
    commits: CommitStore | None = None

    def add(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return the hits, the best with constants and calls, and the first with its last change.

        What a weak hit calls would take the room of other places.
        """
        first = [replace(hit, constants=self._constants(hit)) for hit in hits[:HITS]]
        for place, hit in enumerate(first):
            is_weak = hit.strength is Strength.WEAK
            callers = self._callers(hit) if place == 0 or not is_weak else ()
            first[place] = replace(hit, callers=callers, callees=() if is_weak else self._callees(hit))
        first[:1] = (replace(hit, last_change=self._last_change(hit)) for hit in first[:1])
        return (*first, *hits[HITS:])

    def _last_change(self, hit: Hit) -> str:
        """Return the last commit that changed what a hit defines, where its file defines the name once."""
        file = self._unchanged(hit.path) if self.commits and hit.definition else None
        if self.commits is None or file is None or not hit.breadcrumb:
            return ""
        name = last_name(hit.breadcrumb.rpartition(" > ")[2])
        if sum(place.file_id == file.id for place in self.snapshot.symbols.places(name.lower())) != 1:
            return ""
        commit = None
        with contextlib.suppress(IndexCorruptError):  # it is read again with the next question about history
            commit = self.commits.last_change(hit.path, name)
        return f"{day_of(commit.time)} {commit.hash[:9]} {_clipped(commit.subject)}" if commit else ""

    def _constants(self, hit: Hit) -> tuple[CodeReference, ...]:
        file = self._unchanged(hit.path)
        if file is None or hit.overview:
            return ()
        code = _COMMENT_OR_STRING.sub(" ", hit.text)
        used = list(dict.fromkeys(_IDENTIFIER.findall(code)))
        own = {
            place.name: place
            for place in self.snapshot.symbols.constants_of(file.id)
            if place.kind == _CONSTANT or _SHOUTED.fullmatch(place.name)
        }
        shouted = [name for name in used if _SHOUTED.fullmatch(name)]
        facts = self.snapshot.facts.of_file(file.id) if shouted else None
        imported = {item.original for item in facts.imports} if facts else set()
        elsewhere = (name for name in shouted if name in imported)
        found = {name: place for name in elsewhere if (place := self._only_definition(name, file))} | own
        references = (self._reference(found[name], hit) for name in used if name in found)
        return tuple(filter(None, references))[:MAX_CONSTANTS]

    def _only_definition(self, name: str, file: StoredFile) -> SymbolPlace | None:
        """Return where a constant that a file imports is defined, if there is one place only."""
        files = self.snapshot.files.by_id
        places = [
            place
            for place in self.snapshot.symbols.places(name.lower())
            if place.name == name
            and place.kind == _CONSTANT
            and (defining := files.get(place.file_id))
            and defining.language == file.language
        ]
        return places[0] if len(places) == 1 else None

    def _reference(self, place: SymbolPlace, hit: Hit) -> CodeReference | None:
        """Return the line that defines a constant; None where the hit shows it, or the line has no value."""
        stored = self.snapshot.files.by_id.get(place.file_id)
        if stored is None or self._unchanged(stored.path) is None:
            return None
        shown = hit.span
        if stored.path == hit.path and shown.start <= place.line <= shown.end:
            return None
        text = (self.snapshot.chunks.line(place.file_id, place.line) or "").strip()
        if not text or text.endswith(_GOES_ON):
            return None
        return CodeReference(stored.path, place.line, _clipped(text), place.name)

    def _callers(self, hit: Hit) -> tuple[CodeReference, ...]:
        """Return calls of what a hit defines, code before tests: the certain ones, and where those are
        in tests alone, others of the code.
        """
        from findspot.graph.stored_edges import StoredEdges  # a server starts without the graph

        if hit.kind not in _CALLED or not hit.symbol or hit.definition is None:
            return ()
        about = hit.definition
        calls = list(StoredEdges(self.snapshot).lines_to(f"{hit.path}#{hit.symbol}", Relation.CALL))
        places = sure = {(path, line) for path, line, confidence in calls if confidence >= _SURE}
        if sure and all(role_of(path) is Role.TEST for path, _ in sure):
            places = sure | {(path, line) for path, line, _ in calls if role_of(path) is not Role.TEST}
        shown = {(hit.path, line) for line in range(about.start, max(about.end, hit.span.end) + 1)}
        ordered = sorted(
            places - shown,
            key=lambda place: (role_of(place[0]) is not Role.SOURCE, place[0] != hit.path, place),
        )
        name = last_name(hit.symbol)
        calling = (self._call(*place, name, "" if place in sure else _UNSURE) for place in ordered)
        return tuple(islice(filter(None, calling), MAX_CALLERS))

    def _call(self, path: str, line: int, name: str, remark: str) -> CodeReference | None:
        """Return a line of a file that is as indexed, if it has a name: the graph may be behind."""
        file = self._unchanged(path)
        text = self.snapshot.chunks.line(file.id, line) if file else None
        return CodeReference(path, line, _clipped(text) + remark) if text and name in text else None

    def _callees(self, hit: Hit) -> tuple[CodeReference, ...]:
        """Return the functions that a hit calls and does not show, where that is certain without types.

        That is a method of its own type, a function of its file, or one that the file imports and that the
        project defines once. In Python `open()` is never a method of that name.
        """
        file = self._unchanged(hit.path) if hit.kind in _CALLED else None
        facts = self.snapshot.facts.of_file(file.id) if file else None
        about = hit.definition
        if file is None or facts is None or about is None:
            return ()
        inside = range(about.start, max(about.end, hit.span.end) + 1)
        definitions = facts.definitions
        mine = next((at for at, each in enumerate(definitions) if each.line in inside), None)
        if mine is None:
            return ()
        home, imported = definitions[mine].parent, {item.original for item in facts.imports}
        around = {-1, mine} | ({home} if file.language in _BARE_METHODS else set())
        relations, names, on, lines = facts.columns[:4]
        called = dict.fromkeys(
            (name, receiver in _NO_RECEIVER)
            for relation, name, receiver, line in zip(relations, names, on, lines, strict=True)
            if relation == Relation.CALL and line in inside and receiver in _OWN_RECEIVERS
        )
        found: list[CodeReference] = []
        for name, is_bare in called:
            homes = around if is_bare else {home} - {-1}
            own = [each for each in definitions if each.name == name and each.parent in homes]
            places = [(file.id, each.kind, each.line) for each in own]
            if is_bare and not own and name in imported:
                defined = self.snapshot.symbols.places(name.lower())
                places = [(each.file_id, each.kind, each.line) for each in defined if each.name == name]
            if (
                len(places) == 1
                and places[0][1] in _CALLED
                and (places[0][0] != file.id or places[0][2] not in inside)
            ):
                path = self.snapshot.files.path_of[places[0][0]]
                found.append(CodeReference(path, places[0][2], name, name))
        return tuple(found[:MAX_CALLEES])

    def _unchanged(self, path: str) -> StoredFile | None:
        """Return a file of code that is as indexed."""
        file = self.snapshot.files.find(path)
        if file is None or file.corpus != Corpus.CODE or self.disk.lines_if_changed(file) is not None:
            return None
        return file


def suggest_files(
    paths: Sequence[str], history: History, candidates: Collection[str]
) -> list[tuple[str, str]]:
    """Return the candidates that usually change with the first of these paths, each with the reason."""
    first, shown = list(dict.fromkeys(paths))[:FIRST_FILES], set(paths)
    suggested = (
        (path, reason)
        for path, reason in _changing_together(first, history)
        if path in candidates and path not in shown and role_of(path) in _SUGGESTED_ROLES
    )
    return list(islice(suggested, MOST_SUGGESTED))


def _changing_together(first: Sequence[str], history: History) -> Iterator[tuple[str, str]]:
    """Yield the paths that most commits of another one changed as well, the most regular first."""
    together: dict[str, Counter[str]] = {path: Counter() for path in first}
    for paths in history:
        if len(paths) <= LARGE_COMMIT:
            for path in together.keys() & set(paths):
                together[path].update(paths)
    clear = [
        (count / counts[path], count, other, path)
        for path, counts in together.items()
        for other, count in counts.items()
        if other != path and count >= LEAST_TOGETHER and count >= LEAST_SHARE * counts[path]
    ]
    seen: set[str] = set()
    for _, count, other, path in sorted(clear, key=lambda each: (-each[0], -each[1], each[2])):
        if other not in seen:
            seen.add(other)
            yield other, f"often changes with {path}: {count} of {together[path][path]} commits"


def _clipped(text: str) -> str:
    return cut(" ".join(text.split()), LINE_CHARS)

"""Places that may use a definition, though nothing says so for certain: each with the reason."""

from __future__ import annotations

import posixpath
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from findspot.core.facts import (
    ALIASED,
    DEFAULT,
    FIXTURE,
    RETURNED,
    WHOLE,
    ImportFact,
    ReferenceFact,
    Relation,
    dotted,
    importable_names,
    module_name,
    root_of,
    steps_of,
)
from findspot.graph.edges import Node, Unresolved
from findspot.graph.evaluate import is_property
from findspot.graph.incoming import Incoming
from findspot.graph.languages import language_of
from findspot.graph.outgoing import Doubt, Doubtful, Outgoing
from findspot.graph.resolve import COMMON_METHODS, EXTERNAL, UNKNOWN, Resolution, is_common
from findspot.graph.source_view import Def, SourceView, scopes_of
from findspot.graph.values import DISPATCHED, UNIQUE, What
from findspot.rank.roles import Role, reading_order, role_of

MOST_PLACES = 100
MOST_FILES = 500
"""Files that are looked through; a name that more files have is one of everyday use."""

_MOST_HOPS = 4
"""Variables that are followed from a receiver to the import it was made of."""

_MAKERS = frozenset({"__init__", "__new__", "constructor", "init", "initialize", "__construct"})
"""Names of constructors, which are called by the name of their type."""

_PLAIN = """
abstractmethod asynccontextmanager cache cached_property classmethod contextmanager dataclass deleter
deprecated final getter inline lru_cache must_use overload override property setter singledispatch
staticmethod total_ordering wraps Deprecated FunctionalInterface NonNull Nullable Override SafeVarargs
SuppressWarnings
"""
_PLAIN_DECORATORS = frozenset(_PLAIN.split())
"""Decorators that call nothing they are given other than as their language says."""
_CALLING = frozenset({Relation.CALL, Relation.VALUE, Relation.DECORATE})
_REASONS = {
    Doubt.RECEIVER: "the type of the receiver is unknown",
    Doubt.UNBOUND: "not defined or imported there",
    Doubt.EXTERNAL: "the receiver looks external",
    Doubt.GIVEN_UP: "too involved to follow",
}


@dataclass(frozen=True, slots=True)
class PossibleUse:
    """A place that may mean a definition."""

    source: Node
    path: str
    line: int
    reason: str
    confidence: float = 0.0
    """0 where only the name speaks for it."""

    @property
    def in_test(self) -> bool:
        return role_of(self.path) is Role.TEST


@dataclass(slots=True)
class PossibleUses:
    """The places that may mean a definition, and how many of the same name do not."""

    places: list[PossibleUse] = field(default_factory=list)
    elsewhere: int = 0
    """References of that name which lead to another definition, or out of the project."""
    complete: bool = True
    """Whether all files that have the name were looked through."""


class Doubts:
    """Finds the uses of definitions that are in doubt."""

    def __init__(self, incoming: Incoming) -> None:
        self._incoming = incoming
        self._outgoing = incoming.outgoing
        self._sources = incoming.sources

    def called_names(self, nodes: Sequence[Node]) -> list[str]:
        """Return the names by which definitions are called: that of its type for a constructor."""
        targets = (target for node in nodes for target in self._incoming.called(node))
        return sorted({target.name for target in targets if target.name not in _MAKERS})

    def is_read(self, nodes: Sequence[Node]) -> bool:
        """Return whether one of these definitions is called by reading it, which is not followed."""
        definitions = (self._incoming.definition(node) for node in nodes)
        return any(each is not None and not each.is_type and is_property(each) for each in definitions)

    def callers(self, nodes: Sequence[Node]) -> PossibleUses:
        """Return the places that may call one of these definitions and are no certain callers of any.

        Production code comes first.
        """
        targets = [target for node in nodes for target in self._incoming.called(node)]
        found = [*self._passed_on(targets), *self._through_bases(targets), *_handed_on(targets)]
        shown = _in_order([*found, *self._in_doubt(targets)])
        return PossibleUses(shown[:MOST_PLACES], complete=len(shown) <= MOST_PLACES)

    def _passed_on(self, targets: list[Def]) -> Iterator[PossibleUse]:
        for target in targets:
            for edge in self._incoming.to(target, Relation.VALUE):
                reason = "read as an attribute" if is_property(target) else "passed as a value"
                yield PossibleUse(edge.source, edge.path, edge.line, reason)

    def _through_bases(self, targets: list[Def]) -> Iterator[PossibleUse]:
        """Yield the calls of methods that the targets override, and where those are passed as values."""
        for target in targets:
            for base in self._outgoing.resolver.overridden(target):
                if base not in targets:
                    reason = f"through {base.qualified}, which it overrides"
                    for edge in self._incoming.to(base, Relation.CALL):
                        yield PossibleUse(edge.source, edge.path, edge.line, reason, DISPATCHED)
                    for edge in self._incoming.to(base, Relation.VALUE):
                        passed = f"passed as a value {reason}"
                        yield PossibleUse(edge.source, edge.path, edge.line, passed, DISPATCHED)

    def _in_doubt(self, targets: list[Def]) -> Iterator[PossibleUse]:
        """Yield the references of the same name that lead nowhere known.

        A name that many libraries have says nothing where the receiver looks external.
        """
        for name in sorted({target.name for target in targets if target.name not in _MAKERS}):
            families = {target.file.language.family for target in targets if target.name == name}
            for use in self._incoming.stored.doubtful(name):
                file = self._sources.files.find(use.source.path)
                language = language_of(file.language if file is not None else "")
                is_everyday = use.doubt is Doubt.EXTERNAL and is_common(language, name)
                is_everyday |= use.doubt is Doubt.UNBOUND and name in language.functions
                reason = self._reason(use, name, language.family, targets)
                if reason and language.family in families and not is_everyday:
                    yield PossibleUse(use.source, use.source.path, use.line, reason)

    def _reason(self, use: Doubtful, name: str, family: str, targets: list[Def]) -> str:
        """Return why a use may mean one of the targets; nothing where it can only mean others."""
        if use.doubt is not Doubt.SEVERAL:
            return _REASONS[use.doubt]
        in_test = role_of(use.source.path) is Role.TEST
        _, candidates = self._outgoing.resolver.methods(family, name, in_test)
        possible = any(candidate in targets for candidate in candidates)
        return f"one of {len(candidates)} definitions of that name" if possible else ""

    def named_references(self, nodes: Sequence[Node]) -> set[tuple[str, int]]:
        """Return where the graph knows a reference to the name of these definitions, whatever it leads to."""
        names = self.called_names(nodes)
        views = (view for name in names for view in self._sources.naming(name))
        return {
            (view.path, reference.line)
            for view in islice(views, MOST_FILES)
            for name in names
            for reference in view.references.to(name)
            if reference.relation in _CALLING and self._leads_somewhere(view, reference)
        }

    def _leads_somewhere(self, view: SourceView, reference: ReferenceFact) -> bool:
        is_call = reference.relation != Relation.VALUE or not reference.on
        return is_call or bool(self._outgoing.resolver.resolve(view, reference).targets)

    def importers(self, path: str) -> Iterator[PossibleUse]:
        """Yield the imports that name a file's module and lead to no file of the project."""
        stems = importable_names(path)
        target = self._sources.at(path)
        views = {view.id: view for stem in stems for view in self._sources.naming(stem)}
        for view in views.values():
            if target is None or view.language.family != target.language.family or view is target:
                continue
            for fact in view.facts.imports:
                first = fact.module.partition(".")[0]
                if target.language.family == "python" and first in sys.stdlib_module_names:
                    continue  # an absolute import, which means that module whatever a file is called
                named = module_name(fact.module) in stems or fact.original in stems
                if named and not self._outgoing.evaluator.modules.resolve(view, fact.module):
                    yield PossibleUse(view.node, view.path, fact.line, f"{fact.module} is not resolved")


def unresolved_use(view: SourceView, reference: ReferenceFact, resolution: Resolution) -> Unresolved:
    """Return a reference of a file that leads nowhere, or to the only definition of its name."""
    return Unresolved(
        view.node_at(reference.owner),
        reference.name,
        reference.on,
        Relation(reference.relation),
        view.path,
        reference.line,
        GUESSED if resolution.targets else resolution.reason,
        tuple(candidate.node for candidate in resolution.candidates),
    )


def _in_order(places: Iterable[PossibleUse]) -> list[PossibleUse]:
    return sorted(dict.fromkeys(places), key=lambda use: (reading_order(use.path), use.path, use.line))


def _handed_on(targets: list[Def]) -> Iterator[PossibleUse]:
    """Yield the decorators above the targets, which get them as values."""
    for target in targets if not any(target.is_type for target in targets) else ():
        for reference in target.file.references.inside(target.place):
            if reference.relation == Relation.DECORATE and reference.name not in _PLAIN_DECORATORS:
                decorator = ".".join(filter(None, (reference.on, reference.name)))
                place = target.file.node, target.file.path, reference.line
                yield PossibleUse(*place, f"handed to the decorator {decorator}")


_Made = tuple[SourceView, Def | None, str]
"""The expression that a name was assigned: its file, the definition around it, and its text."""


def _results(function: Def, steps: str) -> list[_Made]:
    returned = function.bindings.get(RETURNED, ())
    return [(function.file, function, value.removeprefix(":") + steps) for _, value in returned]


GUESSED = "guessed"
"""The reason of a reference that leads to the only definition of its name."""


@dataclass(frozen=True, slots=True)
class Leftover:
    """A use of a definition that is gone."""

    gone: Node
    use: Unresolved
    certain: bool
    """Whether it can mean nothing else; otherwise only the name speaks for it."""


class Leftovers:
    """Finds the uses of definitions that are gone."""

    def __init__(self, outgoing: Outgoing) -> None:
        self._outgoing = outgoing
        self._sources = outgoing.sources

    def of(self, gone: Node) -> list[Leftover]:
        """Return the uses of a definition that its file does not have any more, certain ones first."""
        sources = self._sources
        importing = sources.naming(module_name(f"/{gone.path}")) if sources.at(gone.path) is None else ()
        views = dict.fromkeys((*sources.naming(gone.name), *importing))
        found = [left for view in views for left in self._in_file(view, gone)]
        return sorted(found, key=lambda left: (not left.certain, left.use.path, left.use.line))

    def _in_file(self, view: SourceView, gone: Node) -> Iterator[Leftover]:
        broken = [fact for fact in view.facts.imports if self._is_broken(view, fact, gone)]
        for fact in broken:
            name = fact.local if fact.original == DEFAULT else gone.name
            use = Unresolved(view.node, name, "", Relation.IMPORT, view.path, fact.line, UNKNOWN)
            yield Leftover(gone, use, certain=True)
        visible = bool(broken) or self._is_visible(view, gone)
        for name in {gone.name, *(fact.local for fact in broken)}:
            for use, reference in self._unresolved(view, name):
                certain = self._means(view, reference, gone) if use.receiver else visible
                unknown = use.reason not in (EXTERNAL, GUESSED) and name not in COMMON_METHODS
                if certain or (use.receiver and unknown):
                    yield Leftover(gone, use, certain)

    def outside_uses(self, name: str) -> list[Unresolved]:
        """Return the uses of a name that another project defines, given in full: `package.function`."""

        def is_of(use: Unresolved) -> bool:
            module, names = self.import_of(use) or ("", [])
            return ".".join((module, *(each for each in names if each != DEFAULT))) == name

        last = name.rpartition(".")[2]
        return [use for use in self.leading_out(last) if is_of(use)] if last != name else []

    def leading_out(self, name: str) -> Iterator[Unresolved]:
        """Yield the uses of a name that lead to no definition of the project."""
        return (use for view in self._sources.naming(name) for use, _ in self._unresolved(view, name))

    def import_of(self, use: Unresolved) -> tuple[str, list[str]] | None:
        """Return the module that a use takes a chain of names from, by variables and bases too."""
        return next(self.imports_of(use), None)

    def imports_of(self, use: Unresolved) -> Iterator[tuple[str, list[str]]]:
        """Yield the modules that a use may take a chain of names from, each with the names."""
        view = self._sources.at(use.path)
        if view is None:
            return
        owner = view.by_id.get(use.source.id)
        chain = ".".join(filter(None, (use.receiver, use.name)))
        begun = [*self._imported(view, owner, chain), *self._inherited(view, owner, use)]
        for fact, steps in begun:
            names = [name for name in steps.split(".") if name]
            if fact.original == WHOLE and fact.module.startswith(f"{fact.local}."):  # `import a.b` binds `a`
                yield fact.local, names
            elif fact.original in ("", WHOLE):
                yield fact.module, names
            else:
                yield fact.module, f"{fact.original}{steps}".split(".")

    def _inherited(
        self, view: SourceView, owner: Def | None, use: Unresolved
    ) -> Iterator[tuple[ImportFact, str]]:
        """Yield the imports of the bases that a use of a member may mean, and the steps from there."""
        evaluator = self._outgoing.evaluator
        values = evaluator.value_of(use.receiver, view, owner) if use.receiver else ()
        for held in (value.of for value in values if isinstance(value.of, Def) and value.of.is_type):
            for each in (held, *evaluator.types.ancestors(held)):
                for base in each.file.references.inherited_by(each.place):
                    written = ".".join(filter(None, (base.on, base.name, use.name)))
                    yield from self._imported(each.file, each.parent, written)

    def _imported(
        self, view: SourceView, owner: Def | None, chain: str, hops: int = 0
    ) -> Iterator[tuple[ImportFact, str]]:
        """Yield the imports that a chain of names begins with, and the steps from there.

        Variables, attributes of `self`, aliases and calls are followed to the expression behind them.
        """
        root, around = root_of(chain), scopes_of(owner)
        made = self._returned(view, owner, chain)
        if root in view.imports and not made and not any(root in each.bindings for each in around):
            yield from ((fact, chain[len(root) :]) for fact in view.imports[root])
            return
        made += self._bound(view, owner, root, chain[len(root) :])
        for home, place, written in made if hops < _MOST_HOPS else ():
            if written[:1].isidentifier():
                yield from self._imported(home, place, written, hops + 1)

    def _returned(self, view: SourceView, owner: Def | None, chain: str) -> list[_Made]:
        """Return what the first call of a chain returns, where that is a function of the project."""
        callee, is_call, steps = chain.partition(RETURNED)
        values = self._outgoing.evaluator.value_of(callee, view, owner) if is_call else ()
        called = (value.of for value in values if isinstance(value.of, Def) and not value.of.is_type)
        return [each for function in called for each in _results(function, steps)]

    def _bound(self, view: SourceView, owner: Def | None, root: str, steps: str) -> list[_Made]:
        """Return what a name was made of: a variable, an attribute of `self`, an alias or a fixture."""
        around = scopes_of(owner)
        if root in view.language.self_names and (rest := steps_of(steps)[1:]):
            root, steps = steps_of(steps)[0][1:], "".join(rest)
            scopes = [scope.bindings for scope in around if scope.is_type][:1]
        else:
            scopes = [*(scope.bindings for scope in around if not scope.is_type), view.bindings]
        bound = next((scope[root] for scope in scopes if root in scope), [])
        bound = bound or [each for top in view.tops.get(root, ()) for each in top.bindings.get(ALIASED, ())]
        find = self._outgoing.evaluator.fixtures.find
        fixtures = filter(None, (find(value[1:], view, owner) for _, value in bound if value[:1] == FIXTURE))
        given = [made for each in fixtures if isinstance(each.of, Def) for made in _results(each.of, steps)]
        return [(view, view.owner(place), value.removeprefix(":") + steps) for place, value in bound] + given

    def _is_broken(self, view: SourceView, fact: ImportFact, gone: Node) -> bool:
        """Return whether an import asks a file for a definition that it does not have any more."""
        evaluator, home = self._outgoing.evaluator, self._sources.at(gone.path)
        asks_for_all = fact.original == DEFAULT and home is None
        if not (asks_for_all or fact.original == gone.name) or "." in gone.qualified:
            return False
        if view.language.imports_packages:
            same = home is not None and dotted(fact.module) == dotted(home.package)
            return same and not evaluator.packages.named(fact, view)
        if not evaluator.modules.resolve(view, fact.module):
            return _names_file(fact.module, gone.path)
        return fact.original == gone.name and not evaluator.definers(fact, view)

    def _asks_lost_file(self, view: SourceView, receiver: str, path: str) -> bool:
        """Return whether a receiver is imported from a file that is gone, or from its package."""
        asked = (path, posixpath.dirname(path)) if view.language.folders_are_packages else (path,)
        facts = view.imports.get(root_of(receiver), ())
        lost = [f for f in facts if not self._outgoing.evaluator.modules.resolve(view, f.module)]
        return any(_names_file(fact.module, place) for fact in lost for place in asked)

    def _is_visible(self, view: SourceView, gone: Node) -> bool:
        """Return whether a file could name a definition that is gone without an import."""
        if "." in gone.qualified:
            return False
        if view.path == gone.path:
            return True
        home, shares = self._sources.at(gone.path), view.language.shares
        same_folder = posixpath.dirname(view.path) == posixpath.dirname(gone.path)
        if shares == "package" and home is not None:
            return home.package == view.package
        return shares in ("folder", "package") and same_folder

    def _unresolved(self, view: SourceView, name: str) -> Iterator[tuple[Unresolved, ReferenceFact]]:
        """Yield the references to a name that lead nowhere, or by the name alone."""
        for reference in view.references.to(name):
            resolution = self._outgoing.resolver.resolve(view, reference)
            if all(confidence <= UNIQUE for _, confidence in resolution.targets):
                yield unresolved_use(view, reference, resolution), reference

    def _means(self, view: SourceView, reference: ReferenceFact, gone: Node) -> bool:
        """Return whether what a reference is asked of is what had the definition."""
        if self._sources.at(gone.path) is None and self._asks_lost_file(view, reference.on, gone.path):
            return True
        evaluator = self._outgoing.evaluator
        holder = gone.id.rpartition("~")[0] or gone.id
        holder = holder.removesuffix(f".{gone.name}") if "." in gone.qualified else gone.path
        meant: list[object] = []
        for value in evaluator.value_of(reference.on, view, view.owner(reference.owner)):
            if isinstance(value.of, Def):
                types = evaluator.types.ancestors(value.of) if value.of.is_type else []
                meant += [each.id_of_node for each in (value.of, *types)]
            elif isinstance(value.of, SourceView):
                meant.append(value.of.path)
            elif value.what is What.PACKAGE and value.of == posixpath.dirname(holder):
                return True
        return holder in meant


def _names_file(module: str, path: str) -> bool:
    """Return whether a module's name ends as the path of a file does, which is not there any more."""
    stem = posixpath.splitext(path)[0].removesuffix("/__init__").removesuffix("/index").removesuffix("/mod")
    parts = [part for part in re.split(r"[./\\:]+", re.sub(r"\.[cm]?[jt]sx?$", "", module)) if part]
    return bool(parts) and stem.split("/")[-len(parts) :] == parts

"""Several projects that are asked as one: the repositories in a folder, or the folders of a client."""

from __future__ import annotations

import contextlib
import contextvars
import fnmatch
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, TypeGuard, TypeVar

from findspot.core.errors import (
    CancelledError,
    FileLimitError,
    FileNotIndexedError,
    FindspotError,
    IndexNotFoundError,
    SeveralProjectsError,
)
from findspot.core.git import run_git
from findspot.core.locks import HomeFile
from findspot.core.model import (
    NO_ASSISTANCE,
    Assistance,
    Hit,
    IndexReport,
    IndexState,
    IndexStatus,
    Mode,
    Progress,
    Query,
    Results,
    Skip,
    SkipReason,
    Strength,
)
from findspot.core.paths import SCHEME, Roots, expanded, inside_of, stat_of
from findspot.core.progress import CancelToken, ProgressSink, ignore_progress
from findspot.core.settings import Settings
from findspot.dependencies.package import Dependency, normalised
from findspot.dependencies.package_modules import provided_by
from findspot.graph import Graph, Node, Relation, Unresolved
from findspot.graph.values import IMPORTED
from findspot.project import Project
from findspot.rank.roles import Role, reading_order, role_of
from findspot.research.changes import parse_diff
from findspot.research.findings import Aim, Context, Findings, Focus, FoundEdge, FoundNode, Inquiry
from findspot.research.task_signals import WORKTREE, Request, diff_of
from findspot.search.merging import MOST_ASKED, Fit, first_page, may_answer, merge
from findspot.store.snapshot import Snapshot
from findspot.text.snippet import listed

if TYPE_CHECKING:
    from findspot.llm import Sample

T = TypeVar("T")
_THREADS = 4
"""Members that are asked at a time: more only wait for each other."""
_FEW = 5
_FILE = "workspaces.json"


@dataclass(frozen=True)
class Workspace:
    """Projects by their names. Asked from inside a member (`here`), that one answers."""

    folder: Path
    members: Mapping[str, Path]
    open: Callable[[Path], Project]
    own_settings: Callable[[], Settings]
    here: str | None = None
    is_part: bool = False
    """Whether the workspace has more members than these."""

    @property
    def root(self) -> Path:
        """What a question was about: the only project that is asked, else the folder of all."""
        first, *others = self._asked.values()
        return self.folder if others else first

    @property
    def roots(self) -> Roots:
        """Where the paths of answers are on disk."""
        return self.only().roots if self.here else Roots(self.folder, tuple(self.members.items()))

    @property
    def settings(self) -> Settings:
        """The configuration that shapes answers."""
        return self.only().settings if self.here else self.own_settings()

    def only(self) -> Project:
        """Return the one project that is meant, for what can be asked of one alone."""
        if len(self._asked) == 1:
            return self.open(self.root)
        raise SeveralProjectsError(str(self.folder), _listed(self.members))

    def limited(self, allowed: Callable[[Path], bool]) -> Workspace | None:
        """Return the part of it that somebody may ask; None where that is nothing."""
        members = {name: root for name, root in self.members.items() if allowed(root)}
        here = self.here if self.here in members else None
        return replace(self, members=members, here=here, is_part=True) if members else None

    def chosen(self, wanted: str) -> Workspace | None:
        """Return the members that a name or a glob of names means; None where it means none."""
        names = [name for name in self.members if wanted in (name, name.rpartition("/")[2])] or [
            name for name in self.members if fnmatch.fnmatch(name.lower(), wanted.lower())
        ]
        members = {name: self.members[name] for name in names}
        return replace(self, members=members, here=None, is_part=True) if names else None

    def around(self, folder: Path) -> Workspace | None:
        """Return the member that a folder lies in, alone; None where it lies in none."""
        held = (name for name, root in self.members.items() if folder.is_relative_to(root))
        return None if self.here or (name := next(held, None)) is None else self.chosen(name)

    @property
    def indexed(self) -> bool:
        """Whether a question would be answered by any member."""
        return any(self.open(root).store.exists for root in self._asked.values())

    def check(self) -> None:
        self.ask(lambda _, project: project.check())

    @property
    def _asked(self) -> Mapping[str, Path]:
        return {self.here: self.members[self.here]} if self.here else self.members

    def ask(self, work: Callable[[str, Project], T]) -> tuple[dict[str, T], str | None]:
        """Put a question to whom it is for; returns the answers by member, and who could not answer and why.

        Where none answers, the reason of the first is raised. Published indexes are asked at once, those on
        this machine in turn: threads would be in each other's way.
        """

        def attempt(name: str) -> T | FindspotError:
            try:
                return work(name, self.open(self.members[name]))
            except CancelledError:
                raise
            except FindspotError as error:
                return error

        def waits(name: str) -> bool:
            with contextlib.suppress(FindspotError):
                return self.open(self.members[name]).index.shared is not None
            return False

        with ThreadPoolExecutor(_THREADS, "members") as pool:
            elsewhere = filter(waits, self._asked)
            begun = {n: pool.submit(contextvars.copy_context().run, attempt, n) for n in elsewhere}
            outcomes = {n: begun[n].result() if n in begun else attempt(n) for n in self._asked}
        answers = {name: each for name, each in outcomes.items() if not isinstance(each, FindspotError)}
        failed = {name: each for name, each in outcomes.items() if isinstance(each, FindspotError)}
        if not answers:
            first = next(iter(failed.values()))
            if isinstance(first, IndexNotFoundError) and len(failed) > 1:
                raise IndexNotFoundError(str(self.folder), f"any of {_listed(self.members)}")
            raise first
        return answers, _left_out(failed)

    def search(
        self, query: Query, wanted: Assistance = NO_ASSISTANCE, client: Sample | None = None
    ) -> Results:
        """Answer a query from all members, the best hits first, or from the one that one is in."""
        if self.here:
            results = self.only().search(query, wanted, client)
            return replace(results, warning=_joined(results.warning, self._elsewhere(query, results)))
        alike = [name for name in self.members if inside_of(name, query.similar_to or "")]
        asked = replace(self, members={name: self.members[name] for name in alike}) if alike else self
        answers, fits, left_out = asked._answers(first_page(query))
        notes = [f"{name}: {each.warning}" for name, each in answers.items() if each.warning and each.hits]
        warnings = [left_out, *notes[:_FEW]]
        results = merge(query, list(answers.values()), warnings, fits)
        if not wanted or not results.hits:
            return results
        name = str(results.hits[0].project)
        helped = _outside(name, self.open(self.members[name]).search(_inside(name, query), wanted, client))
        return replace(results, expansion=helped.expansion, synthesis=helped.synthesis)

    def _answers(self, query: Query) -> tuple[dict[str, Results], list[Fit], str | None]:
        """Return the answers of the members that the best hits can come from, what a first look said of
        these and then of the others, and who could not answer.

        Of many members the look chooses; for what is looked up everywhere, all are asked.
        """
        asked, fits, left_out = self, dict[str, Fit](), None
        if query.mode is not Mode.REGEX and query.dependency is None:
            fits, left_out = self.ask(lambda name, project: _fit(project, _inside(name, query)))
            chosen = may_answer(fits) if len(fits) > MOST_ASKED else fits
            asked = replace(self, members={name: self.members[name] for name in chosen})
        answers, failed = asked.ask(
            lambda name, project: _outside(name, project.search(_inside(name, query)))
        )
        others = [name for name in fits if name not in answers]
        return answers, [fits[name] for name in (*answers, *others) if fits], _joined(left_out, failed)

    def research(
        self,
        inquiry: Inquiry,
        *,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> Findings:
        """Follow the code from a question, in the members that define what it is about."""
        run = partial(Project.research, progress=progress, cancel=cancel)
        name, inside, note = (self.here, inquiry, None) if self.here else self._about(inquiry)
        findings = run(self.open(self.members[name]), inside)
        shown = findings if self.here else findings_outside(name, findings)
        shown = replace(shown, warning=_joined(findings.warning, note))
        if inquiry.relation not in _ACROSS or findings.unknown:
            return shown
        with self._side(name, "" if self.here else f"{name}/") as here:
            followed = [here.graph.node(node.id) for node in findings.nodes if not node.hop]
            starts = list(filter(None, followed)) or here.graph.find(inside.symbol)
            for other in sorted(self.members.keys() - {name}):
                with contextlib.suppress(FindspotError), self._side(other, f"{other}/") as there:
                    shown = _with_other(shown, inquiry, starts, here, there)
        return shown

    @contextlib.contextmanager
    def _side(self, name: str, prefix: str) -> Iterator[_Side]:
        project = self.open(self.members[name])
        with project.reader() as reader:
            yield _Side(name, prefix, project, reader.snapshot)

    def context(self, request: Request, cancel: CancelToken | None = None) -> Context:
        """Return what is needed next for a signal, from the member that it lies in, else that fits best."""
        if self.here:
            return self.only().context(request, cancel)
        name, inside, note = self._task(request)
        found = self.open(self.members[name]).context(inside, cancel)
        return replace(_context_outside(name, found), warning=_joined(found.warning, note))

    def holding(self, path: str) -> tuple[str, str] | None:
        """Return the member that a path leads into and the path inside it; None where that is unclear.

        A path begins with the member's name or is absolute, or it is that of a file in one member alone.
        """
        given = path.removeprefix("./")
        if expanded(given).is_absolute():
            given = self.roots.spelled(Path(os.path.normpath(expanded(given)))) or ""
        named = [(name, inside) for name in self.members if (inside := inside_of(name, given))]
        places = [*named, *((member, given) for member in self.members)]
        stats = {each: stat_of(self.members[each[0]] / each[1].partition(":")[0]) for each in places}
        there = [each for each, found in stats.items() if found and ("/" in given or S_ISREG(found.st_mode))]
        if there and (len(there) == 1 or there[:1] == named):
            return there[0]
        return named[0] if named else None

    def _task(self, request: Request) -> tuple[str, Request, str | None]:
        """Return the member that a request is put to, the request as that one understands it, and a note."""
        if diff := diff_of(request):
            name, inside = self._changed(diff)
            inner = replace(request, diff=inside) if request.diff.strip() else replace(request, signal=inside)
            return name, inner, None
        if request.path:
            if (held := self.holding(request.path)) is None:
                raise FileNotIndexedError(request.path)
            return held[0], replace(request, path=held[1]), None
        words = request.signal.split()
        if len(words) == 1 and (held := self.holding(words[0])):
            return held[0], replace(request, signal=held[1]), None
        name, note = self._fitting(request.signal)
        return name, request, note

    def _changed(self, diff: str) -> tuple[str, str]:
        """Return the only member that a diff changes (of `worktree`: with changes), and the diff in it."""
        if diff == WORKTREE:
            changed = {name for name, root in self.members.items() if run_git(root, "status", "--porcelain")}
        else:
            held = {path: at for file in parse_diff(diff) if (at := self.holding(path := file.path))}
            changed = {name for name, _ in held.values()}
            for path, (_, inside) in held.items():
                head = rf"(?m)^((?:---|\+\+\+) (?:[ab]/)?){re.escape(path)}$"
                diff = re.sub(head, "\\g<1>" + inside.replace("\\", "\\\\"), diff)
        name, *others = sorted(changed or self.members)
        if others:
            raise SeveralProjectsError(str(self.folder), _listed([name, *others]))
        return name, diff

    def _about(self, inquiry: Inquiry) -> tuple[str, Inquiry, str | None]:
        """Return the member that a question is about, the question as that one understands it, and a note."""
        symbol = inquiry.symbol
        if symbol and (held := self.holding(symbol)):
            return held[0], replace(inquiry, symbol=held[1]), None
        if symbol:
            answers, _ = self.ask(lambda _, project: _defines(project, symbol))
            if defining := [name for name, defines in answers.items() if defines]:
                also = f"{_listed(defining[1:])} define that name too: ask them by name."
                return defining[0], inquiry, also if defining[1:] else None
        elif inquiry.relation is not None:
            return self._changed(inquiry.since or WORKTREE)[0], inquiry, None
        name, note = self._fitting(symbol or inquiry.question)
        if inquiry.focus is Focus.ARCHITECTURE and len(self.members) > 1:
            others = _listed(self.members.keys() - {name})
            note = f"This is about '{name}' alone. Ask others by name: {others}."
        return name, inquiry, note

    def _fitting(self, text: str) -> tuple[str, str | None]:
        """Return the member that fits a text best, and a note that says so and which others fit too."""
        if len(self.members) == 1:
            return next(iter(self.members)), None
        answers, _, left_out = self._answers(Query(text, limit=1))
        found = {name: each.hits[0] for name, each in answers.items() if each.hits}
        fits = sorted(found, key=lambda name: (answers[name].nothing_fits, -found[name].score))
        name = fits[0] if fits else next(iter(answers))
        also = _listed(each for each in fits[1:] if found[each].strength is not Strength.WEAK)
        return name, _joined(f"This is from '{name}'.", also and f"{also} may fit too.", left_out)

    def _elsewhere(self, query: Query, results: Results) -> str | None:
        """Return which member fits better than the one that was asked; None where that one fits well."""
        others = {name: root for name, root in self.members.items() if name != self.here}
        is_answered = any(hit.strength is Strength.STRONG or hit.lines for hit in results.hits[:1])
        if not others or is_answered or query.offset or query.similar_to or query.dependency:
            return None
        asked = replace(query, limit=1, under=None, path_filter=None, related=False)
        best: Sequence[Hit] = ()
        with contextlib.suppress(FindspotError):  # the answer itself is there
            best = replace(self, members=others, here=None).search(asked).hits
        if not best or best[0].strength is not Strength.STRONG:
            return None
        place = f"{best[0].path}:{best[0].focus or best[0].span.start}"
        return (
            f"In this workspace, '{best[0].project}' fits better ({place}): "
            f"ask the project '{best[0].project}', or '*' for all."
        )

    def update(
        self,
        *,
        force: bool = False,
        allow_large: bool = False,
        progress: ProgressSink = ignore_progress,
        cancel: CancelToken | None = None,
    ) -> IndexReport:
        reports: list[IndexReport] = []
        failed: list[tuple[str, FindspotError]] = []
        for number, (name, root) in enumerate(self._asked.items(), 1):
            label = f"{name} ({number} of {len(self._asked)})"
            project = self.open(root)

            def labelled(done: Progress, label: str = label) -> None:
                progress(replace(done, phase=f"{done.phase} {label}"))

            try:
                reports.append(
                    project.update(force=force, allow_large=allow_large, progress=labelled, cancel=cancel)
                )
            except (CancelledError, FileLimitError):
                raise
            except FindspotError as error:
                failed.append((name, error))
            project.index.workers.close()
        if not reports:
            raise failed[0][1]
        missed = tuple(Skip(n, SkipReason.UNREADABLE, error.with_hint()) for n, error in failed)
        return _summed(str(self.root), reports, missed)

    def status(self, *, check_disk: bool = True) -> IndexStatus:
        """Return the figures of all members together; it is ready when all are."""
        if len(self._asked) == 1:
            return self.only().status(check_disk=check_disk)
        return _together(str(self.folder), self.statuses(check_disk=check_disk))

    def statuses(self, *, check_disk: bool = True) -> dict[str, IndexStatus]:
        return self.ask(lambda _, project: project.status(check_disk=check_disk))[0]


Asked = Project | Workspace
"""What a question may be put to."""


def projects_of(asked: Asked) -> dict[str, Project]:
    """Return the projects that a question is put to, by what their paths begin with in the answer."""
    if not is_workspace(asked):
        return {"": asked.only()}
    return {f"{name}/": asked.open(root) for name, root in asked.members.items()}


def project_of(asked: Asked, path: str) -> tuple[Project, str]:
    """Return the project that a path leads into, and the path inside it."""
    if not is_workspace(asked):
        return asked.only(), path
    if (held := asked.holding(path)) is None:
        raise FileNotIndexedError(path)
    return asked.open(asked.members[held[0]]), held[1]


def is_workspace(asked: Asked) -> TypeGuard[Workspace]:
    """Return whether several projects are asked: not from inside of one of them."""
    return isinstance(asked, Workspace) and asked.here is None


class KnownWorkspaces(HomeFile):
    """The workspaces that the user had indexed, with their members: so a member knows the others."""

    def __init__(self, home: Path) -> None:
        super().__init__(home / _FILE, lambda known: {str(f): list(map(str, ms)) for f, ms in known.items()})

    def __contains__(self, folder: Path) -> bool:
        return str(folder) in self.read()

    def note(self, workspace: Workspace) -> None:
        """Remember a workspace, unless it is a part of one; those whose folder is gone are forgotten."""
        members = sorted(map(str, workspace.members.values()))
        if workspace.is_part or self.read().get(str(workspace.folder)) == members:
            return
        with self.changing() as known:
            for gone in [each for each in known if not Path(each).is_dir()]:
                del known[gone]
            known[str(workspace.folder)] = members

    def around(self, root: Path) -> Path | None:
        """Return the folder of the workspace that a project is a member of; the nearest of several."""
        holding = [Path(folder) for folder, members in self.read().items() if str(root) in members]
        return max(holding, key=lambda folder: (root.is_relative_to(folder), len(folder.parts)), default=None)


def _listed(names: Iterable[str]) -> str:
    return listed(sorted(names), _FEW)


def _left_out(failed: Mapping[str, FindspotError]) -> str | None:
    missing = [name for name, error in failed.items() if type(error) is IndexNotFoundError]
    said = [f"Not indexed, and not asked: {_listed(missing)}."] if missing else []
    others = {name: error for name, error in failed.items() if name not in missing}
    for name in sorted(others)[:_FEW]:
        said.append(f"{name} could not answer: {others[name].statement}")
    if (more := len(others) - _FEW) > 0:
        said.append(f"{more} more could not answer.")
    return " ".join(said) or None


def _joined(*texts: str | None) -> str | None:
    return " ".join(filter(None, texts)) or None


def _fit(project: Project, query: Query) -> Fit:
    with project.reader() as reader:
        return reader.fit(query)


def _inside(name: str, query: Query) -> Query:
    """Return a query as a member understands it: a path that begins with its name is one of it."""
    return replace(
        query,
        similar_to=query.similar_to and query.similar_to.removeprefix(f"{name}/"),
        path_filter=query.path_filter and inner_glob(name, query.path_filter),
        exclude=query.exclude and inner_glob(name, query.exclude),
    )


def inner_glob(name: str, pattern: str) -> str:
    """Return a glob for the paths of a member; one that names members by its first part loses that part."""
    parts, depth = pattern.removeprefix("./").split("/"), name.count("/") + 1
    first, rest = "/".join(parts[:depth]), "/".join(parts[depth:])
    names_member = rest and "**" not in first and fnmatch.fnmatchcase(name, first)
    return f"{{{pattern},{rest}}}" if names_member else pattern


def _prefixed(name: str, places: Sequence[Any], *ids: str) -> tuple[Any, ...]:
    """Return places with the name of a member before their paths, and before ids that begin with a path."""
    changes = ({field: f"{name}/{getattr(each, field)}" for field in ("path", *ids)} for each in places)
    return tuple(replace(each, **changed) for each, changed in zip(places, changes, strict=True))


def _outside(name: str, results: Results) -> Results:
    """Return results as the workspace shows them: paths begin with the member's name."""

    def outside(hit: Hit) -> Hit:
        path = hit.path if hit.path.startswith(SCHEME) else f"{name}/{hit.path}"
        constants, callers = _prefixed(name, hit.constants), _prefixed(name, hit.callers)
        callees = _prefixed(name, hit.callees)
        return replace(hit, path=path, project=name, constants=constants, callers=callers, callees=callees)

    hits, said = tuple(map(outside, results.hits)), results.synthesis
    said = said and replace(said, code_references=_prefixed(name, said.code_references))
    return replace(results, hits=hits, synthesis=said)


def _defines(project: Project, name: str) -> bool:
    with project.reader() as reader:
        return any(
            ":" in name or node.name == re.split(r"[.#/]+", name)[-1]
            for node in Graph(reader.snapshot).find(name)
        )


_CALLING = frozenset({Relation.CALL, Relation.DECORATE})
_ACROSS = {
    Aim.CALLERS: _CALLING,
    Aim.CALLEES: _CALLING,
    Aim.USES: frozenset(Relation),
    Aim.IMPACT: frozenset(Relation),
    Aim.TESTS: frozenset(Relation),
}
"""The relations that are followed into other members, by the references that count."""


class _Side:
    """A member whose code uses that of another, or is used by it."""

    def __init__(self, name: str, prefix: str, project: Project, snapshot: Snapshot) -> None:
        self.name = name
        self.prefix = prefix
        """What its paths begin with in the answer."""
        self.project = project
        self.snapshot = snapshot
        self.graph = Graph(snapshot)
        self.package = cache(partial(provided_by, project.root, snapshot))
        """The package that the member is, for imports of a language."""

    def taken(self, use: Unresolved, provider: _Side) -> Iterator[Node]:
        """Yield what a use in this member may take from the package that another one is."""
        file = self.snapshot.files.find(use.path)
        package = provider.package(file.language) if file else None
        if package is None:
            return
        taken = self.graph.leftovers.imports_of(use)
        places = ((path, names) for module, names in taken if names for path in package.module_files(module))
        yield from filter(None, (package.graph.exported(*place) for place in places))


def _is_same(taken: Node, start: Node) -> bool:
    """Return whether what is taken is a definition, or declares it for TypeScript."""
    declares = taken.path.endswith((".d.ts", ".d.mts", ".d.cts"))
    return taken.id == start.id or (declares and f".{taken.qualified}".endswith(f".{start.qualified}"))


def _uses(inquiry: Inquiry, starts: Sequence[Node], user: _Side) -> Iterator[Unresolved]:
    """Yield the uses in a member that may lead to another: those of the starts, or of their names."""
    if inquiry.relation is Aim.CALLEES:
        uses = [use for start in starts for use in user.graph.unresolved(start)]
    else:
        names = {start.name for start in starts}
        uses = [use for name in names for use in user.graph.leftovers.leading_out(name)]
    counting = _ACROSS[inquiry.relation or Aim.USES]
    for use in sorted(uses, key=lambda use: reading_order(use.path)):
        is_test = role_of(use.path) is Role.TEST
        is_wanted = is_test if inquiry.relation is Aim.TESTS else inquiry.include_tests or not is_test
        if is_wanted and use.relation in counting:
            yield use


def _with_other(
    findings: Findings, inquiry: Inquiry, starts: Sequence[Node], here: _Side, there: _Side
) -> Findings:
    """Return findings with what another member has of them: where it uses the starts, or they use it."""
    user, provider = (here, there) if inquiry.relation is Aim.CALLEES else (there, here)
    nodes: dict[str, FoundNode] = {}
    edges: dict[FoundEdge, None] = {}
    for use in _uses(inquiry, starts, user):
        taken = (n for n in user.taken(use, provider) if user is here or any(_is_same(n, s) for s in starts))
        if (target := next(taken, None)) is None:
            continue
        far = target if provider is there else use.source
        place = f"{there.prefix}{far.path}", far.start_line, far.end_line
        why = f"uses {target.qualified}" if inquiry.relation is Aim.TESTS else ""
        found = FoundNode(f"{there.prefix}{far.id}", far.name, far.kind, *place, hop=1, why=why)
        nodes[found.id] = found
        ends = f"{user.prefix}{use.source.id}", f"{provider.prefix}{target.id}"
        edges[FoundEdge(*ends, use.relation, f"{user.prefix}{use.path}", use.line, IMPORTED)] = None
    if not edges:
        return findings
    packages = filter(None, map(provider.package, user.snapshot.files.languages()))
    versions = (_other_version(each.package, user.name, user.project) for each in packages)
    return replace(
        findings,
        nodes=(*findings.nodes, *nodes.values()),
        edges=(*findings.edges, *edges),
        names=findings.names | {node.id: f"{there.name}: {node.name}" for node in nodes.values()},
        summary=f"{findings.summary} {len(edges)} of {there.name} too.",
        warning=_joined(findings.warning, *dict.fromkeys(versions)),
    )


def _other_version(package: Dependency, other: str, project: Project) -> str | None:
    """Return that a member has another version of a package installed than the one that is here."""
    same = (each for each in project.packages.listed() if normalised(each.name) == normalised(package.name))
    installed = next((each.version for each in same if each.folder), "")
    if not installed or package.version in ("", installed):
        return None
    return f"{other} has {package.name} {installed} installed; this is {package.version}."


def findings_outside(name: str, findings: Findings) -> Findings:
    """Return findings as the workspace shows them: paths begin with the member's name."""

    def outside(path: str) -> str:
        return f"{name}/{path}"

    return replace(
        findings,
        nodes=_prefixed(name, findings.nodes, "id"),
        edges=_prefixed(name, findings.edges, "source", "target"),
        chains=tuple(tuple(map(outside, chain)) for chain in findings.chains),
        possible=_prefixed(name, findings.possible),
        context=findings.context and _context_outside(name, findings.context),
        citations=_prefixed(name, findings.citations),
        names={outside(node): text for node, text in findings.names.items()},
    )


def _context_outside(name: str, context: Context) -> Context:
    regions, edges = (context.regions, "id"), (context.edges, "source", "target")
    return replace(context, regions=_prefixed(name, *regions), edges=_prefixed(name, *edges))


def _summed(folder: str, reports: list[IndexReport], missed: tuple[Skip, ...]) -> IndexReport:
    return IndexReport(
        folder,
        **_sums(reports, "files_indexed", "files_unchanged", "files_removed", "files_skipped"),
        **_sums(reports, "chunks_created", "total_files", "total_chunks", "seconds"),
        created=any(report.created for report in reports),
        errors=(*missed, *(skip for report in reports for skip in report.errors)),
        notes=tuple(dict.fromkeys(note for report in reports for note in report.notes)),
    )


def _together(folder: str, statuses: Mapping[str, IndexStatus]) -> IndexStatus:
    every, states = list(statuses.values()), {status.state for status in statuses.values()}
    worst = IndexState.INDEXING if IndexState.INDEXING in states else IndexState.INCOMPLETE
    counted = ("total_files", "total_chunks", "total_docs", "total_doc_chunks", "storage_bytes")
    return IndexStatus(
        states.pop() if len(states) == 1 else worst,
        folder,
        "",
        **_sums(every, *counted, "pending_changes"),
        query_ready=any(status.query_ready for status in every),
        languages=dict(sum((Counter(status.languages) for status in every), Counter())),
    )


def _sums(counted: Sequence[object], *fields: str) -> dict[str, Any]:
    return {field: sum(getattr(each, field) for each in counted) for field in fields}

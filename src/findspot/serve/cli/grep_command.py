"""`findspot grep`: every match of a pattern, as ripgrep finds it; with `--about`, the useful ones first."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from operator import attrgetter
from typing import Any

import click

from findspot.core.caller import working_folder
from findspot.core.errors import FindspotError, InvalidArgumentError
from findspot.core.model import Query, Skip, SkipReason
from findspot.core.paths import absolute
from findspot.discover.walk import MOST_BYTES, files_at, unrestricted
from findspot.graph import Graph, Outline
from findspot.project import Project
from findspot.rank.roles import is_test
from findspot.search.freshness import Disk, Listed
from findspot.search.regex import Line, PatternSearch
from findspot.search.ripgrep import check_pattern, listed_paths
from findspot.search.token_budget import CHARS_PER_TOKEN, MIN_TOKENS
from findspot.serve.cli import output
from findspot.serve.cli.failure import USAGE, report
from findspot.serve.cli.index_commands import prepare_index
from findspot.serve.cli.options import Reply, json_option, project_option, together
from findspot.serve.cli.project_choice import open_asked
from findspot.serve.cli.terminal import paged
from findspot.text.snippet import cut
from findspot.workspace import Asked, projects_of

_MOST_RANKED = 100
_ALIKE = 5  # places in the order by meaning that say little about which of two is better
_FLAG: dict[str, Any] = {"is_flag": True}
_NUMBER: dict[str, Any] = {"type": click.IntRange(0), "default": 0}
_FILTER: dict[str, Any] = {"multiple": True}
_OPTIONS = (
    ("-i", "--ignore-case", _FLAG, "Take capitals and small letters for the same."),
    ("-S", "--smart-case", _FLAG, "Ignore case unless the pattern has a capital."),
    ("-w", "--word-regexp", _FLAG, "Match whole words only."),
    ("-x", "--line-regexp", _FLAG, "Match whole lines only."),
    ("-P", "--pcre2", _FLAG, "Take the pattern for one of Perl's."),
    ("-F", "--fixed-strings", _FLAG, "Take the pattern for plain text."),
    ("-v", "--invert-match", _FLAG, "Show the lines that do not match."),
    ("-o", "--only-matching", _FLAG, "Show the matches alone."),
    ("-g", "--glob", _FILTER, "Only paths that match; with '!' in front, no such paths."),
    ("-t", "--type", _FILTER, "Only files of this type, such as py or js."),
    ("-T", "--type-not", _FILTER, "No files of this type."),
    ("-A", "--after-context", _NUMBER, "Lines to show after each match."),
    ("-B", "--before-context", _NUMBER, "Lines to show before each match."),
    ("-C", "--context", _NUMBER, "Lines to show around each match."),
    ("-m", "--max-count", _NUMBER | {"default": None}, "Matching lines to show of each file."),
)


_ripgrep_options = together(
    *(click.option(short, name, help=explanation, **kind) for short, name, kind, explanation in _OPTIONS)
)


def _passed_on(given: dict[str, Any], kind: dict[str, Any]) -> list[str]:
    """Return the given options of a kind, as ripgrep takes them."""
    values = [(name, given[name[2:].replace("-", "_")]) for _, name, each, _ in _OPTIONS if each is kind]
    if kind is _FLAG:
        return [name for name, value in values if value]
    return [f"{name}={value}" for name, several in values for value in several]


@click.command(name="grep")
@click.argument("words", nargs=-1, metavar="PATTERN [PATH]...")
@click.option("-e", "--regexp", "patterns", multiple=True, help="A pattern; several are alternatives.")
@_ripgrep_options
@click.option("-l", "--files-with-matches", "names", is_flag=True, help="Show the names of files alone.")
@click.option("-c", "--count", is_flag=True, help="Show how many lines of each file match.")
@click.option("-q", "--quiet", is_flag=True, help="Show nothing; the exit code tells.")
@click.option("-u", "--unrestricted", count=True, help="Search what ignore files and settings leave out.")
@click.option("-s", "--no-messages", is_flag=True, help="Do not say what cannot be searched.")
@click.option("-r", "-R", "-E", "-H", "-a", "--hidden", is_flag=True, expose_value=False, help="No effect.")
@click.option("--color", is_flag=False, flag_value="auto", expose_value=False, help="No effect.")
@click.option("-n/-N", "--line-number/--no-line-number", "numbers", default=True, help="Show line numbers.")
@click.option("--about", metavar="QUESTION", help="Show matches that answer this first, by function.")
@click.option("--max-tokens", type=click.IntRange(MIN_TOKENS), help="With --about: most characters / 4.")
@project_option
@json_option
@click.pass_obj
def grep_(reply: Reply, /, words: Sequence[str], patterns: Sequence[str], **given: Any) -> None:
    """Find every match of PATTERN in the files that the index holds or will hold.

    Options and exit codes are ripgrep's: 0 with a match, 1 without, 2 for an error.

    \b
    findspot grep -w send_mail src
    findspot grep 'retry|backoff' --about "how are failed uploads retried"
    """
    if not (patterns or words):
        raise click.UsageError("Missing argument 'PATTERN'.")
    patterns, paths = (patterns, words) if patterns else (words[:1], words[1:])
    try:
        with open_asked(given["project"]) as asked:
            files = _searched(asked, paths, given)
            if given["about"] and (behind := prepare_index(asked, reply, update=True)):
                output.warn(behind)
            found = [line for each in files for line in each.find(patterns, given)]
            complaints = [complaint for each in files for complaint in each.complaints]
            groups = _groups(asked, given["about"], found) if given["about"] else []
            for complaint in () if given["no_messages"] else complaints:
                output.note(complaint)
            usual = sys.maxsize if sys.stdout.isatty() else asked.settings.serve.max_tokens
            _print(reply, files, found, groups, given | {"room": given["max_tokens"] or usual})
    except FindspotError as error:
        raise click.exceptions.Exit(max(USAGE, report(error, reply))) from None
    if complaints or not found:
        raise click.exceptions.Exit(USAGE if complaints else 1)


def _print(
    reply: Reply, files: Sequence[_Files], found: list[Line], groups: list[Group], given: dict[str, Any]
) -> None:
    found = [line for group in groups for line in group[3]] or found
    if reply.json:
        matches = [{"path": line.path, "line": line.number, "text": line.text} for line in found]
        output.emit({"matches": matches, "totalMatches": len(matches)})
    elif not given["quiet"]:
        with paged(wanted=bool(found)):
            if groups and not (given["names"] or given["count"]):
                _show_groups(groups, given["room"] * CHARS_PER_TOKEN)
            else:
                by_path: dict[str, list[Line]] = {}
                for line in found:
                    by_path.setdefault(line.path, []).append(line)
                _show(files, by_path, given)


def _searched(asked: Asked, paths: Sequence[str], given: dict[str, Any]) -> list[_Files]:
    """Return the files of each project that is searched, those below some paths alone."""
    wanted = [asked.roots.spelled(absolute(path).resolve()) for path in paths]
    if None in wanted:
        raise click.UsageError(f"{paths[wanted.index(None)]} is not in {asked.root}.")
    if not wanted and given["project"] is None:
        wanted = [asked.roots.spelled(working_folder().resolve())]
    searched = []
    for prefix, project in projects_of(asked).items():
        places = [_within(place or "", prefix) for place in wanted] or [""]
        inside = [place for place in places if place is not None]
        if inside:
            if project.store.read_only:
                hint = "Ask the index: findspot search --mode regex PATTERN"
                raise InvalidArgumentError(
                    f"{project.root} reads a published index and has no files.", hint=hint
                )
            searched.append(_Files(prefix, project, inside, given))
    if not searched:
        raise click.UsageError(f"{paths[0]}: No such file or directory.")
    return searched


def _within(place: str, prefix: str) -> str | None:
    """Return a place as the member of a prefix names it; None where it lies elsewhere."""
    if not place or f"{place}/" == prefix:
        return ""
    return place.removeprefix(prefix) if place.startswith(prefix) else None


class _Files:
    """The files of a project that are searched, as the index has them; `prefix` begins their shown paths."""

    def __init__(self, prefix: str, project: Project, wanted: Sequence[str], given: dict[str, Any]) -> None:
        self.prefix = prefix
        settings = project.settings.discover
        settings = unrestricted(settings) if given["unrestricted"] else settings
        self.disk = Disk(project.roots, MOST_BYTES, settings.secret_scan)
        found = files_at(project.root, wanted, settings)
        chosen: dict[str, Listed] = {file.path: file for file in found.files}
        failed = found.skips
        for place in wanted:
            if place in chosen and isinstance(left_out := self.disk.lines(chosen[place]), Skip):
                failed += [left_out] * (left_out.reason is not SkipReason.EMPTY)
        self.complaints = [f"{prefix}{_complaint(skip)}" for skip in failed]
        """What was asked for and cannot be searched."""
        filters = _passed_on(given, _FILTER)
        fitting = listed_paths(project.root, filters) if filters else chosen
        self.listed = {path: chosen[path] for path in sorted(chosen) if path in fitting}
        self.partial = set(self.listed)
        """What ripgrep must not read itself: secrets may be in it."""
        if project.store.exists:
            with project.store.snapshot() as snapshot:
                known = {file.path: file for file in snapshot.files.files if file.path in self.listed}
                self.partial -= known.keys() - snapshot.skips.files_read()
                self.listed |= known

    def find(self, patterns: Sequence[str], given: dict[str, Any]) -> list[Line]:
        for pattern in patterns:
            check_pattern(pattern)
        search = PatternSearch(self.disk, list(self.listed.values()), self.partial)
        options = [*_passed_on(given, _FLAG), *(f"--regexp={pattern}" for pattern in patterns[1:])]
        found = search.first_lines(patterns[0], sys.maxsize, options, seconds=86_400)
        by_file = groupby(found, key=attrgetter("path"))
        kept = (line for _, lines in by_file for line in islice(lines, given["max_count"]))
        return [line._replace(path=f"{self.prefix}{line.path}") for line in kept]


def _complaint(skip: Skip) -> str:
    why = f"not searched: {skip.reason.replace('_', ' ')}" + (f" ({skip.detail})" if skip.detail else "")
    return f"{skip.path}: {'No such file or directory' if skip.reason is SkipReason.VANISHED else why}."


def _show(files: Sequence[_Files], found: dict[str, list[Line]], given: dict[str, Any]) -> None:
    """Print the matches as ripgrep does: below the file's name on a terminal, after it in a pipe."""
    heads = sys.stdout.isatty() and not (given["names"] or given["count"])
    above, below = (given[f"{side}_context"] or given["context"] for side in ("before", "after"))
    for place, (path, group) in enumerate(found.items()):
        shown = [(line.number, ":", _part(line)) for line in group]
        if given["names"] or given["count"]:
            output.line(path if given["names"] else f"{path}:{len({number for number, *_ in shown})}")
            continue
        if place and (heads or above or below):
            output.line("" if heads else "--")
        if heads:
            output.line(path, fg="magenta")
        if above or below:
            holder = next(each for each in files if path.startswith(each.prefix))
            lines = holder.disk.lines(holder.listed[path.removeprefix(holder.prefix)])
            shown = _with_context(shown, lines, above, below)
        before = shown[0][0]
        for number, mark, text in shown:
            if number > before + 1 and (above or below):
                output.line("--")
            before = number
            head = ("" if heads else f"{path}{mark}") + (f"{number}{mark}" if given["numbers"] else "")
            parts = f"{head}{text}".split("\t")  # a tab harms no terminal
            click.echo("\t".join(map(output.clean, parts)))


def _with_context(
    shown: list[tuple[int, str, str]], lines: list[str] | Skip, above: int, below: int
) -> list[tuple[int, str, str]]:
    if isinstance(lines, Skip):
        return shown
    matching = {line[0]: line for line in shown}
    near = {number for at in matching for number in range(at - above, at + below + 1)}
    last = len(lines) - (not lines[-1])
    around = (Line("", n, lines[n - 1].rstrip("\r"), 0) for n in sorted(near) if 0 < n <= last)
    return [matching.get(line.number) or (line.number, "-", _part(line)) for line in around]


def _part(line: Line) -> str:
    text, _ = line.shown()
    return text if text == line.text else f"{text} [part of {len(line.text):,} characters]"


Group = tuple[str, int, str, list[Line]]
"""Path, first line and name of a definition, and the matching lines in it."""


def _groups(asked: Asked, about: str, found: Sequence[Line]) -> list[Group]:
    """Return the matches by definition: what fits best, of what fits alike the definition, tests last."""
    query = Query(about, limit=_MOST_RANKED)
    spans = [(hit.path, range(hit.span.start, hit.span.end + 1)) for hit in asked.search(query).hits]
    groups: dict[tuple[str, int], Group] = {}
    for prefix, project in projects_of(asked).items():
        with project.reader() as reader:
            graph = Graph(reader.snapshot)
            own = (line for line in found if line.path.startswith(prefix))
            for path, lines in groupby(own, key=attrgetter("path")):
                places = sorted(_definitions(graph.outline(path.removeprefix(prefix))), reverse=True)
                for line in lines:
                    start, name = next(((s, n) for s, e, n in places if s <= line.number <= e), (0, ""))
                    groups.setdefault((path, start), (path, start, name, []))[3].append(line)

    def order(group: Group) -> tuple[object, ...]:
        path, start, _, lines = group
        fits = (
            at
            for at, (file, span) in enumerate(spans)
            if file == path and any(n in span for _, n, *_ in lines)
        )
        best = next(fits, _MOST_RANKED)
        return is_test(path), best // _ALIKE, lines[0].number != start, best, path, start

    return sorted(groups.values(), key=order)


def _definitions(outline: Sequence[Outline], above: str = "") -> Iterator[tuple[int, int, str]]:
    for item in outline:
        name = f"{above}{item.node.name}"
        yield item.node.start_line, item.node.end_line, name
        yield from _definitions(item.children, f"{name}.")


def _show_groups(groups: Sequence[Group], room: int) -> None:
    for place, (path, start, name, lines) in enumerate(groups):
        head = f"{path}:{start or lines[0].number}  {name}".rstrip()
        body = [f"  {line.number}: {cut(line.text.strip().expandtabs(4), 200)}" for line in lines]
        room -= len(head) + sum(map(len, body)) + len(body)
        if room < 0 and place:
            rest = output.count(sum(len(group[3]) for group in groups[place:]), "more matching line")
            output.note(f"{rest} in {output.count(len(groups) - place, 'place')}; --max-tokens shows more.")
            return
        output.line(head, bold=True)
        for text in body:
            output.line(text)

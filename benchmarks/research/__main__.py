"""Ask the questions of `questions.toml` and grade the answers.

python -m benchmarks.research --mirrors FOLDER [--cache FOLDER] [--only TEXT] [--use NAME] [--show]

Each project is written out at its commit and indexed with the shipped defaults. An answer is the text that
`code_research` gives an assistant, within the default token budget; `benchmarks.research.grade` grades it.
`--show` prints the answers. What an answer to a "held" question misses is printed only then, so that nobody
tunes for it by accident.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from benchmarks.research.grade import Grade, Question, grade, load, misstated
from benchmarks.sets import Case, materialise


def answers(questions: list[Question], args: argparse.Namespace) -> Iterator[tuple[Question, str]]:
    """Yield each question with its answer, project by project."""
    from findspot import Engine
    from findspot.research.findings import Focus, Inquiry
    from findspot.search.token_budget import MIN_TOKENS
    from findspot.serve.research_answers import fitted_report

    os.environ["FINDSPOT_HOME"] = str(args.cache / "home")
    engine = Engine({"respectGitignore": False})
    for repository, commit in dict.fromkeys((q.project, q.commit) for q in questions):
        case = Case("research", repository, commit, "", "", "", "", ())
        folder = materialise(case, args.cache, args.mirrors, args.cache / "checkouts")
        project = engine.project(folder)
        project.update()
        limit = max(project.settings.serve.max_tokens, MIN_TOKENS)
        for question in questions:
            if question.project == repository:
                for wrong in misstated(question, folder):
                    print(f"{repository}: {question.ask}: {wrong}", file=sys.stderr)
                focus = Focus(question.focus) if question.focus else None
                found = project.research(Inquiry(question.ask, focus=focus))
                yield question, fitted_report(found, limit)
    engine.close()


def main() -> None:
    parser = argparse.ArgumentParser(prog="benchmarks.research")
    parser.add_argument("--mirrors", type=Path, help="a folder of git mirrors; else repositories are cloned")
    parser.add_argument("--cache", type=Path, default=Path("/tmp/findspot-research"))
    parser.add_argument("--only", default="", help="only questions or projects with this text")
    parser.add_argument("--use", default="", help="finding, tuned or held")
    parser.add_argument("--show", action="store_true", help="print the answers")
    args = parser.parse_args()
    wanted = [q for q in load() if args.only in f"{q.project} {q.ask}" and args.use in q.use]
    results = []
    for question, text in answers(wanted, args):
        result = grade(question, text)
        results.append((question, result))
        print(_line(question, result, details=args.show or question.use != "held"), flush=True)
        if args.show:
            print(f"\n{text}\n")
    print(_table(results))


def _line(question: Question, result: Grade, *, details: bool) -> str:
    verdict = "ok  " if result.passes else "MISS"
    about = "" if result.passes or not details else f"\n       {'; '.join(result.missing)}"
    return f"{verdict} {question.use:7} {question.project}: {question.ask}{about}"


def _table(results: list[tuple[Question, Grade]]) -> str:
    count: Counter[tuple[str, str]] = Counter()
    for question, result in results:
        for name in (question.use, *(("written first",) if question.use != "finding" else ())):
            count[name, "asked"] += 1
            count[name, "right"] += result.right
            count[name, "usable"] += result.usable
            count[name, "both"] += result.passes
    uses = list(dict.fromkeys(name for name, _ in count))
    keys = ("asked", "right", "usable", "both")
    rows = (f"| {name} | {' | '.join(str(count[name, key]) for key in keys)} |" for name in uses)
    return "\n".join(("", "| questions | asked | right | usable | both |", "|---|---|---|---|---|", *rows))


if __name__ == "__main__":
    main()

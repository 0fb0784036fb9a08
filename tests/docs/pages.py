"""Read the pages of the documentation, and run what they show."""

from __future__ import annotations

import itertools
import re
import shlex
from pathlib import Path

from reference_pages import GENERATED, generated

from program import InThisProcess, Outcome

ROOT = Path(__file__).parents[2]
WRITTEN = [page for page in (ROOT / "docs").glob("*.md") if page.name not in GENERATED]
PAGES = [*ROOT.glob("*.md"), *WRITTEN, ROOT / "benchmarks" / "README.md"]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^#+ +(.+?) *$", re.MULTILINE)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page that say they are of a language."""
    return [text for said, text in _BLOCK.findall(page.read_text("utf-8")) if said == language]


def anchors(page: Path) -> set[str]:
    """What a link can lead to: headings as hosting sites spell them."""
    text = generated(page.name) if page.name in GENERATED else page.read_text("utf-8")
    prose = _BLOCK.sub("", text)
    words = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in _HEADING.findall(prose))
    return {heading.replace(" ", "-") for heading in words}


def findspot(folder: Path, home: Path, *arguments: str, **variables: str) -> Outcome:
    """Run a command in a folder, which has to go well."""
    done = InThisProcess(home, folder)(*arguments, env=variables)
    assert done.code == 0, f"{shlex.join(arguments)}: {done.err}"
    return done


def run_line(line: str, folder: Path, home: Path) -> str:
    """Run a line of a console and return its standard output.

    It may make and change the folder, set variables, and run `findspot` several times (`&&`).
    """
    output, variables = "", {}
    for _, group in itertools.groupby(shlex.split(line, comments=True), "&&".__eq__):
        words = list(group)
        while words and re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = str(folder / value)
        if words[0] == "cd":
            folder = folder / words[1]
        elif words[0] == "mkdir":
            (folder / words[1]).mkdir()
        elif words[0] == "findspot":
            output += findspot(folder, home, *words[1:], **variables).out
    return output


def consoles(page: Path) -> list[tuple[str, str]]:
    """Return each command of the console blocks of a page, with the output that the page shows."""
    shown = []
    for block in blocks(page, "console"):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            shown.append((command, output))
    return shown


def matches(shown: str, output: str) -> bool:
    """Return whether an output is as shown; `…` stands for anything, on its own line for any lines."""
    lines = []
    for line in shown.strip("\n").split("\n"):
        escaped = re.escape(line).replace("…", ".*")
        lines.append(r"(?:.*\n)*" if line == "…" else f"{escaped}\n")
    text = "".join(f"{line.rstrip()}\n" for line in output.strip("\n").split("\n"))
    return re.fullmatch("".join(lines), text) is not None

"""The page about the settings, from their table: `python -m findspot.serve.cli.configuration_page`."""

from __future__ import annotations

import json
import sys

from findspot.core.keys import KEYS, Key

_HEAD = """\
# Configuration

Nothing has to be configured. This page is written from the table of settings
(`python -m findspot.serve.cli.configuration_page > docs/configuration.md`).

## Where a value comes from

A later source wins over an earlier one:

| source | set by |
|---|---|
| the built-in defaults | |
| `~/.mcp/search/config.json`, for all your projects | `findspot config set KEY VALUE --global` |
| `.findspot.json` in the project, committed with it | `findspot config set KEY VALUE --project` |
| `.cortex/config.yml` in the project, for its [own keys](chunk-files.md#serving) | by hand |
| `config.json` of the project's index | `findspot config set KEY VALUE` |
| the environment | `FINDSPOT_MAX_FILE_SIZE=2MB` |
| options of a command, or of `Engine(…)` | `findspot index --max-file-size 2MB` |

`findspot config` shows the values in force and where each comes from. An invalid value is replaced by its
default, with a warning that names the key; a command's option is refused instead. Lists are written as
`a,b` or as JSON. `{"embedding": {"provider": "…"}}` and `{"embedding.provider": "…"}` mean the same.

`FINDSPOT_HOME` says where everything is kept, instead of `~/.mcp/search`. `NO_COLOR`, `PAGER`, `VISUAL` and
`EDITOR` are heeded as everywhere. Keys of services are read from their own variables
([providers](providers.md)).

## Settings

**Own only**: a project's `.findspot.json` cannot set it, because it could send text elsewhere or move data.
"""

_SECTIONS = {
    "discover": "Which files",
    "chunk": "How files are cut",
    "embed": "Which model",
    "store": "Where the index is kept",
    "sync": "When changes are indexed",
    "serve": "What assistants are offered",
    "http": "Who may reach the server over HTTP",
    "llm": "Language models",
    "documents": "Named full-text indexes",
    "cortex": "Chunk files",
}
"""Headings, in the order of the page; a section without one is an error here."""


def configuration_page() -> str:
    """All settings as Markdown, by the stage that they are for."""
    sections = {key.section: [other for other in KEYS if other.section == key.section] for key in KEYS}
    ordered = sorted(sections, key=list(_SECTIONS).index)
    return "\n".join([_HEAD, *(_section(_SECTIONS[name], sections[name]) for name in ordered)])


def _section(heading: str, keys: list[Key]) -> str:
    rows = [f"| `{key.name}` | {_default(key)} | `{key.variable}` | {_meaning(key)} |" for key in keys]
    return "\n".join(
        [f"### {heading}", "", "| key | default | variable | meaning |", "|---|---|---|---|", *rows, ""]
    )


def _default(key: Key) -> str:
    return "–" if key.default is None else f"`{json.dumps(key.default)}`"


def _meaning(key: Key) -> str:
    return key.meaning.replace("|", "\\|") + (" **Own only.**" if key.local_only else "")


if __name__ == "__main__":
    sys.stdout.write(configuration_page())

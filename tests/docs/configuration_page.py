"""The page about the settings, from their table: `python tests/docs/configuration_page.py`."""

from __future__ import annotations

import json
import sys

from findspot.core.configfiles import MAX_CONFIG_BYTES
from findspot.core.setting_keys import COMMITTED, KEYS, Key

_HEAD = """\
# Configuration

Nothing has to be configured. This page is written from the table of settings
(`python tests/docs/configuration_page.py > docs/configuration.md`).

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
default, with a warning that names key and file; a command's option and `config set` refuse it. On the command
line and in the environment lists are written as `a,b` or as JSON, and `yes` means `true`; files hold JSON.
`{{"embedding": {{"provider": "…"}}}}` and `{{"embedding.provider": "…"}}` mean the same. The
`config.json` that a first index writes sets nothing; its comments name the defaults.

`FINDSPOT_HOME` says where everything is kept, instead of `~/.mcp/search`. `NO_COLOR`, `PAGER`, `VISUAL` and
`EDITOR` are heeded as everywhere. Keys of services are read from their own variables
([providers](providers.md)).

## What a committed file may set

`.findspot.json` and `.cortex/config.yml` are written by whoever wrote the repository. They may describe the
project and make things stricter. They cannot switch off a guard, and they cannot start or contact anything.
This is all that they can set; everything else in them is ignored with a warning:

| key | may be |
|---|---|
{committed}

"Your own value" is the one that your global configuration gives, or else the default. The index's own
`config.json`, the environment and options are yours too, and win over a committed file. Committed files are
not followed through symbolic links, and have at most {limit} KB.

## Settings

**Own only**: a committed file cannot set it.
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
    "log": "What servers write down",
}
"""Headings, in the order of the page; a section without one is an error here."""


def configuration_page() -> str:
    """Return all settings as Markdown, by the stage that they are for."""
    sections = {key.section: [other for other in KEYS if other.section == key.section] for key in KEYS}
    ordered = sorted(sections, key=list(_SECTIONS).index)
    limits = "\n".join(f"| `{name}` | {limit.text} |" for name, limit in COMMITTED.items())
    head = _HEAD.format(committed=limits, limit=MAX_CONFIG_BYTES >> 10)
    return "\n".join([head, *(_section(_SECTIONS[name], sections[name]) for name in ordered)])


def _section(heading: str, keys: list[Key]) -> str:
    rows = [f"| `{key.name}` | {_default(key)} | `{key.variable}` | {_meaning(key)} |" for key in keys]
    return "\n".join(
        [f"### {heading}", "", "| key | default | variable | meaning |", "|---|---|---|---|", *rows, ""]
    )


def _default(key: Key) -> str:
    return "–" if key.default is None else f"`{json.dumps(key.default)}`"


def _meaning(key: Key) -> str:
    return key.meaning.replace("|", "\\|") + ("" if key.committed else " **Own only.**")


if __name__ == "__main__":
    sys.stdout.write(configuration_page())

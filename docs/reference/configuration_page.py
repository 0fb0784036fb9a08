"""Generate the page about settings from their table."""

from __future__ import annotations

import json

from findspot.core.config import MAX_CONFIG_BYTES
from findspot.core.files import MAX_YAML_BYTES
from findspot.core.settings import KEYS, Key

_HEAD = """\
# Configuration

Findspot works without any configuration. To change a setting:

```bash
findspot config set maxFileSize 2MB             # for this project's index
findspot config set maxFileSize 2MB --global    # for all your projects
findspot config unset maxFileSize               # back to the value of another source
```

`findspot config` shows the values in force and where each comes from. This page is
generated from the table of settings.

## Where a value comes from

A later source overrides an earlier one:

| source | set by |
|---|---|
| the built-in defaults | |
| `~/.mcp/search/config.json`, for all your projects | `findspot config set KEY VALUE --global` |
| `.findspot.json` in the project, committed with it | `findspot config set KEY VALUE --project` |
| `.cortex/config.yml` in the project, for its [own keys](documents.md#serving-chunk-files) | by hand |
| `config.json` of the project's index | `findspot config set KEY VALUE` |
| the environment | `FINDSPOT_MAX_FILE_SIZE=2MB` |
| options of a command, or of `Engine(…)` | `findspot index --max-file-size 2MB` |

An invalid value is ignored, with a warning that names key and file; the value of the earlier source
applies. Options and `config set` refuse it. On the command line and in the environment, write lists as
`a,b` or as JSON, and `yes` or `true`. Files contain JSON; `{{"embedding": {{"provider": "…"}}}}` and
`{{"embedding.provider": "…"}}` are equivalent. The `config.json` that a first index writes sets nothing;
its comments name the defaults.

`FINDSPOT_HOME` replaces `~/.mcp/search`. Findspot also respects `NO_COLOR` and `PAGER`.
Keys of services have [their own variables](providers.md).

## What a committed file may set

Whoever wrote the repository wrote its `.findspot.json` and `.cortex/config.yml`. These files can describe
the project and make things stricter. They cannot turn off a guard, and they cannot start or contact
anything. They can set only the keys below; everything else in them is ignored with a warning:

| key | may be |
|---|---|
{committed}

"Your own value" is the value in your global configuration, or else the default. The index's own
`config.json`, the environment and options are yours too, and override a committed file. Committed files are
not read through symbolic links. `.findspot.json` has at most {limit} KB, `.cortex/config.yml` {yaml_limit}
KB.

## Settings

**Own only**: a committed file cannot set it.
"""

_SECTIONS = {
    "discover": "Which files",
    "chunk": "How files are split",
    "embed": "Which model",
    "store": "Where the index is stored",
    "publishing": "Published indexes",
    "sync": "When changes are indexed",
    "serve": "Tools and answers",
    "http": "The HTTP server",
    "llm": "Language models",
    "documents": "Named full-text indexes",
    "cortex": "Chunk files",
    "page": "The page in the browser",
    "log": "Logs and activity",
}
"""Headings, in the order of the page; a section without one is an error here."""


def configuration_page() -> str:
    """Return all settings as Markdown, by the stage that they are for."""
    sections = {key.section: [other for other in KEYS if other.section == key.section] for key in KEYS}
    ordered = sorted(sections, key=list(_SECTIONS).index)
    limits = "\n".join(f"| `{key.name}` | {key.committed.text} |" for key in KEYS if key.committed)
    head = _HEAD.format(committed=limits, limit=MAX_CONFIG_BYTES >> 10, yaml_limit=MAX_YAML_BYTES >> 10)
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

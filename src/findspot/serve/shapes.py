"""The JSON objects of answers: the same fields on the command line, over MCP and in the page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from types import FunctionType
from typing import TYPE_CHECKING, Any

from findspot.core.model import IndexReport
from findspot.core.settings import COMMITTED_FILES, Settings

if TYPE_CHECKING:
    from findspot.catalogue.catalogue import ToolAccess
    from findspot.catalogue.tool_record import ToolDefinition


def size(number_of_bytes: int) -> str:
    """Return a size such as `812B` or `45MB`."""
    amount = float(number_of_bytes)
    for unit in ("B", "KB", "MB"):
        if amount < 1024:
            return f"{amount:.1f}{unit}" if amount < 10 and unit != "B" else f"{amount:.0f}{unit}"
        amount /= 1024
    return f"{amount:.1f}GB"


def duration(seconds: float) -> str:
    """Return a duration such as `0.4s`, `45s` or `3m 20s`."""
    if seconds < 10:
        return f"{seconds:.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}m {rest}s" if minutes else f"{rest}s"


def warned(values: dict[str, Any], *warnings: str | None) -> dict[str, Any]:
    """Return the values with the warnings, joined to one text."""
    text = " ".join(filter(None, warnings))
    return values | {"warning": text} if text else values


_SPELLED_OUT = 3
_NAMED = 20


def settings_notes(settings: Settings) -> list[str]:
    """Return what is wrong with a project's settings: a few sentences, and the names of the other keys.

    The user's own settings come first: a committed file cannot push them out.
    """
    warnings = sorted(settings.warnings, key=lambda warning: warning.startswith(COMMITTED_FILES))
    notes = [f"{warning}." for warning in warnings[:_SPELLED_OUT]]
    if more := warnings[_SPELLED_OUT:]:
        named = (re.search(r"'([\w.]+)'", warning) for warning in more)
        listed = ", ".join([found[1] for found in named if found][:_NAMED])
        about = f" ({listed})" if listed else ""
        notes.append(f"{len(more)} more settings are not used{about}. `findspot config` says why.")
    return notes


TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "dict": "object"}


class Shape:
    """The fields of an answer, or of a part of one: how a schema describes them, and where they come from.

    `{"path": str, "lines? symbols": [str], "startLine=span.start": int}` maps names to kinds. A field is the
    attribute of its name, where `totalFiles` is `total_files`, or the one after `=`; one that is None is left
    out, and with `?` an empty one. A kind is a type, a list of a kind, a shape, a schema, or a function.
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.kinds: dict[str, Any] = {}
        self._rows: list[tuple[str, Callable[[Any], Any], Callable[[Any], Any] | None, bool]] = []
        for spelled, kind in fields.items():
            for field in spelled.split():
                name, _, attribute = field.replace("?", "").partition("=")
                self.kinds[name] = kind
                self._rows.append((name, attrgetter(attribute or snake(name)), _reader(kind), "?" in field))

    def __call__(self, value: object, **own: Any) -> dict[str, Any]:
        """Return the fields of a value; `own` are those that it does not have itself."""
        found = {}
        for name, get, read, is_optional in self._rows:
            if name in own:
                each = own[name]
            elif (each := get(value)) is not None and read:
                each = read(each)
            if each or not (each is None or is_optional):
                found[name] = each
        return found


def _reader(kind: Any) -> Callable[[Any], Any] | None:
    """Return what makes of a value what JSON has for it; None where that is the value."""
    if isinstance(kind, list):
        read = _reader(kind[0])
        return (lambda values: list(map(read, values))) if read else list
    if isinstance(kind, dict) and not isinstance(kind.get("type"), str):
        return Shape(kind)
    if isinstance(kind, dict):
        return str if kind["type"] == "string" else None
    return kind if kind in (str, dict) or isinstance(kind, Shape | FunctionType) else None


def schema_of(kind: Any) -> dict[str, Any]:
    """Return the JSON schema of a kind; that of a function by what it returns."""
    if isinstance(kind, list):
        return {"type": "array", "items": schema_of(kind[0])}
    if isinstance(kind, FunctionType | type):
        name = kind.__name__ if isinstance(kind, type) else kind.__annotations__["return"]
        return {"type": TYPES[name]}
    if isinstance(kind, dict) and isinstance(kind.get("type"), str):
        return dict(kind)
    kinds = (kind if isinstance(kind, Shape) else Shape(kind)).kinds
    return {"type": "object", "properties": {name: schema_of(each) for name, each in kinds.items()}}


def known(**values: Any) -> dict[str, Any]:
    """Return the values that there are."""
    return {name: value for name, value in values.items() if value}


def snake(name: str) -> str:
    return re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", name)


def among(*values: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(values)}


def tenths(number: float) -> float:
    return round(number, 1)


def joined(words: Sequence[str]) -> str:
    return " ".join(words)


ERROR = Shape({"code userMessage developerMessage": str})

COUNTS = Shape(
    {
        "filesIndexed filesUnchanged filesRemoved filesSkipped chunksCreated totalFiles totalChunks": int,
        "errors": [{"path reason=told": str}],
        "duration=seconds": duration,
    }
)
"""What a run of indexing did."""

MADE_BY = {"type": "string", "description": "A language model's name, or 'index' for none"}

SKIP = Shape({"path reason detail": str})

STATES = among("not_found", "indexing", "ready", "incomplete", "failed")

STATUS = Shape(
    {
        "status=state": STATES,
        "projectPath repository commit indexPath": str,
        "totalFiles totalChunks totalDocs totalDocChunks": int,
        "lastUpdated": str,
        "storageSize=storage_bytes": size,
        "watcherActive queryReady": bool,
        "pendingChanges": int,
        "progress": {"done total": int, "phase": str},
        "lastError model store strategy": str,
        "languages skipped": {"type": "object", "additionalProperties": {"type": "integer"}},
        "notes?": [str],
    }
)

LISTED_PROJECT = Shape(
    {
        "id path=project_path repository commit": str,
        "status=state": STATES,
        "totalFiles totalChunks": int,
        "lastUpdated": str,
        "storageSize=storage_bytes": size,
    }
)

FOUND_TOOLS = Shape(
    {
        "tools": [{"name title? description serverName": str, "score": float, "matchType": str}],
        "total totalIndexed": int,
        "searchTimeMs=elapsed_ms": tenths,
        "message": str,
        "nearest?": [str],
    }
)

ACCESS = Shape({"state transport configuration use reason?": str})

CALL = Shape({"time tool=question client outcome": str, "tokens durationMs": float})
ACTIVITY = Shape(
    {"time client project tool question outcome": str, "answers": [str], "found tokens durationMs": float}
)

CATALOGUE = Shape(
    {
        "status path": str,
        "embedded": int,
        "hasEmbeddings=index.has_embeddings": bool,
        "servers": [{"name status=outcome error": str, "tools": int}],
        "changedTools=changed notes": [str],
    }
)

PARSED = Shape({"terms": [str], "must must_not phrases": [joined]})
DOCUMENTS = Shape(
    {
        "results": [{"doc_id": str, "score": float, "highlights": [str], "metadata": dict}],
        "total_matches": int,
        "query_parsed=query": PARSED,
    }
)

ADDED_DOCUMENT = Shape({"status": among("indexed", "re-indexed"), "doc_id": str, "token_count": int})
CREATED_INDEX = Shape({"status": among("created"), "index_name=name backend": str})


def report_object(report: IndexReport, *, forced: bool) -> dict[str, Any]:
    """Return the answer of `index_codebase`."""
    return {"status": "success", "path": report.project_path, "forced": forced, **COUNTS(report)}


def tool_object(tool: ToolDefinition, access: ToolAccess, warning: str | None = None) -> dict[str, Any]:
    """Return the answer of `get_tool`: the tool, and whether and how it can be called."""
    from findspot.catalogue.indexfile import definition_object

    used = ACCESS(
        access,
        configuration=str(access.spec.source) if access.spec else None,
        use=f"call_tool, or findspot tools call {tool.name} --args JSON" if access.state == "ready" else None,
        reason=" ".join(filter(None, (f"{access.reason}." if access.reason else "", access.hint))),
    )
    return warned({"tool": definition_object(tool), "serverName": tool.server_name, "access": used}, warning)

"""Generate the page about the tools from their definitions."""

from __future__ import annotations

from typing import Any

from findspot.serve.mcp.tool import ALWAYS, Registry, Tool
from findspot.serve.mcp.tools import all_tools

_HEAD = """\
# The MCP tools

Findspot offers these tools to an assistant, in this order; `call_tool` only once you have allowed a server.
This page is generated from their definitions.

An answer has structured content and a text. For tools with a `format` the text is a compact report by
default; for the others it is the structured content as JSON. `totalResults` counts everything that matched
at all, most of it far less likely than the first results; `offset` pages through it. A failed call has
`isError: true`, a text for the reader, and `code`, `userMessage` and `developerMessage`. Any answer may
have a `warning`.
"""


def tools_page() -> str:
    """Return all tools as Markdown."""
    registry = all_tools()
    return "\n".join([_HEAD, _overview(registry), *(_section(tool) for tool in registry)])


def _overview(registry: Registry) -> str:
    rows = [
        f"| [`{tool.name}`](#{tool.name}) | {tool.description.rstrip('.')} | {_effect(tool)} |"
        for tool in registry
    ]
    return "\n".join(["| tool | what it does | effect |", "|---|---|---|", *rows, ""])


def _effect(tool: Tool) -> str:
    if tool.annotations["readOnlyHint"]:
        return "read-only"
    if tool.annotations["destructiveHint"]:
        return "destructive"
    return "idempotent" if tool.annotations["idempotentHint"] else "not idempotent"


def _section(tool: Tool) -> str:
    parts = [f"## {tool.name}", "", f"{tool.description.rstrip('.')}.", "", _arguments(tool), ""]
    parts += [_returned(tool), ""]
    if tool.enhanced_description:
        parts += [f"With `enhancedToolDescriptions`: {tool.described(enhanced=True)}", ""]
    return "\n".join(parts)


def _returned(tool: Tool) -> str:
    if tool.output_schema is None:
        return "Returns what the called tool returns: content of every type and its structured content."
    properties = tool.output_schema["properties"]
    fields = ", ".join(f"`{name}`" for name in properties if name not in ALWAYS)
    status = properties["status"].get("enum")
    return f"Returns {fields}" + (f"; `status` is one of {_choices(status)}." if status else ".")


def _arguments(tool: Tool) -> str:
    properties = tool.input_schema["properties"]
    if not properties:
        return "Takes no arguments."
    required = tool.input_schema.get("required", ())
    rows = [
        f"| `{name}`{' (required)' if name in required else ''} | {_type(schema)} | {_meaning(schema)} |"
        for name, schema in properties.items()
    ]
    return "\n".join(["| argument | type | meaning |", "|---|---|---|", *rows])


def _type(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return _choices(schema["enum"])
    kind = "list of strings" if schema["type"] == "array" else str(schema["type"])
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is None:
        return kind
    return f"{kind}, {low}–{high}" if high is not None else f"{kind}, at least {low}"


def _choices(values: list[str]) -> str:
    return ", ".join(f"`{value}`" for value in values)


def _meaning(schema: dict[str, Any]) -> str:
    said = f"{schema.get('$comment', schema.get('description')).rstrip('.')}."
    default = schema.get("default")
    if default in (None, False, ".") or "Default" in said:
        return said
    return f"{said} Default: `{default}`."

"""What offering the tools costs an assistant: the tokens of their descriptions, by toolset."""

from __future__ import annotations

from findspot.core.setting_keys import TOOLSETS
from findspot.search.fit import token_count
from findspot.serve.mcp.content import wire_tool
from findspot.serve.mcp.registry import Registry, Tool


def tool_tokens(tool: Tool, *, enhanced: bool = False) -> int:
    """Return tokens (characters / 4) of a tool as `tools/list` shows it to a model: no icons, no output
    schema.
    """
    shown = wire_tool(tool, enhanced=enhanced).model_copy(update={"icons": None, "output_schema": None})
    return token_count(shown.model_dump_json(by_alias=True, exclude_none=True))


def costs_page(registry: Registry) -> str:
    """Return each toolset with its tools, their tokens and the sum."""
    lines: list[str] = []
    total = 0
    for toolset in TOOLSETS:
        costs = [(tool.name, tool_tokens(tool)) for tool in registry.offered((toolset,))]
        lines += [f"{toolset:<24}{sum(cost for _, cost in costs):>7,}"]
        lines += [f"  {name:<22}{cost:>7,}" for name, cost in costs]
        total += sum(cost for _, cost in costs)
    return "\n".join([*lines, f"{'all':<24}{total:>7,}", ""])

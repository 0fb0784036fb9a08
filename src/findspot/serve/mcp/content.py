"""Wire types made from plain values: tools as they are listed, answers as they are sent."""

from __future__ import annotations

from typing import Any

import mcp_types as types
from pydantic_core import to_json

from findspot.serve.mcp.registry import Answer, Carried, Link, Media, TaskSupport, Tool

_FOR_BOTH = {"audience": ["user", "assistant"], "priority": 1.0}
_FOR_ASSISTANT = {"audience": ["assistant"], "priority": 0.8}

_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
"""Kinds of content, and the version that brought them: an older client would refuse the whole answer."""


def wire_tool(tool: Tool, *, enhanced: bool) -> types.Tool:
    runs_long = tool.task_support is not TaskSupport.FORBIDDEN
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.described(enhanced=enhanced),
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=types.ToolAnnotations.model_validate(tool.annotations),
        icons=[types.Icon(src=tool.icon, mime_type="image/svg+xml", sizes=["any"])],
        execution=types.ToolExecution(task_support=tool.task_support.value) if runs_long else None,
    )


def wire_result(answer: Answer, version: str) -> dict[str, Any]:
    """The result of a call; the SDK leaves out fields that older versions lack, but no kinds of content.

    Plain values: making models of them only to dump them again would double the cost of a call.
    """
    content = [_text(answer.shown, _FOR_BOTH)] if answer.shown else []
    if answer.hint is not None:
        content.append(_text(answer.hint, _FOR_ASSISTANT))
    more = (_more(part) for part in answer.more)
    content += [part for part in more if version >= _SINCE.get(part["type"], version)]
    return {
        "resultType": "complete",
        "content": content,
        "structuredContent": answer.values if _is_text(answer.values) else encodable_values(answer.values),
        "isError": answer.is_error,
    }


def _text(text: str, annotations: dict[str, Any]) -> dict[str, Any]:
    return {"type": "text", "text": encodable(text), "annotations": annotations}


def _more(part: Link | Media | Carried) -> dict[str, Any]:
    if isinstance(part, Link):
        return _link(part)
    if isinstance(part, Media):
        return {"type": part.kind, "data": part.data, "mimeType": part.mime_type}
    text = {"uri": part.uri, "mimeType": part.mime_type, "text": encodable(part.text)}
    return {"type": "resource", "resource": text}


def _link(link: Link) -> dict[str, Any]:
    """Return a place to open; meant for people, since an assistant has it in the structured content."""
    annotations = {"audience": ["user"], "priority": link.priority}
    described = {
        "type": "resource_link",
        "uri": link.uri,
        "name": encodable(link.name),
        "description": encodable(link.description),
        "mimeType": link.mime_type,
        "annotations": {name: value for name, value in annotations.items() if value is not None},
    }
    return {name: value for name, value in described.items() if value is not None}


def wire_media(media: Media) -> types.AudioContent | types.ImageContent:
    if media.kind == "audio":
        return types.AudioContent(data=media.data, mime_type=media.mime_type)
    return types.ImageContent(data=media.data, mime_type=media.mime_type)


def encodable(text: str) -> str:
    """File names may hold bytes that are no text; the wire carries only text."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _is_text(values: Any) -> bool:
    """Return whether the wire can carry values as they are: far quicker to tell than to make sure."""
    try:
        to_json(values)
    except ValueError:
        return False
    return True


def encodable_values(value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    if isinstance(value, dict):
        return {name: encodable_values(part) for name, part in value.items()}
    return [encodable_values(part) for part in value] if isinstance(value, list) else value

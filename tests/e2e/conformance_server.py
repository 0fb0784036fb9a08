"""The tools, resources and prompts that the official conformance suite calls, on our protocol layer.

Run as a program it serves them over HTTP on a free port and prints the address.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import mcp_types as types
import uvicorn
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from findspot.core.errors import FindspotError
from findspot.engine import Engine
from findspot.llm import Prompt as Question
from findspot.serve.listening import listen
from findspot.serve.mcp.client import sample
from findspot.serve.mcp.http_server import PATH, Gate
from findspot.serve.mcp.resources import RESOURCE_NOT_FOUND
from findspot.serve.mcp.sdk import Context
from findspot.serve.mcp.tool import Answer, Arguments, Registry, TaskSupport, Tool
from findspot.serve.mcp.tool_call import Call

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
AUDIO = {"type": "audio", "data": WAV, "mimeType": "audio/wav"}
TEXT = {"type": "string"}
NAME = {"name": TEXT}

Work = Callable[[Call, Arguments], Awaitable[Answer]]
TOOLS: list[Tool] = []


class IntendedError(FindspotError):
    code = "INTENDED"


def tool(
    name: str, task: TaskSupport = TaskSupport.FORBIDDEN, /, **arguments: dict[str, Any]
) -> Callable[[Work], Work]:
    """Offer a function as a tool."""

    def offered(work: Work) -> Work:
        described = {key: {"description": key, **schema} for key, schema in arguments.items()}
        offered = Tool(name, name, name, described, work, output={})
        TOOLS.append(replace(offered, task_support=task))
        return work

    return offered


def said(text: str) -> Answer:
    return Answer({"status": "done"}, text)


def with_content(*parts: dict[str, Any]) -> Answer:
    return Answer({}, passed_on={"content": list(parts), "structuredContent": {"status": "done"}})


def embedded(uri: str, text: str, mime_type: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": text}}


def answering(name: str, answer: Answer) -> None:
    async def work(_call: Call, _arguments: Arguments) -> Answer:
        return answer

    tool(name)(work)


answering("test_simple_text", said("This is a simple text response for testing."))
answering("test_image_content", with_content(IMAGE))
answering("test_audio_content", with_content(AUDIO))
answering(
    "test_embedded_resource",
    with_content(embedded("test://embedded-resource", "This is an embedded resource content.", "text/plain")),
)
answering(
    "test_multiple_content_types",
    with_content(
        {"type": "text", "text": "Multiple content types test:"},
        IMAGE,
        embedded("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
    ),
)


@tool("test_error_handling")
async def fail(_call: Call, _arguments: Arguments) -> Answer:
    raise IntendedError("This tool intentionally returns an error for testing")


@tool("test_tool_with_progress")
async def progress(call: Call, _arguments: Arguments) -> Answer:
    for done in (0, 50, 100):
        await call.client.report(done, 100, "working")
        await asyncio.sleep(0.05)
    return said("done")


async def ask(call: Call, message: str, fields: dict[str, Any], required: list[str], key: str) -> Answer:
    content = await call.client.fill_in(message, fields, required, key)
    return said(f"Elicitation completed: action={'accept' if content else 'decline'}, {json.dumps(content)}")


@tool("test_elicitation", message=TEXT)
async def elicit(call: Call, arguments: Arguments) -> Answer:
    fields = {
        "username": {"type": "string", "description": "User's response"},
        "email": {"type": "string", "description": "User's email address"},
    }
    return await ask(call, arguments["message"] or "?", fields, ["username", "email"], "user")


@tool("test_elicitation_sep1034_defaults")
async def elicit_defaults(call: Call, _arguments: Arguments) -> Answer:
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return await ask(call, "Please check these values", fields, [], "values")


@tool("test_elicitation_sep1330_enums")
async def elicit_enums(call: Call, _arguments: Arguments) -> Answer:
    plain = ["option1", "option2", "option3"]
    titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in ((1, "First"), (2, "Second"))]
    names = ["Option One", "Option Two", "Option Three"]
    fields = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": names},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await ask(call, "Please choose", fields, [], "choices")


@tool("test_input_required_result_elicitation")
async def input_elicitation(call: Call, _arguments: Arguments) -> Answer:
    given = await call.client.fill_in("What is your name?", NAME, ["name"], "user_name")
    return said(f"Hello, {given.get('name')}!")


@tool("test_input_required_result_list_roots")
async def input_roots(call: Call, _arguments: Arguments) -> Answer:
    listed = await call.client._list_roots()
    return said(", ".join(str(root.uri) for root in listed.roots) if listed else "no roots")


@tool("test_input_required_result_request_state")
async def input_state(call: Call, _arguments: Arguments) -> Answer:
    await call.client.fill_in("Please confirm", {"ok": {"type": "boolean"}}, ["ok"], "confirm")
    return said("state-ok")  # a state that was changed on the way never gets here


@tool("test_input_required_result_tampered_state")
async def input_tampered(call: Call, _arguments: Arguments) -> Answer:
    await call.client.fill_in("Please confirm", {"ok": {"type": "boolean"}}, ["ok"], "confirm")
    return said("untouched")


@tool("test_input_required_result_multi_round")
async def input_rounds(call: Call, _arguments: Arguments) -> Answer:
    name = await call.client.fill_in("Step 1: What is your name?", NAME, ["name"], "step1")
    color = {"color": {"type": "string"}}
    liked = await call.client.fill_in("Step 2: What is your favorite color?", color, ["color"], "step2")
    return said(f"{name.get('name')} likes {liked.get('color')}")


@tool("test_sampling", prompt={"type": "string"})
async def sampled(call: Call, arguments: Arguments) -> Answer:
    return said(f"LLM response: {await asked_model(call, arguments['prompt'])}")


@tool("test_input_required_result_sampling")
async def input_sampling(call: Call, _arguments: Arguments) -> Answer:
    return said(await asked_model(call, "What is the capital of France?"))


@tool("test_input_required_result_capabilities")
async def input_capabilities(call: Call, _arguments: Arguments) -> Answer:
    """The one that the client offers is asked: its user, else its model."""
    given = await call.client.fill_in("What is your name?", NAME, ["name"], "user_name")
    return said(given.get("name") or await asked_model(call, "Invent a name"))


async def asked_model(call: Call, text: str) -> str:
    if call.client.sampler() is None:
        raise IntendedError("the client offers no model")
    return (await sample(call.client, Question("", text, 100))).text


@tool("test_streaming_elicitation")
async def streamed_elicitation(call: Call, _arguments: Arguments) -> Answer:
    await call.client.report(1, 2, "asking")
    return await ask(call, "What is your name?", NAME, ["name"], "user_name")


@tool("test_missing_capability")
async def missing_capability(_call: Call, _arguments: Arguments) -> Answer:
    needed = {"requiredCapabilities": {"sampling": {}}}
    raise MCPError(types.MISSING_REQUIRED_CLIENT_CAPABILITY, "This needs sampling", needed)


answering("test_logging_tool", said("nothing was logged to the client"))

SCHEMA_2020_12: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


class WholeSchemaTool(Tool):
    """A tool whose schema is more than its arguments."""

    @property
    def input_schema(self) -> dict[str, Any]:
        return SCHEMA_2020_12


async def kept(_call: Call, _arguments: Arguments) -> Answer:
    return said("kept")


schema_tool = "json_schema_2020_12_tool"
TOOLS.append(WholeSchemaTool(schema_tool, schema_tool, schema_tool, {}, kept, output={}))


@tool("greet", name=TEXT)
async def greet(_call: Call, arguments: Arguments) -> Answer:
    return said(f"Hello, {arguments['name']}!")


@tool("slow_compute", TaskSupport.OPTIONAL, seconds={"type": "number"}, label=TEXT)
async def slow_compute(call: Call, arguments: Arguments) -> Answer:
    call.go_on_as_task()
    await asyncio.sleep(arguments["seconds"] or 0)
    return said("computed")


@tool("failing_job", TaskSupport.REQUIRED)
async def failing_job(call: Call, _arguments: Arguments) -> Answer:
    call.go_on_as_task()
    await asyncio.sleep(1)
    raise IntendedError("The job failed")


@tool("protocol_error_job", TaskSupport.OPTIONAL)
async def protocol_error_job(call: Call, _arguments: Arguments) -> Answer:
    call.go_on_as_task()
    raise MCPError(types.INTERNAL_ERROR, "The job broke")


@tool("confirm_delete", TaskSupport.OPTIONAL, filename=TEXT)
async def confirm_delete(call: Call, arguments: Arguments) -> Answer:
    call.go_on_as_task()
    agreed = await call.client.agrees(f"Delete {arguments['filename']}?")
    return said(f"{agreed.value}")


@tool("multi_input", TaskSupport.OPTIONAL)
async def multi_input(call: Call, _arguments: Arguments) -> Answer:
    call.go_on_as_task()
    asked = [call.client.fill_in(f"The {part}?", NAME, ["name"], part) for part in ("first", "second")]
    return said(json.dumps(await asyncio.gather(*asked)))


@tool("test_tool_with_task", TaskSupport.REQUIRED)
async def input_then_task(call: Call, _arguments: Arguments) -> Answer:
    given = await call.client.fill_in("What is your name?", NAME, ["name"], "user_name")
    call.go_on_as_task()
    await asyncio.sleep(0.2)
    return said(f"Hello, {given.get('name')}!")


RESOURCES: dict[str, types.TextResourceContents | types.BlobResourceContents] = {
    "test://static-text": types.TextResourceContents(
        uri="test://static-text",
        mime_type="text/plain",
        text="This is the content of the static text resource.",
    ),
    "test://static-binary": types.BlobResourceContents(
        uri="test://static-binary", mime_type="image/png", blob=PNG
    ),
}


async def list_resources(_context: Context, _params: Any) -> types.ListResourcesResult:
    listed = [
        types.Resource(uri=uri, name=uri[7:], description=uri, mime_type=found.mime_type)
        for uri, found in RESOURCES.items()
    ]
    return types.ListResourcesResult(resources=listed)


async def list_templates(_context: Context, _params: Any) -> types.ListResourceTemplatesResult:
    template = types.ResourceTemplate(
        uri_template="test://template/{id}/data", name="data", mime_type="application/json"
    )
    return types.ListResourceTemplatesResult(resource_templates=[template])


async def read(context: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
    uri = str(params.uri)
    if uri.startswith("test://template/"):
        identity = uri.split("/")[3]
        data = {"id": identity, "templateTest": True, "data": f"Data for ID: {identity}"}
        text = types.TextResourceContents(uri=uri, mime_type="application/json", text=json.dumps(data))
        return types.ReadResourceResult(contents=[text])
    if uri not in RESOURCES:
        modern = context.protocol_version in MODERN_PROTOCOL_VERSIONS
        code = types.INVALID_PARAMS if modern else RESOURCE_NOT_FOUND
        raise MCPError(code, "Resource not found", {"uri": uri})
    return types.ReadResourceResult(contents=[RESOURCES[uri]])


Messages = Callable[[dict[str, str]], list[types.ContentBlock]]
PROMPTS: dict[str, tuple[tuple[str, ...], Messages]] = {
    "test_simple_prompt": ((), lambda _: [types.TextContent(text="This is a simple prompt for testing.")]),
    "test_prompt_with_arguments": (
        ("arg1", "arg2"),
        lambda given: [
            types.TextContent(text=f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
        ],
    ),
    "test_prompt_with_embedded_resource": (
        ("resourceUri",),
        lambda given: [
            types.EmbeddedResource(
                resource=types.TextResourceContents(
                    uri=given["resourceUri"],
                    mime_type="text/plain",
                    text="Embedded resource content for testing.",
                )
            ),
            types.TextContent(text="Please process the embedded resource above."),
        ],
    ),
    "test_prompt_with_image": (
        (),
        lambda _: [
            types.ImageContent(data=PNG, mime_type="image/png"),
            types.TextContent(text="Please analyze the image above."),
        ],
    ),
}


async def list_prompts(_context: Context, _params: Any) -> types.ListPromptsResult:
    listed = [
        types.Prompt(
            name=name,
            description=name,
            arguments=[types.PromptArgument(name=each, description=each, required=True) for each in names],
        )
        for name, (names, _) in PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=listed)


async def get_prompt(_context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
    names, messages = PROMPTS[params.name]
    given = params.arguments or {}
    if missing := [name for name in names if not given.get(name)]:
        raise MCPError(types.INVALID_PARAMS, f"Missing required argument: {missing[0]}")
    content = [types.PromptMessage(role="user", content=block) for block in messages(given)]
    return types.GetPromptResult(description=params.name, messages=content)


async def complete(_context: Context, _params: Any) -> types.CompleteResult:
    return types.CompleteResult(completion=types.Completion(values=[], total=0, has_more=False))


def main() -> None:
    app = Gate(Registry(TOOLS), Engine(watching=True))
    add = app.server.add_request_handler
    add("resources/list", types.PaginatedRequestParams, list_resources)
    add("resources/templates/list", types.PaginatedRequestParams, list_templates)
    add("resources/read", types.ReadResourceRequestParams, read)
    add("prompts/list", types.PaginatedRequestParams, list_prompts)
    add("prompts/get", types.GetPromptRequestParams, get_prompt)
    add("completion/complete", types.CompleteRequestParams, complete)
    with listen("127.0.0.1", 0, "none") as listener:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}{PATH}\n")
        sys.stdout.flush()
        config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()

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

from findspot.core.errors import FindspotError
from findspot.llm import Prompt as Question
from findspot.serve.library import Library
from findspot.serve.mcp.client import sample
from findspot.serve.mcp.http_server import PATH, _listening, make_app
from findspot.serve.mcp.resources import Contents, Embedded, Offers, Prompt, PromptArgument, Resource
from findspot.serve.mcp.tool import (
    READ_ONLY,
    STATUS_ICON,
    TEXT,
    Answer,
    Arguments,
    Carried,
    Media,
    Registry,
    TaskSupport,
    Tool,
    gives,
    takes,
)
from findspot.serve.mcp.tool_call import Call

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
IMAGE, AUDIO = Media("image", PNG, "image/png"), Media("audio", WAV, "audio/wav")
NAME = {"name": {"type": "string"}}

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
        offered = Tool(name, name, name, takes(described), gives({}), READ_ONLY, STATUS_ICON, work)
        TOOLS.append(replace(offered, task_support=task))
        return work

    return offered


def said(text: str, *more: Any) -> Answer:
    return Answer({"status": "done"}, text, more=more)


def answering(name: str, answer: Answer) -> None:
    async def work(_call: Call, _arguments: Arguments) -> Answer:
        return answer

    tool(name)(work)


answering("test_simple_text", said("This is a simple text response for testing."))
answering("test_image_content", said("", IMAGE))
answering("test_audio_content", said("", AUDIO))
answering(
    "test_embedded_resource",
    said("", Carried("test://embedded-resource", "This is an embedded resource content.", "text/plain")),
)
answering(
    "test_multiple_content_types",
    said(
        "Multiple content types test:",
        IMAGE,
        Carried("test://mixed-content-resource", '{"test":"data","value":123}', "application/json"),
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
    content = await call.client.user.fill_in(message, fields, required, key)
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
    given = await call.client.user.fill_in("What is your name?", NAME, ["name"], "user_name")
    return said(f"Hello, {given.get('name')}!")


@tool("test_input_required_result_list_roots")
async def input_roots(call: Call, _arguments: Arguments) -> Answer:
    listed = await call.client.roots._list()
    return said(", ".join(str(root.uri) for root in listed.roots) if listed else "no roots")


@tool("test_input_required_result_request_state")
async def input_state(call: Call, _arguments: Arguments) -> Answer:
    await call.client.user.fill_in("Please confirm", {"ok": {"type": "boolean"}}, ["ok"], "confirm")
    return said("state-ok")  # a state that was changed on the way never gets here


@tool("test_input_required_result_tampered_state")
async def input_tampered(call: Call, _arguments: Arguments) -> Answer:
    await call.client.user.fill_in("Please confirm", {"ok": {"type": "boolean"}}, ["ok"], "confirm")
    return said("untouched")


@tool("test_input_required_result_multi_round")
async def input_rounds(call: Call, _arguments: Arguments) -> Answer:
    name = await call.client.user.fill_in("Step 1: What is your name?", NAME, ["name"], "step1")
    color = {"color": {"type": "string"}}
    liked = await call.client.user.fill_in("Step 2: What is your favorite color?", color, ["color"], "step2")
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
    given = await call.client.user.fill_in("What is your name?", NAME, ["name"], "user_name")
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
answering("json_schema_2020_12_tool", said("kept"))
TOOLS[-1] = replace(TOOLS[-1], input_schema=SCHEMA_2020_12)


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
    agreed = await call.client.user.agrees(f"Delete {arguments['filename']}?")
    return said(f"{agreed.value}")


@tool("multi_input", TaskSupport.OPTIONAL)
async def multi_input(call: Call, _arguments: Arguments) -> Answer:
    call.go_on_as_task()
    asked = [call.client.user.fill_in(f"The {part}?", NAME, ["name"], part) for part in ("first", "second")]
    return said(json.dumps(await asyncio.gather(*asked)))


@tool("test_tool_with_task", TaskSupport.REQUIRED)
async def input_then_task(call: Call, _arguments: Arguments) -> Answer:
    given = await call.client.user.fill_in("What is your name?", NAME, ["name"], "user_name")
    call.go_on_as_task()
    await asyncio.sleep(0.2)
    return said(f"Hello, {given.get('name')}!")


RESOURCES = {
    "test://static-text": Contents("text/plain", "This is the content of the static text resource."),
    "test://static-binary": Contents("image/png", blob=PNG),
}
OFFERED = (
    *(Resource(uri, uri[7:], uri[7:], uri, found.mime_type) for uri, found in RESOURCES.items()),
    Resource("test://template/{id}/data", "data", "Data", "Data of an id", "application/json"),
)


async def read(_call: Call, uri: str) -> Contents | None:
    if uri.startswith("test://template/"):
        identity = uri.split("/")[3]
        data = {"id": identity, "templateTest": True, "data": f"Data for ID: {identity}"}
        return Contents("application/json", json.dumps(data))
    return RESOURCES.get(uri)


PROMPTS = (
    Prompt("test_simple_prompt", "Simple", "Simple", (), lambda _: ["This is a simple prompt for testing."]),
    Prompt(
        "test_prompt_with_arguments",
        "Arguments",
        "With arguments",
        (PromptArgument("arg1", "First", required=True), PromptArgument("arg2", "Second", required=True)),
        lambda given: [f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'"],
    ),
    Prompt(
        "test_prompt_with_embedded_resource",
        "Embedded",
        "With a resource",
        (PromptArgument("resourceUri", "Which", required=True),),
        lambda given: [
            Embedded(given["resourceUri"], Contents("text/plain", "Embedded resource content for testing.")),
            "Please process the embedded resource above.",
        ],
    ),
    Prompt(
        "test_prompt_with_image",
        "Image",
        "With an image",
        (),
        lambda _: [IMAGE, "Please analyze the image above."],
    ),
)


def main() -> None:
    app = make_app(Registry(TOOLS), Library(), offers=Offers(OFFERED, read, PROMPTS))
    with _listening("127.0.0.1", 0) as listener:
        sys.stdout.write(f"http://127.0.0.1:{listener.getsockname()[1]}{PATH}\n")
        sys.stdout.flush()
        config = uvicorn.Config(app, log_config=None, timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listener])


if __name__ == "__main__":
    main()

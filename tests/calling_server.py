"""A small MCP server on pipes for tests of calls; needs nothing but Python.

Tools: echo (its arguments and its pid), content (every type), structured, failing (isError), hang (never
answers), block (no longer reads anything), ask (elicitation), large (`bytes` in one answer), chatty (floods
stdout and stderr), crash (exits with 3), grow (a new tool, and list_changed), child (starts a process that
ignores SIGTERM; its pid), cancelled (how many calls were), length (of `text`), half (a text cut inside a
character, which is also logged), deep (nested 50,000 times), invalid (no content), refuse (an error with a
code and data), environ, roots (those of the client), asking (listed to clients that can be asked), research
(a task; `steps`, and `ask` to ask in between), cancelled_tasks, add (`a` and `b`; needs both), count (three
steps of progress), wait (the same, without an answer), erase (may destroy something), plain (without hints).

Arguments: `offers` has resources, prompts and instructions too, `bad-start` exits at once, `silent` reads
nothing, `deaf` ignores the end of its input and SIGTERM. `log=FILE` gets a line for each call, when it begins
or is cancelled.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

HALF = "Party \ud83c"
LOCK = threading.Lock()
ANSWERS: dict[int, Any] = {}
ANSWERED = threading.Condition()
ADDED: list[str] = []
CANCELLED: list[Any] = []
CALLED: dict[Any, str] = {}
NAMES = [
    "echo", "content", "structured", "failing", "hang", "block", "ask", "large", "chatty",
    "crash", "grow", "child", "cancelled", "length",
    "half", "deep", "invalid", "refuse", "environ", "roots", "research",
    "cancelled_tasks", "add", "count", "wait", "erase", "plain",
]  # fmt: skip
HINTS = {"add": {"destructiveHint": False}, "erase": {"destructiveHint": True}, "plain": None}
"""Of tools that do not only read."""
LOG = next((word.partition("=")[2] for word in sys.argv if word.startswith("log=")), os.devnull)
TASKS: dict[str, dict[str, Any]] = {}
CLIENT: dict[str, Any] = {}
CANCELLED_TASKS: list[str] = []


def send(**message: Any) -> None:
    with LOCK:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def log(line: str) -> None:
    with open(LOG, "a") as file:  # noqa: PTH123
        file.write(line + "\n")


def text(value: str) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": value}]}


def request(method: str, params: dict[str, Any]) -> Any:
    """Ask the client, and wait for its answer."""
    number = len(ANSWERS) + 1_000
    with ANSWERED:
        ANSWERS[number] = None
    send(id=number, method=method, params=params)
    with ANSWERED:
        ANSWERED.wait_for(lambda: ANSWERS[number] is not None)
    return ANSWERS[number]


def content() -> dict[str, Any]:
    return {
        "content": [
            {"type": "text", "text": "words", "annotations": {"audience": ["user"], "priority": 0.5}},
            {"type": "image", "data": "aGk=", "mimeType": "image/png"},
            {"type": "audio", "data": "aGk=", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "note://1", "text": "inside", "mimeType": "text/plain"}},
            {"type": "resource_link", "uri": "note://2", "name": "second"},
        ],
        "_meta": {"example.com/kept": 1},
    }


def call(name: str, arguments: dict[str, Any], token: Any) -> dict[str, Any] | None:  # noqa: PLR0912
    """Return the result of a call; None if it never has one."""
    if name == "hang":
        return None
    if name == "cancelled":
        return text(str(len(CANCELLED)))
    if name == "echo":
        return text(json.dumps({"pid": os.getpid(), **arguments}))
    if name == "half":
        send(method="notifications/message", params={"level": "info", "data": HALF})
        return text(HALF)
    if name == "invalid":
        return {"contents": []}
    if name == "environ":
        return text(json.dumps(dict(os.environ)))
    if name == "roots":
        return text(json.dumps(request("roots/list", {})))
    if name == "cancelled_tasks":
        return text(json.dumps({"tasks": CANCELLED_TASKS}))
    if name == "length":
        return text(str(len(arguments["text"])))
    if name == "content":
        return content()
    if name == "structured":
        return {**text("{}"), "structuredContent": {"sum": 5}}
    if name == "failing":
        return {**text("no such note"), "isError": True}
    if name == "ask":
        schema = {"type": "object", "properties": {"colour": {"type": "string"}}}
        return text(
            json.dumps(request("elicitation/create", {"message": "Which?", "requestedSchema": schema}))
        )
    if name == "large":
        return text("x" * arguments["bytes"])
    if name == "chatty":
        for _ in range(arguments["lines"]):
            os.write(2, b"noise on stderr\n" * 100)
            os.write(1, b"noise on stdout\n" * 100)
        return text("done")
    if name == "grow":
        ADDED.append(arguments["name"])
        send(method="notifications/tools/list_changed")
        return text("grown")
    if name in ("count", "wait"):
        for step in (1, 2, 3):
            report = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}"}
            send(method="notifications/progress", params=report)
        return text("counted") if name == "count" else None
    if name == "add":
        total = arguments["a"] + arguments["b"]
        return {**text(str(total)), "structuredContent": {"status": total, "code": None}}
    if name in HINTS:
        return text(f"{name} {arguments}")
    if name == "child":
        code = "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); signal.pause()"
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        return text(str(child.pid))
    raise ValueError(name)


def tool(name: str) -> dict[str, Any]:
    described: dict[str, Any] = {"name": name, "description": f"Tool {name}."}
    described["annotations"] = HINTS.get(name, {"readOnlyHint": True})
    described["inputSchema"] = {"type": "object", "properties": {}}
    if name == "add":
        whole = {"type": "integer"}
        described["inputSchema"] |= {"properties": {"a": whole, "b": whole}, "required": ["a", "b"]}
    if name == "half":
        described["description"] = HALF
    if name == "research":
        described["execution"] = {"taskSupport": "required"}
    return described


def handle_task(number: Any, method: str, params: dict[str, Any]) -> None:
    """Answer a request about a task, which takes one step each time that it is asked about."""
    if method == "tools/call":
        arguments, token = params.get("arguments") or {}, params.get("_meta", {}).get("progressToken")
        task = {"taskId": f"task-{len(TASKS)}", "status": "working", "ttl": params["task"].get("ttl")}
        task |= {"createdAt": "2025-11-25T00:00:00Z", "lastUpdatedAt": "2025-11-25T00:00:00Z"}
        TASKS[task["taskId"]] = {"task": task | {"pollInterval": 1}, "left": 0, "token": token, **arguments}
        TASKS[task["taskId"]]["left"] = arguments.get("steps", 1)
        send(id=number, result={"task": TASKS[task["taskId"]]["task"]})
        return
    known = TASKS[params["taskId"]]
    if method == "tasks/cancel":
        CANCELLED_TASKS.append(params["taskId"])
        send(id=number, result=known["task"] | {"status": "cancelled"})
    elif method == "tasks/get":
        known["left"] -= 1
        if known["left"] <= 0 and known["task"]["status"] == "working":
            known["task"]["status"] = "input_required" if known.get("ask") else "completed"
        known["task"]["statusMessage"] = f"{known['left']} left"
        if known.get("reports"):
            progress = {"progressToken": known["token"], "progress": -known["left"]}
            send(method="notifications/progress", params=progress)
        send(id=number, result=known["task"])
    else:
        answer: Any = None
        if known.get("ask"):
            schema = {"type": "object", "properties": {}}
            answer = request("elicitation/create", {"message": "Which?", "requestedSchema": schema})
        related = {"io.modelcontextprotocol/related-task": {"taskId": params["taskId"]}}
        send(id=number, result={**text(json.dumps({"found": 42, "answer": answer})), "_meta": related})


def read(params: dict[str, Any]) -> dict[str, Any]:
    return {"contents": [{"uri": params["uri"], "text": f"the note {params['uri']} for {os.getpid()}"}]}


def ask_for(params: dict[str, Any]) -> dict[str, Any]:
    said = f"{params['name']} {params.get('arguments')}"
    return {"messages": [{"role": "user", "content": {"type": "text", "text": said}}]}


OFFERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "resources/list": lambda params: (
        {"resources": [{"uri": "note://2", "name": "second"}]}
        if params.get("cursor")
        else {"resources": [{"uri": "note://1", "name": "first"}], "nextCursor": "more"}
    ),
    "resources/templates/list": lambda _: {
        "resourceTemplates": [{"uriTemplate": "note://{id}", "name": "note"}]
    },
    "resources/read": read,
    "prompts/list": lambda _: {"prompts": [{"name": "summarise", "arguments": [{"name": "what"}]}]},
    "prompts/get": ask_for,
}


def handle(message: dict[str, Any]) -> None:
    method, params, number = message["method"], message.get("params") or {}, message["id"]
    if method == "initialize":
        CLIENT.update(params["capabilities"])
        about = {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {"listChanged": True}},
        }
        if "offers" in sys.argv:
            about["capabilities"] |= {"resources": {}, "prompts": {}}
            about["instructions"] = "Read the notes first."
        send(id=number, result={**about, "serverInfo": {"name": "calling", "version": "1"}})
    elif method in OFFERS:
        send(id=number, result=OFFERS[method](params))
    elif method == "ping":
        send(id=number, result={})
    elif method == "tools/list":
        asking = ["asking"] if {"elicitation", "roots"} <= CLIENT.keys() else []
        tools = [tool(name) for name in [*NAMES, *ADDED, *asking]]
        send(id=number, result={"tools": tools})
    elif method.startswith("tasks/") or (method == "tools/call" and "task" in params):
        handle_task(number, method, params)
    elif method == "tools/call":
        name = CALLED[number] = params["name"]
        log(name)
        if name == "deep":
            with LOCK:
                nested = "[" * 50_000 + "]" * 50_000
                sys.stdout.write(f'{{"jsonrpc":"2.0","id":{number},"result":{nested}}}\n')
                sys.stdout.flush()
            return
        if name in ("refuse", "research"):
            error = {
                "code": -32050,
                "message": f"{name} failed " + "x" * 5_000_000,
                "data": {"why": "no task"},
            }
            send(id=number, error=error)
            return
        if name not in [*NAMES, *ADDED]:
            send(id=number, error={"code": -32602, "message": f"Unknown tool: {name}"})
            return
        token = params.get("_meta", {}).get("progressToken")
        result = call(name, params.get("arguments") or {}, token)
        if result is not None:
            send(id=number, result=result)
    else:
        send(id=number, error={"code": -32601, "message": "Method not found"})


def main() -> None:
    if "bad-start" in sys.argv:
        sys.exit("there is no cheese")
    if "deaf" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "silent" in sys.argv:
        signal.pause()
    for line in sys.stdin:
        message = json.loads(line)
        name = message.get("params", {}).get("name")
        if name == "crash":
            sys.stderr.write("out of cheese\n")
            sys.stderr.flush()
            os._exit(3)
        if name == "block":
            signal.pause()
        if "method" not in message:
            with ANSWERED:
                ANSWERS[message["id"]] = message.get("result") or message.get("error")
                ANSWERED.notify_all()
        elif message["method"] == "notifications/cancelled":
            CANCELLED.append(message["params"]["requestId"])
            log(f"{CALLED.get(CANCELLED[-1])} cancelled")
        elif "id" in message:
            threading.Thread(target=handle, args=(message,), daemon=True).start()
    if "deaf" in sys.argv:
        signal.pause()


if __name__ == "__main__":
    main()

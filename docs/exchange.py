"""Record how an assistant uses Findspot, in the cookbook: `python docs/exchange.py`.

A real MCP client starts the server in a clone of the last commit, and calls one tool as an assistant does.
The whole first result is shown, and what the answer cost.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "cookbook.md"
BEGIN, END = "<!-- exchange:begin -->\n", "<!-- exchange:end -->"
QUESTION = "How do we recognise a binary file?"
TOOL = "search_code"
ARGUMENTS = {"query": "how is a file recognised as binary"}
_SECOND_RESULT = re.compile(r"^2\. ", re.MULTILINE)
_RESULT = re.compile(r"^\d+\. ", re.MULTILINE)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "findspot"
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{ROOT}", project], check=True)
        home = Path(folder) / "home"
        environment = os.environ | {"FINDSPOT_HOME": str(home)}
        index = [sys.executable, "-m", "findspot", "index", str(project), "--yes"]
        subprocess.run(index, env=environment, check=True, capture_output=True)
        answer = asyncio.run(ask(project, home))
    page = PAGE.read_text("utf-8")
    PAGE.write_text(with_exchange(page, exchange(answer)), "utf-8")


async def ask(project: Path, home: Path) -> str:
    """Return the text of the answer that a client gets from a server in a project."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "findspot", "serve", "--toolsets", "project"],
        cwd=str(project),
        env={**os.environ, "FINDSPOT_HOME": str(home)},
    )
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        answer = await session.call_tool(TOOL, ARGUMENTS)
    (text,) = [part.text for part in answer.content if part.type == "text"]
    return str(text)


def exchange(answer: str) -> str:
    """Return the exchange as Markdown."""
    first = _SECOND_RESULT.split(answer)[0].rstrip()
    others = len(_RESULT.findall(answer)) - 1
    tokens = round(len(answer) / 4, -1)
    return f"""
> **You:** {QUESTION}
>
> **Assistant** calls `{TOOL}` with `{json.dumps(ARGUMENTS)}` and gets:

```text
{first}
… {others} more results, {tokens:,.0f} tokens in all
```

"""


def with_exchange(page: str, text: str) -> str:
    """Return the page with another exchange between the markers."""
    before, _, rest = page.partition(BEGIN)
    return f"{before}{BEGIN}{text}{END}{rest.partition(END)[2]}"


def recorded(page: str) -> str:
    """Return the exchange between the markers."""
    return page.partition(BEGIN)[2].partition(END)[0]


if __name__ == "__main__":
    main()

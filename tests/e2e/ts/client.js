// Connects the TypeScript SDK's client, lists the tools, and makes the calls given as JSON in
// argv[2]: [[name, arguments], …]. Prints what came back. The client itself checks structured
// content against each tool's output schema, on errors too, and throws where it does not fit.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const { command, args, cwd, env, url, calls } = JSON.parse(process.argv[2]);
const client = new Client({ name: "typescript", version: "1" }, { capabilities: { elicitation: {} } });
const asked = [];
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: {} };
});

const transport = url
  ? new StreamableHTTPClientTransport(new URL(url))
  : new StdioClientTransport({ command, args, cwd, env });
await client.connect(transport);
const { tools } = await client.listTools();
const results = [];
const progress = [];
for (const [name, input] of calls) {
  const onprogress = (report) => progress.push(report.progress);
  results.push(await client.callTool({ name, arguments: input }, undefined, { onprogress }));
}
await client.close();
console.log(JSON.stringify({ tools, results, asked, progress, instructions: client.getInstructions() }));

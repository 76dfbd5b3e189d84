// A client of the MCP SDK for TypeScript.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const { TOOLS_URL, TOOLS_TOKEN } = process.env;
const server = TOOLS_URL
  ? new StreamableHTTPClientTransport(new URL(`${TOOLS_URL}/mcp`), {
      requestInit: { headers: { Authorization: `Bearer ${TOOLS_TOKEN}`, "X-Session-Id": "my-task" } },
    })
  : // a server of the client's own, for this directory
    new StdioClientTransport({ command: "tool-server", args: ["mcp", "--root", "."] });

const client = new Client({ name: "my-client", version: "1" });
await client.connect(server);
console.log((await client.listTools()).tools.map((tool) => tool.name));
for (const [name, args] of [
  ["write", { path: "notes.txt", content: "one\n" }],
  ["read", { path: "notes.txt" }],
  ["bash", { cmd: "wc -c notes.txt" }],
  ["read", { path: "/etc/passwd" }],
]) {
  const result = await client.callTool({ name, arguments: args }, undefined, { timeout: 600_000 });
  console.log(result.isError, result.content[0].text);
}
await client.close();

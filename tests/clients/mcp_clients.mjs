// Calls the tool server over MCP through the TypeScript SDK. The arguments are the address, the program and a
// directory that its tools may use.
import assert from "node:assert/strict";
import { dirname } from "node:path";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [server, program, root] = process.argv.slice(2);

async function calls(transport, where) {
  const client = new Client({ name: "a client", version: "1" }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: "decline" }));
  await client.connect(transport);
  await client.ping();
  const { tools } = await client.listTools();
  assert(tools.some((tool) => tool.name === "read" && tool.annotations.readOnlyHint), "it lists read");
  // The SDK checks each structured answer against the schema of its tool.
  const written = await client.callTool({ name: "write", arguments: { path: `${where}.txt`, content: "one\n" } });
  assert.equal(written.structuredContent.ok, true);
  const read = await client.callTool({ name: "read", arguments: { path: `${where}.txt` } });
  assert(read.content[0].text.includes("one"));
  const outside = await client.callTool({ name: "read", arguments: { path: "/etc/passwd" } });
  assert.equal(outside.isError, true);
  assert.equal(outside.structuredContent.meta.error.code, "PATH_OUTSIDE_ROOTS");
  const seen = [];
  const slow = await client.callTool({ name: "bash", arguments: { cmd: "sleep 2.5" } }, undefined, {
    onprogress: (progress) => seen.push(progress.progress),
  });
  assert.equal(slow.structuredContent.exit_code, 0);
  assert(seen.length >= 2, `progress: ${seen}`);
  const cancel = new AbortController();
  const cancelled = client.callTool({ name: "bash", arguments: { cmd: "sleep 60" } }, undefined, { signal: cancel.signal });
  setTimeout(() => cancel.abort("enough"), 500);
  await assert.rejects(cancelled);
  await client.close();
  console.log(`@modelcontextprotocol/sdk over ${where}`);
}

await calls(new StreamableHTTPClientTransport(new URL(`${server}/mcp`)), "http");
// It keeps its journal below HOME.
const env = { PATH: process.env.PATH, HOME: dirname(root) };
await calls(new StdioClientTransport({ command: program, args: ["mcp", "--root", root], env }), "stdio");

"""A client of the MCP SDK for Python, version 2."""

import asyncio
import os

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

if "TOOLS_URL" in os.environ:
    headers = {"Authorization": f"Bearer {os.environ['TOOLS_TOKEN']}", "X-Session-Id": "my-task"}
    http = httpx2.AsyncClient(headers=headers, timeout=600)
    server = streamable_http_client(f"{os.environ['TOOLS_URL']}/mcp", http_client=http)
else:  # a server of the client's own, for this directory
    server = StdioServerParameters(command="tool-server", args=["mcp", "--root", "."])


async def main():
    async with Client(server) as client:
        print([tool.name for tool in (await client.list_tools()).tools])
        for tool, arguments in [
            ("write", {"path": "notes.txt", "content": "one\n"}),
            ("read", {"path": "notes.txt"}),
            ("bash", {"cmd": "wc -c notes.txt"}),
            ("read", {"path": "/etc/passwd"}),
        ]:
            result = await client.call_tool(tool, arguments)
            print(result.is_error, result.content[0].text)


asyncio.run(main())

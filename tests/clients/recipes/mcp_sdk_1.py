"""A client of the MCP SDK for Python, version 1."""

import asyncio
import os

import httpx
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

if "TOOLS_URL" in os.environ:
    headers = {"Authorization": f"Bearer {os.environ['TOOLS_TOKEN']}", "X-Session-Id": "my-task"}
    http = httpx.AsyncClient(headers=headers, timeout=600)
    server = streamable_http_client(f"{os.environ['TOOLS_URL']}/mcp", http_client=http)
else:  # a server of the client's own, for this directory
    server = stdio_client(StdioServerParameters(command="tool-server", args=["mcp", "--root", "."]))


async def main():
    async with server as streams, ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        print([tool.name for tool in (await session.list_tools()).tools])
        for tool, arguments in [
            ("write", {"path": "notes.txt", "content": "one\n"}),
            ("read", {"path": "notes.txt"}),
            ("bash", {"cmd": "wc -c notes.txt"}),
            ("read", {"path": "/etc/passwd"}),
        ]:
            result = await session.call_tool(tool, arguments)
            print(result.isError, result.content[0].text)


asyncio.run(main())

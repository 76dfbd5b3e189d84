"""A client of fastmcp."""

import asyncio
import os

from fastmcp import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport

if "TOOLS_URL" in os.environ:
    headers = {"Authorization": f"Bearer {os.environ['TOOLS_TOKEN']}", "X-Session-Id": "my-task"}
    server = StreamableHttpTransport(f"{os.environ['TOOLS_URL']}/mcp", headers=headers)
else:  # a server of the client's own, for this directory
    server = StdioTransport("tool-server", ["mcp", "--root", "."])


async def main():
    async with Client(server) as client:
        print([tool.name for tool in await client.list_tools()])
        for tool, arguments in [
            ("write", {"path": "notes.txt", "content": "one\n"}),
            ("read", {"path": "notes.txt"}),
            ("bash", {"cmd": "wc -c notes.txt"}),
            ("read", {"path": "/etc/passwd"}),
        ]:
            result = await client.call_tool(tool, arguments, raise_on_error=False)
            print(result.structured_content["ok"], result.content[0].text)


asyncio.run(main())

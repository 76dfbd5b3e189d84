"""Calls the tool server over MCP through the Python SDK, in whichever version is installed, and fastmcp.

The arguments are the address, the program and a directory that its tools may use. Version 1 of the SDK speaks
the older revisions, in a session; version 2 the current one, too.
"""

import asyncio
import sys
from importlib.metadata import version
from os.path import dirname

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

server, program, root = sys.argv[1:4]
failed = []


def check(what, found, expected=True):
    if found != expected:
        failed.append(f"{what}: {found!r}, not {expected!r}")


def field(result, name):
    """Version 2 names the fields of a result as Python does."""
    other = {"structured_content": "structuredContent", "is_error": "isError", "output_schema": "outputSchema"}
    return getattr(result, name) if hasattr(result, name) else getattr(result, other[name])


async def calls(session, where):
    listed = await session.list_tools()
    names = [tool.name for tool in listed.tools]
    check(f"{where}: lists read and bash", {"read", "bash"} <= set(names))
    for tool in listed.tools:
        check(f"{where}: {tool.name} has a schema of its answers", field(tool, "output_schema")["type"], "object")
    written = await session.call_tool("write", {"path": f"{where}.txt", "content": "one\n"})
    check(f"{where}: writes", field(written, "is_error") or False, False)
    read = await session.call_tool("read", {"path": f"{where}.txt"})
    envelope = field(read, "structured_content")
    check(f"{where}: reads", (envelope["ok"], "one" in envelope["stdout"]), (True, True))
    check(f"{where}: says it as text", read.content[0].text.startswith("exit 0"))
    outside = await session.call_tool("read", {"path": "/etc/passwd"})
    check(f"{where}: is refused", field(outside, "is_error"), True)
    check(f"{where}: gets the code", field(outside, "structured_content")["meta"]["error"]["code"], "PATH_OUTSIDE_ROOTS")
    seen = []

    async def progress(done, total, message):
        seen.append(done)

    slow = await session.call_tool("bash", {"cmd": "sleep 2.5"}, progress_callback=progress)
    check(f"{where}: waits for a command", field(slow, "structured_content")["exit_code"], 0)
    check(f"{where}: sees its progress", len(seen) >= 2 and seen == sorted(seen))


async def in_session(streams, where):
    async with ClientSession(streams[0], streams[1]) as session:
        await session.initialize()
        await session.send_ping()
        await calls(session, where)


async def main():
    own = version("mcp")
    try:
        from mcp.client.streamable_http import streamable_http_client as http
    except ImportError:
        from mcp.client.streamable_http import streamablehttp_client as http
    # It keeps its journal below HOME.
    own_server = StdioServerParameters(command=program, args=["mcp", "--root", root], env={"HOME": dirname(root)})
    async with http(f"{server}/mcp") as streams:
        await in_session(streams, f"session-{own}")
    async with stdio_client(own_server) as streams:
        await in_session(streams, f"stdio-{own}")
    print(f"mcp {own}: over HTTP and over stdio")
    if own.startswith("1."):
        return
    from mcp import Client

    async with Client(f"{server}/mcp") as client:
        await calls(client, f"client-{own}")
    try:
        from fastmcp import Client as FastClient
    except ImportError:
        return
    async with FastClient(f"{server}/mcp") as client:
        names = [tool.name for tool in await client.list_tools()]
        check("fastmcp: lists read", "read" in names)
        result = await client.call_tool("ls", {"path": "."})
        check("fastmcp: lists files", result.structured_content["ok"])
        refused = await client.call_tool("read", {"path": "/etc/passwd"}, raise_on_error=False)
        check("fastmcp: is refused", refused.is_error)
    print(f"fastmcp {version('fastmcp')}: as a client")


asyncio.run(main())
for line in failed:
    print(f"  {line}")
sys.exit(1 if failed else 0)

"""Calls every tool through fastmcp's server made from the document, which checks each answer's schema."""

import asyncio
import sys
from importlib.metadata import version

import httpx2
from fastmcp import Client, FastMCP

from common import examples, get

server = sys.argv[1]


async def main():
    document = get(f"{server}/openapi.json")
    # The adapter resolves relative addresses itself only if the document has an absolute one.
    document["servers"] = [{"url": server}]
    made = FastMCP.from_openapi(document, httpx2.AsyncClient(base_url=server, trust_env=False))
    failed, offered = [], 0
    async with Client(made) as client:
        tools = {tool.name: tool for tool in await client.list_tools()}
        for name, arguments in examples(document, server):
            body = document["paths"][f"/tools/{name}"]["post"]["requestBody"]["content"]["application/json"]
            if set(tools[name].input_schema["properties"]) != set(body["schema"]["properties"]):
                failed.append(f"{name}: offers {sorted(tools[name].input_schema['properties'])}")
            offered += 1
            try:
                result = await client.call_tool(name, arguments)
                envelope = result.structured_content
                envelope = envelope.get("result", envelope)
                if not envelope["ok"]:
                    failed.append(f"{name}: {envelope['stderr'][:200]}")
            except Exception as error:
                failed.append(f"{name}: {type(error).__name__}: {str(error)[:300]}")
    called = offered - len({line.split(":")[0] for line in failed})
    print(f"fastmcp {version('fastmcp')}: {called} of {offered} tools called")
    for line in failed:
        print(f"  {line}")
    return failed


sys.exit(1 if asyncio.run(main()) else 0)

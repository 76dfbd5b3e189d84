"""An agent of LangChain on LangGraph."""

import asyncio
import os

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient
from langchain_mcp_adapters.tools import load_mcp_tools

if "TOOLS_URL" in os.environ:
    headers = {"Authorization": f"Bearer {os.environ['TOOLS_TOKEN']}", "X-Session-Id": "my-task"}
    server = {"transport": "http", "url": f"{os.environ['TOOLS_URL']}/mcp", "headers": headers}
else:  # a server of the agent's own, for this directory
    server = {"transport": "stdio", "command": "tool-server", "args": ["mcp", "--root", "."]}


async def main():
    # One session for all calls. `client.get_tools()` opens one for each, in which no file was read before.
    async with MultiServerMCPClient({"autonous": server}).session("autonous") as session:
        agent = create_agent("openai:gpt-5", await load_mcp_tools(session))
        question = {"role": "user", "content": "Write notes.txt, then read it."}
        print((await agent.ainvoke({"messages": [question]}))["messages"][-1].text)


asyncio.run(main())

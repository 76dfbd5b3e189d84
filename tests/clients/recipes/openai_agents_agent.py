"""An agent of the OpenAI Agents SDK."""

import asyncio
import os

from agents import Agent, Runner, set_default_openai_api
from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

set_default_openai_api("chat_completions")  # for servers of models that lack the Responses API

# A call may take long; the default ends it after five seconds.
if "TOOLS_URL" in os.environ:
    headers = {"Authorization": f"Bearer {os.environ['TOOLS_TOKEN']}", "X-Session-Id": "my-task"}
    where = {"url": f"{os.environ['TOOLS_URL']}/mcp", "headers": headers, "timeout": 600}
    server = MCPServerStreamableHttp(where, client_session_timeout_seconds=600)
else:  # a server of the agent's own, for this directory
    own = {"command": "tool-server", "args": ["mcp", "--root", "."]}
    server = MCPServerStdio(own, client_session_timeout_seconds=600)


async def main():
    async with server:
        agent = Agent("writer", model="gpt-5", mcp_servers=[server])
        print((await Runner.run(agent, "Write notes.txt, then read it.")).final_output)


asyncio.run(main())

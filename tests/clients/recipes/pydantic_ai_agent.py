"""An agent of pydantic-ai."""

import os

from fastmcp.client import Client
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset

if "TOOLS_URL" in os.environ:
    headers = {"Authorization": f"Bearer {os.environ['TOOLS_TOKEN']}", "X-Session-Id": "my-task"}
    server = StreamableHttpTransport(f"{os.environ['TOOLS_URL']}/mcp", headers=headers)
else:  # a server of the agent's own, for this directory
    server = StdioTransport("tool-server", ["mcp", "--root", "."])

# With `failed` the model reads every error; by default, a tool that fails twice in a row ends the run.
tools = MCPToolset(Client(server, timeout=600), tool_error_behavior="failed")
agent = Agent("openai-chat:gpt-5", toolsets=[tools])
print(agent.run_sync("Write notes.txt, then read it.").output)

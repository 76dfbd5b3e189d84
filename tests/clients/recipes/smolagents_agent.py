"""An agent of smolagents."""

import os

from mcp import StdioServerParameters
from smolagents import MCPClient, OpenAIModel, ToolCallingAgent

if "TOOLS_URL" in os.environ:
    headers = {"Authorization": f"Bearer {os.environ['TOOLS_TOKEN']}", "X-Session-Id": "my-task"}
    server = {"url": f"{os.environ['TOOLS_URL']}/mcp", "transport": "streamable-http", "headers": headers}
else:  # a server of the agent's own, for this directory
    server = StdioServerParameters(command="tool-server", args=["mcp", "--root", "."])

# `connect_timeout` also ends calls.
with MCPClient(server, {"connect_timeout": 600}, structured_output=False) as tools:
    for argument in [argument for tool in tools for argument in tool.inputs.values()]:
        argument["nullable"] = True  # else smolagents refuses calls that leave out an optional argument
    agent = ToolCallingAgent(tools, OpenAIModel("gpt-5"))
    print(agent.run("Write notes.txt, then read it."))

"""Runs the scenarios of the MCP conformance suite that hold for a server with tools of its own.

The arguments are the address, Node.js and the suite. The suite's other scenarios call tools, prompts and
resources of its own example server, which no other server has, or test what this server does not offer;
docs/mcp.md says which.
"""

import subprocess
import sys

server, node, suite = sys.argv[1:4]

SCENARIOS = [
    "server-initialize",
    "ping",
    "tools-list",
    "tools-call-simple-text",
    "tools-call-error",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]


def passes(scenario):
    command = [node, suite, "server", "--url", f"{server}/mcp", "--scenario", scenario]
    ended = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    results = [line for line in ended.stdout.splitlines() if line.startswith("Passed: ")]
    print(f"{scenario}: {results[-1] if results else ended.stdout[-400:]}")
    return ended.returncode == 0


sys.exit(0 if all([passes(scenario) for scenario in SCENARIOS]) else 1)

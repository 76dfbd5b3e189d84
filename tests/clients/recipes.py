"""Runs the recipes of docs/clients.md as they stand there: over HTTP, and over stdio where they can.

The arguments are the directory of the clients that are installed, and that of the built programs. Agents ask the
played model; all others print what they got. Each runs with a server of its own, with the default rules.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from common import start, stop
from played_model import ANSWER, CALLS, PlayedModel

RECIPES = Path(__file__).resolve().parent / "recipes"
SECONDS = 120
TOKEN = "FAKE-token-of-recipes"

tools, programs = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
PYTHON, PYTHON_1 = tools / "py/bin/python", tools / "py1/bin/python"
TSC = [tools / "js/node_modules/.bin/tsc", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext"]

# The file, its package, whether it also starts a server over stdio, and how it is run.
ALL = [
    ("python_client.py", "openapi-python-client", False, [["sh", "python_client.sh"], [PYTHON, "python_client.py"]]),
    ("fastmcp_client.py", "fastmcp", True, [[PYTHON, "fastmcp_client.py"]]),
    ("mcp_sdk.py", "mcp", True, [[PYTHON, "mcp_sdk.py"]]),
    ("mcp_sdk_1.py", "mcp", True, [[PYTHON_1, "mcp_sdk_1.py"]]),
    ("pydantic_ai_agent.py", "pydantic-ai-slim", True, [[PYTHON, "pydantic_ai_agent.py"]]),
    ("openai_agents_agent.py", "openai-agents", True, [[PYTHON, "openai_agents_agent.py"]]),
    ("smolagents_agent.py", "smolagents", True, [[PYTHON_1, "smolagents_agent.py"]]),
    ("langgraph_agent.py", "langchain-mcp-adapters", True, [[PYTHON_1, "langgraph_agent.py"]]),
    ("typescript_client.ts", "openapi-fetch", False,
     [["sh", "typescript_client.sh"], [*TSC, "typescript_client.ts"], ["node", "typescript_client.js"]]),
    ("mcp_sdk.mjs", "@modelcontextprotocol/sdk", True, [["node", "mcp_sdk.mjs"]]),
]


def version(package, commands):
    if commands[-1][0] == "node":
        return json.loads((tools / "js/node_modules" / package / "package.json").read_text())["version"]
    show = [commands[-1][0], "-c", f"import importlib.metadata as all; print(all.version('{package}'))"]
    return subprocess.run(show, check=True, text=True, stdout=subprocess.PIPE).stdout.strip()


def attempt(name, over, commands):
    """Runs a recipe; returns what was not as it should be."""
    with tempfile.TemporaryDirectory(prefix="autonous-recipe-") as scratch, PlayedModel() as model:
        scratch = Path(scratch)
        directory = scratch / ("root" if over == "stdio" else "client")
        directory.mkdir()
        for file in RECIPES.glob(f"{name.split('.')[0]}.*"):
            shutil.copy(file, directory)
        (directory / "node_modules").symlink_to(tools / "js/node_modules")
        environment = {
            "PATH": f"{programs}:{tools / 'py/bin'}:{os.environ['PATH']}", "HOME": str(scratch), "NO_PROXY": "127.0.0.1",
            "OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "FAKE-key", "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }
        server = None
        if over == "HTTP":
            server, url = start(programs, scratch, AUTONOUS_TOOL_TOKEN=TOKEN)
            environment |= {"TOOLS_URL": url, "TOOLS_TOKEN": TOKEN}
        try:
            said = run(commands, directory, environment)
        except subprocess.SubprocessError as error:
            return [f"{error}: {(error.stdout or b'')[-2000:]!r}"]
        finally:
            if server:
                stop(server)
    if not name.split(".")[0].endswith("_agent"):
        expected = ["one", "4 notes.txt", "PATH_OUTSIDE_ROOTS"]
        return [f"it prints no {part!r}: {said[-2000:]}" for part in expected if part not in said]
    problems = model.problems + ([] if ANSWER in said else [f"it prints no answer: {said[-2000:]}"])
    return problems + ([] if model.asked == len(CALLS) + 1 else [f"it asked the model {model.asked} times"])


def run(commands, directory, environment):
    said = b""
    for command in commands:
        ended = subprocess.run(command, cwd=directory, env=environment, timeout=SECONDS, check=True,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        said += ended.stdout
    return said.decode(errors="replace")


def main():
    runs = [(name, package, over, commands) for name, package, stdio, commands in ALL
            for over in (["HTTP", "stdio"] if stdio else ["HTTP"])]
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda one: attempt(one[0], one[2], one[3]), runs))
    for (name, package, over, commands), problems in zip(runs, results):
        print(f"{package} {version(package, commands)} over {over}: {'FAILED' if problems else 'passed'}")
        for problem in problems:
            print(f"  {name}: {problem}")
    print(f"{sum(not problems for problems in results)} of {len(runs)} recipes passed")
    sys.exit(1 if any(results) else 0)


if __name__ == "__main__":
    main()

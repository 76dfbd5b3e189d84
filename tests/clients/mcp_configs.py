"""Gives Claude Code and Codex the configuration that docs/mcp.md shows, and has each of them say what it read.

The arguments are the programs of npm, the address, the token and the directory of the built programs. Claude
Code also connects. None of them asks a model or needs an account for this.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

bin, server, token, programs = Path(sys.argv[1]), *sys.argv[2:5]
PAGE = (Path(__file__).resolve().parents[2] / "docs/mcp.md").read_text()
problems = []


def blocks(kind, part):
    """The blocks of the page of one kind, with what this machine has in place of what the page makes up."""
    found = [block for block in re.findall(rf"```{kind}\n(.*?)```", PAGE, re.S) if part in block]
    if not found:
        sys.exit(f"docs/mcp.md shows no {part}")
    for page, here in [("/path/to/tool-server", f"{programs}/tool-server"), ("/path/to/project", os.getcwd()),
                       ("http://127.0.0.1:8701", server), ("choose-a-long-one", token)]:
        found = [block.replace(page, here) for block in found]
    return found


def expect(what, said, *parts):
    for part in parts:
        if part not in said:
            problems.append(f"{what} says no {part!r}: {said[-1000:]}")


def run(command, environment):
    shell = isinstance(command, str)
    ended = subprocess.run(command, shell=shell, env=environment, text=True, timeout=120, stdin=subprocess.DEVNULL,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if ended.returncode != 0:
        problems.append(f"{command}: exit {ended.returncode}: {ended.stdout[-1000:]}")
    return ended.stdout


def environment(home):
    return {"PATH": f"{bin}:{os.environ['PATH']}", "HOME": str(home), "CODEX_HOME": str(home / ".codex"),
            "NO_PROXY": "127.0.0.1", "AUTONOUS_TOOL_TOKEN": token, "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1"}


def in_home(act):
    with tempfile.TemporaryDirectory(prefix="autonous-home-") as home:
        (Path(home) / ".codex").mkdir()
        return act(Path(home))


def claude(line):
    def act(home):
        run(line, environment(home))
        expect("claude mcp list", run(["claude", "mcp", "list"], environment(home)), "autonous", "Connected")
    in_home(act)


def codex(block):
    def act(home):
        (home / ".codex/config.toml").write_text(block)
        said = run(["codex", "mcp", "list", "--json"], environment(home))
        expect("codex mcp list", said, *tomllib.loads(block)["mcp_servers"])
        expect("codex mcp list", said, *(word for word in [server, f"{programs}/tool-server"] if word in block))
    in_home(act)


lines, tables = blocks("sh", "claude mcp add"), blocks("toml", "[mcp_servers.")
for line in lines:
    claude(line)
for table in tables:
    codex(table)
files = [json.loads(block)["mcpServers"]["autonous"] for block in blocks("json", "mcpServers")]
for entry in files:
    if not {"command", "args"} <= set(entry) and not {"url", "headers"} <= set(entry):
        problems.append(f"an entry of mcp.json is {entry}")

for program in ["claude", "codex"]:
    print(in_home(lambda home: run([program, "--version"], environment(home))).strip())
print(f"{len(lines)} lines for Claude Code, {len(tables)} tables for Codex, {len(files)} files for others")
for problem in problems:
    print(f"  {problem}")
sys.exit(1 if problems else 0)

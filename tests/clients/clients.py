#!/usr/bin/env python3
"""Holds the tool server's document and answers against other people's clients, linters and fuzzers, what the
bot sent in the tests against a library's types, and the page against the rules of accessibility.

Nothing of it is part of this project, and only the fuzzer (fuzz.py) is part of CI. It is installed into
CLIENTS_DIR (a temporary directory if that is not set), from PyPI and npm. The arguments are the directory of the
built programs, and that of the records of the tests' Telegram.
"""

import os, shutil, subprocess, sys, tempfile
from pathlib import Path

from common import ALLOW_ALL, start, stop

HERE = Path(__file__).resolve().parent
FUZZING_SECONDS = 60
TOKEN = "FAKE-token-of-clients"


def run(what, command, directory, environment=None):
    """Runs one client; prints the end of what it says, and returns whether it is content."""
    print(f"== {what}", flush=True)
    ended = subprocess.run([str(word) for word in command], cwd=directory, env=environment, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print("\n".join(ended.stdout.strip().splitlines()[-40:]), flush=True)
    print(f"   {'passed' if ended.returncode == 0 else 'FAILED'}", flush=True)
    return ended.returncode == 0


def install(directory):
    if not (directory / "py").exists():
        subprocess.run([sys.executable, "-m", "venv", directory / "py"], check=True)
        pip = [directory / "py/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", HERE / "requirements.txt"], check=True)
    if not (directory / "py1").exists():
        # The first version of the MCP SDK, which some agents still need.
        subprocess.run([sys.executable, "-m", "venv", directory / "py1"], check=True)
        pip = [directory / "py1/bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "-r", HERE / "requirements-mcp1.txt"], check=True)
    if not (directory / "wheels").exists():
        # Without what it needs, which is gigabytes. It does not run on every version of Python.
        pip = [directory / "py/bin/pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        subprocess.run([*pip, "--ignore-requires-python", "--dest", directory / "wheels", "open-webui"], check=True)
    if not (directory / "js").exists():
        (directory / "js").mkdir()
        shutil.copy(HERE / "package.json", directory / "js")
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=directory / "js", check=True)


def main():
    programs = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="autonous-clients-") as scratch:
        scratch = Path(scratch)
        tools = Path(os.environ.get("CLIENTS_DIR") or scratch / "clients").resolve()
        tools.mkdir(parents=True, exist_ok=True)
        install(tools)
        server, url = start(programs, scratch, ALLOW_ALL)
        try:
            passed = check_all(tools, scratch, url, Path(sys.argv[2]).resolve())
            passed += check_mcp(tools, scratch, url, programs)
        finally:
            stop(server)
        passed += check_recipes(tools, scratch, programs)
        passed += check_page(scratch, programs)
    print(f"{sum(passed)} of {len(passed)} passed")
    sys.exit(0 if all(passed) else 1)


def check_all(tools, scratch, url, records):
    python, bin = tools / "py/bin/python", tools / "js/node_modules/.bin"
    document = scratch / "openapi.json"
    subprocess.run(["curl", "-fsS", "--noproxy", "*", "-o", document, f"{url}/openapi.json"], check=True)
    for file in ["calls.ts", "spectral.yaml", "redocly.yaml"]:
        shutil.copy(HERE / file, scratch)
    (scratch / "node_modules").symlink_to(tools / "js/node_modules")
    environment = os.environ | {"PYTHONPATH": str(HERE), "PYTHONDONTWRITEBYTECODE": "1"}
    # The generator calls ruff by its name.
    environment["PATH"] = f"{tools / 'py/bin'}:{environment['PATH']}"
    generate = [tools / "py/bin/openapi-python-client", "generate", "--path", document, "--meta", "none",
                "--fail-on-warning", "--output-path", scratch / "generated/tool_server_client"]
    (scratch / "generated").mkdir()
    tsc = [bin / "tsc", "--strict", "--skipLibCheck", "--target", "es2022", "--module", "nodenext", "calls.ts",
           "every_tool.ts"]
    every_tool = subprocess.run([python, HERE / "every_tool.py", document, url], check=True, env=environment, text=True,
                                stdout=subprocess.PIPE)
    (scratch / "every_tool.ts").write_text(every_tool.stdout)
    # The generator's own client.py is not for us to check.
    mypy = [python, "-m", "mypy", "--no-incremental", "--follow-imports", "silent", "-p", "tool_server_client.models",
            "-p", "tool_server_client.api"]
    return [
        run("openapi-spec-validator", [python, "-m", "openapi_spec_validator", document], scratch),
        run("redocly", [bin / "redocly", "lint", "--config", "redocly.yaml", document], scratch),
        run("spectral", [bin / "spectral", "lint", "--ruleset", "spectral.yaml", "--fail-severity", "warn", document], scratch),
        run("openapi-python-client", generate, scratch, environment),
        run("its calls", [python, HERE / "generated.py", url, scratch / "generated/tool_server_client"], scratch, environment),
        run("mypy on its types", mypy, scratch / "generated"),
        run("openapi-typescript", [bin / "openapi-typescript", document, "-o", "schema.ts"], scratch),
        run("tsc --strict", tsc, scratch),
        run("its calls", ["node", "calls.js", url], scratch),
        run("every tool's data", ["node", "every_tool.js", url], scratch),
        run("fastmcp", [python, HERE / "mcp_server.py", url], scratch, environment),
        run("the vendors' SDKs", [python, HERE / "vendors.py", url], scratch, environment),
        run("aiogram's types", [python, HERE / "telegram_types.py", records], scratch, environment),
    ]


def check_mcp(tools, scratch, url, programs):
    """The Model Context Protocol: other people's clients over HTTP and over stdio, and the conformance suite."""
    modules = tools / "js/node_modules"
    shutil.copy(HERE / "mcp_clients.mjs", scratch)
    arguments = [url, programs / "tool-server", scratch / "root"]
    # The suite needs a newer Node.js than many systems have.
    suite = [modules / ".bin/node", modules / "@modelcontextprotocol/conformance/dist/index.js"]
    return [
        run("MCP, Python SDK 2 and fastmcp", [tools / "py/bin/python", HERE / "mcp_clients.py", *arguments], scratch),
        run("MCP, Python SDK 1", [tools / "py1/bin/python", HERE / "mcp_clients.py", *arguments], scratch),
        run("MCP, TypeScript SDK", ["node", "mcp_clients.mjs", *arguments], scratch),
        run("MCP, conformance", [sys.executable, HERE / "conformance.py", url, *suite], scratch),
    ]


def check_recipes(tools, scratch, programs):
    """What docs/clients.md and docs/mcp.md show, each with a server of its own, and the fuzzer with another."""
    python, environment = tools / "py/bin/python", os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "NO_PROXY": "127.0.0.1"}
    (scratch / "recipes").mkdir()
    server, url = start(programs, scratch / "recipes", AUTONOUS_TOOL_TOKEN=TOKEN)
    [wheel] = (tools / "wheels").glob("open_webui-*.whl")
    open_webui = [python, HERE / "open_webui.py", wheel, HERE / "recipes/open_webui.json", url, TOKEN]
    configs = [sys.executable, HERE / "mcp_configs.py", tools / "js/node_modules/.bin", url, TOKEN, programs]
    fuzz = [sys.executable, HERE / "fuzz.py", programs, tools / "py", "--max-time", FUZZING_SECONDS]
    try:
        passed = [
            run("Open WebUI", open_webui, scratch, environment),
            run("Claude Code and Codex", configs, scratch / "root", environment),
        ]
    finally:
        stop(server)
    return [
        *passed,
        run("the recipes of docs/clients.md", [sys.executable, HERE / "recipes.py", tools, programs], scratch, environment),
        run("schemathesis", fuzz, scratch, environment),
    ]


def check_page(scratch, programs):
    """The page of the control port, in Chromium."""
    shutil.copy(HERE / "page.mjs", scratch)
    return [run("axe-core on the page", ["node", "page.mjs", programs, scratch], scratch)]


if __name__ == "__main__":
    main()

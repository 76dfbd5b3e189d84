"""What the scripts for the clients share: a tool server, requests, and the examples of the document."""

import json
import os
import signal
import socket
import subprocess
import time
import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

# `write` makes what the others change; `delete` removes it.
LAST = ["write", "read", "edit", "multi_edit", "delete"]


START_SECONDS = 60
ALLOW_ALL = '[[rule]]\ndecision = "allow"\n'


def start(programs, directory, policy="", **variables):
    """A tool server with an empty root, in this directory; the process and its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    (directory / "root").mkdir(exist_ok=True)
    (directory / "config").mkdir()
    (directory / "config" / "policy.toml").write_text(policy)
    environment = {
        "PATH": os.environ["PATH"], "AUTONOUS_TOOL_LISTEN": address, "AUTONOUS_CONFIG_DIR": str(directory / "config"),
        "AUTONOUS_TOOL_ALLOWED_ROOTS": str(directory / "root"), "AUTONOUS_DATA_DIR": str(directory / "data"),
    }
    with open(directory / "log", "wb") as log:
        server = subprocess.Popen([programs / "tool-server"], env=environment | variables, cwd=directory, stdout=log,
                                  stderr=log)
    host, port = address.split(":")
    end = time.monotonic() + START_SECONDS
    while socket.socket().connect_ex((host, int(port))) != 0:
        if time.monotonic() > end or server.poll() is not None:
            raise SystemExit((directory / "log").read_text())
        time.sleep(0.02)
    return server, f"http://{address}"


def stop(server):
    server.send_signal(signal.SIGTERM)
    server.wait(timeout=30)


def get(url, token=None):
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with OPENER.open(urllib.request.Request(url, headers=headers), timeout=30) as answer:
        return json.load(answer)


def start_process(server, session):
    """The ID of a background process that outlives the examples."""
    headers = {"Content-Type": "application/json", "X-Session-Id": session}
    body = json.dumps({"cmd": "cat", "background": True}).encode()
    with OPENER.open(urllib.request.Request(f"{server}/tools/bash", body, headers), timeout=30) as answer:
        return json.load(answer)["meta"]["data"]["process_id"]


def examples(document, server, session="default"):
    """Each tool with the example of its arguments, in an order in which all of them succeed."""
    found = {}
    for path, item in document["paths"].items():
        if path.startswith("/tools/"):
            body = item["post"]["requestBody"]["content"]["application/json"]
            found[path.removeprefix("/tools/")] = body["example"]
    for arguments in found.values():
        if "process_id" in arguments:
            arguments["process_id"] = start_process(server, session)
    position = lambda tool: LAST.index(tool) if tool in LAST else -1
    return sorted(found.items(), key=lambda entry: position(entry[0]))

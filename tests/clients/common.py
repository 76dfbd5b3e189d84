"""What the scripts for the clients share: requests, and the examples of the document."""

import json
import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

# `write` makes what the others change; `delete` removes it.
LAST = ["write", "read", "edit", "multi_edit", "delete"]


def get(url):
    with OPENER.open(url, timeout=30) as answer:
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

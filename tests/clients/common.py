"""What the scripts for the clients share: requests, and the examples of the document."""

import json
import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

# `write` makes what the others change; `delete` removes it.
LAST = ["write", "read", "edit", "multi_edit", "delete"]


def get(url):
    with OPENER.open(url, timeout=30) as answer:
        return json.load(answer)


def examples(document):
    """Each tool with the example of its arguments, in an order in which all of them succeed."""
    found = {}
    for path, item in document["paths"].items():
        if path.startswith("/tools/"):
            body = item["post"]["requestBody"]["content"]["application/json"]
            found[path.removeprefix("/tools/")] = body["example"]
    position = lambda tool: LAST.index(tool) if tool in LAST else -1
    return sorted(found.items(), key=lambda entry: position(entry[0]))

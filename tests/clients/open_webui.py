"""Reads the document and calls tools as Open WebUI does, with its own functions and the recipe's connection.

The whole of Open WebUI needs gigabytes of other packages. So the functions that make tools of a document, and
those that call them, are taken out of its wheel and run with what little they need. The arguments are the
wheel, the recipe, the address and the token.
"""

import __future__
import ast
import asyncio
import base64
import copy
import json
import logging
import re
import sys
import typing
import zipfile
from pathlib import Path
from urllib.parse import quote, urlencode

import aiohttp

from common import get

wheel, recipe, server, token = sys.argv[1:5]

# What of each of its files is run.
PARTS = {
    "open_webui/utils/misc.py": ["_strip_filter_entry", "get_allow_block_lists", "is_string_allowed"],
    "open_webui/utils/headers.py": [
        "USER_GROUPS_PLACEHOLDERS", "normalize_bearer_token", "bearer_auth_header", "parse_custom_headers",
        "custom_headers_require_user_groups", "get_user_groups_for_custom_headers", "get_custom_headers",
    ],
    "open_webui/utils/tools.py": [
        "OPENAPI_HTTP_METHODS", "add_terminal_display_file_inline_param", "build_tool_server_headers", "clean_properties",
        "clean_openai_tool_schema", "resolve_schema", "convert_openapi_to_tool_payload", "get_tool_server_data",
        "get_tool_servers_data", "execute_tool_server", "get_tool_server_url",
    ],
}


def functions():
    its = {
        **vars(typing), "aiohttp": aiohttp, "asyncio": asyncio, "base64": base64, "copy": copy, "re": re, "quote": quote,
        "urlencode": urlencode, "punctuation": "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", "JSONCodec": json,
        "log": logging.getLogger("open_webui"), "ENABLE_TOOL_SERVERS": True, "ENABLE_FORWARD_USER_INFO_HEADERS": False,
        "AIOHTTP_CLIENT_ALLOW_REDIRECTS": False, "AIOHTTP_CLIENT_SESSION_TOOL_SERVER_SSL": True,
        "AIOHTTP_CLIENT_TIMEOUT_TOOL_SERVER": 60, "AIOHTTP_CLIENT_TIMEOUT_TOOL_SERVER_DATA": 10,
    }
    with zipfile.ZipFile(wheel) as files:
        for file, names in PARTS.items():
            module = ast.parse(files.read(file))
            found = {name_of(node): node for node in module.body}
            missing = [name for name in names if name not in found]
            if missing:
                sys.exit(f"{file} of this version of Open WebUI has no {', '.join(missing)}: look where they are now")
            module.body = [found[name] for name in names]
            exec(compile(module, file, "exec", __future__.annotations.compiler_flag), its)
    return its


def name_of(node):
    return node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else (
        getattr(node, "name", None))


async def main():
    its, problems = functions(), []
    [connection] = json.loads(Path(recipe).read_text())
    connection |= {"url": server, "key": token}
    [found] = await its["get_tool_servers_data"]([connection])
    allowed = connection["config"]["function_name_filter_list"].split(",")
    specs = {spec["name"]: its["clean_openai_tool_schema"](spec) for spec in found["specs"]
             if its["is_string_allowed"](spec["name"], allowed)}
    listed = {tool["name"]: tool["input_schema"] for tool in get(f"{server}/tools", token)["tools"]}
    if set(specs) != set(listed):
        problems.append(f"its functions are {sorted(specs)}, not {sorted(listed)}")
    for name, spec in specs.items():
        schema = listed.get(name, {})
        if set(spec["parameters"]["properties"]) != set(schema.get("properties", {})):
            problems.append(f"{name} has the arguments {sorted(spec['parameters']['properties'])}")
        if sorted(spec["parameters"]["required"]) != sorted(schema.get("required", [])):
            problems.append(f"{name} requires {spec['parameters']['required']}")
        if not spec["description"] or "$ref" in json.dumps(spec):
            problems.append(f"{name} is {spec}")
    headers, cookies = await its["build_tool_server_headers"](connection, None, None, metadata={"chat_id": "a-chat"})
    headers.setdefault("Content-Type", "application/json")
    for tool, arguments, expected in [
        ("write", {"path": "notes.txt", "content": "one\n"}, "exit 0"),
        ("read", {"path": "notes.txt"}, "one"),
        ("edit", {"path": "notes.txt", "find": "one", "replace": "three"}, "exit 0"),
        ("bash", {"cmd": "wc -c notes.txt"}, "6 notes.txt"),
        ("read", {"path": "/etc/passwd"}, "PATH_OUTSIDE_ROOTS"),
        ("bash", {"cmd": "exit 3"}, "exit 3"),
    ]:
        said, _ = await its["execute_tool_server"](server, headers, cookies, tool, arguments, found)
        if expected not in str(said):
            problems.append(f"{tool}: the model reads {said!r}, which has no {expected!r}")
    print(f"Open WebUI {Path(wheel).name.split('-')[1]}: {len(specs)} functions of {len(found['specs'])} operations, 6 calls")
    for problem in problems:
        print(f"  {problem}")
    sys.exit(1 if problems else 0)


asyncio.run(main())

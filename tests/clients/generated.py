"""Calls every tool through the client that openapi-python-client generated, and holds each answer's type."""

import importlib
import sys
from importlib.metadata import version
from pathlib import Path

from common import examples, get

server, package = sys.argv[1], Path(sys.argv[2])
sys.path.insert(0, str(package.parent))
client = importlib.import_module(f"{package.name}").Client(base_url=server)
models = importlib.import_module(f"{package.name}.models")
failed, called = [], 0


def body_of(api):
    return api.sync.__annotations__["body"]


def call(tool, arguments):
    api = importlib.import_module(f"{package.name}.api.tools.{tool}")
    body = body_of(api)
    body = body if isinstance(body, type) else getattr(models, str(body).split(" | ")[0].strip("'"))
    return api.sync(client=client, body=body.from_dict(arguments))


for tool, arguments in examples(get(f"{server}/openapi.json"), server):
    called += 1
    expected = "".join(word.capitalize() for word in tool.split("_")) + "Result"
    try:
        answer = call(tool, arguments)
        if type(answer).__name__ != expected or not answer.ok:
            failed.append(f"{tool}: {type(answer).__name__}, {getattr(answer, 'stderr', answer)}")
        elif type(answer.meta.data).__name__ != expected.replace("Result", "Data"):
            failed.append(f"{tool}: data of {type(answer.meta.data).__name__}")
    except Exception as error:
        failed.append(f"{tool}: {type(error).__name__}: {str(error)[:200]}")

for path, code in [("nope", "NOT_FOUND"), ("/etc", "PATH_OUTSIDE_ROOTS")]:
    called += 1
    try:
        answer = call("ls", {"path": path})
        if type(answer).__name__ != "ToolFailure" or str(answer.meta.error.code) != code:
            failed.append(f"ls {path}: {type(answer).__name__}")
    except Exception as error:
        failed.append(f"ls {path}: {type(error).__name__}: {str(error)[:200]}")

print(f"openapi-python-client {version('openapi-python-client')}: {called - len(failed)} of {called} answers typed")
for line in failed:
    print(f"  {line}")
sys.exit(1 if failed else 0)

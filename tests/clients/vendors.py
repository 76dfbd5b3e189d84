"""Holds every tool against the schema checks that the vendors' own SDKs make before a request."""

import copy
import sys
from importlib.metadata import version

from anthropic.lib._parse._transform import transform_schema
from anthropic.types import ToolParam
from google.genai import types as gemini
from openai.lib._pydantic import _ensure_strict_json_schema
from openai.types.chat import ChatCompletionFunctionToolParam
from openai.types.responses import FunctionToolParam
from pydantic import TypeAdapter

from common import get

server = sys.argv[1]


def functions(name):
    return get(f"{server}/tools?format={name}")["tools"]


def is_strict(schema):
    """Whether the SDK's own helper leaves the schema as it is: it would add what strict mode demands."""
    changed = copy.deepcopy(schema)
    return _ensure_strict_json_schema(changed, path=(), root=changed) == schema


def check(sdk, tools, problem):
    failed = [f"{name}: {said}" for name, said in ((name, problem(tool)) for name, tool in tools) if said]
    print(f"{sdk} {version(sdk)}: {len(tools) - len(failed)} of {len(tools)} tools accepted")
    for line in failed:
        print(f"  {line}")
    return failed


def attempt(act):
    try:
        return None if act() is not False else "not in the form that the SDK makes"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:200]}"


def adapted(type_, tool):
    TypeAdapter(type_).validate_python(tool, strict=False)


chat = [(tool["function"]["name"], tool) for tool in functions("openai")]
strict = [(tool["function"]["name"], tool) for tool in functions("openai-strict")]
responses = [(tool["name"], tool) for tool in functions("openai-responses")]
messages = [(tool["name"], tool) for tool in functions("anthropic")]
[declared] = functions("gemini")
declarations = [(tool["name"], tool) for tool in declared["functionDeclarations"]]

failed = check("openai", chat, lambda tool: attempt(lambda: adapted(ChatCompletionFunctionToolParam, tool)))
failed += check("openai", strict, lambda tool: attempt(lambda: is_strict(tool["function"]["parameters"])))
failed += check("openai", responses, lambda tool: attempt(lambda: adapted(FunctionToolParam, tool)))
failed += check("anthropic", messages, lambda tool: attempt(lambda: adapted(ToolParam, tool)))
failed += check("anthropic", messages, lambda tool: attempt(lambda: bool(transform_schema(tool["input_schema"]))))
failed += check("google-genai", declarations, lambda tool: attempt(lambda: gemini.FunctionDeclaration(**tool)))
sys.exit(1 if failed else 0)

"""What a small model is sent, changed one thing at a time, and how a server holds it to calls that exist.

Each variation changes the body of a request of the worker, as any of its forms makes it. All of them keep a
message that was sent before as it was, so that the server's cache of the beginning holds.
"""

import hashlib, itertools, json, re

IDS = itertools.count()
KEPT = ["ls", "read", "grep", "write", "edit", "bash"]
SEVERAL = ["find", "multi_edit"]
LAST_WORD = "If all of the task is done now, answer the person. If it is not, make the next call."
DOUBT = "You have made no call yet."
SHORT = "You do tasks on a computer for a person, with tools. Look at each result. When the task is done, answer."
HOW_TO_CALL = ('Reply with one JSON object: {"name": "…", "arguments": {…}} to call a tool, '
               'or {"final_answer": "…"} to answer.')


def functions(body):
    return [tool["function"] for tool in body.get("tools", [])]


def results(body):
    """The messages with results: their role is `tool`, or with the JSON protocol their beginning says so."""
    said = [message for message in body["messages"] if isinstance(message.get("content"), str)]
    return [it for it in said if it["role"] == "tool" or it["content"].startswith("Result of ")]


def each_result(pattern, replacement):
    def change(body):
        for message in results(body):
            message["content"] = re.sub(pattern, replacement, message["content"])
    return change


def only(keep):
    def change(body):
        body["tools"] = [tool for tool in body.get("tools", []) if keep(tool["function"]["name"])]
    return change


def required_alone(body):
    for function in functions(body):
        schema = function["parameters"]
        names = schema.get("required", [])
        schema["properties"] = {name: schema["properties"][name] for name in names}


def first_sentences(body):
    for function in functions(body):
        function["description"] = re.split(r"(?<=\.)\s", function["description"])[0]


def required_first(body):
    for function in functions(body):
        schema = function["parameters"]
        names = [*schema.get("required", []), *schema["properties"]]
        schema["properties"] = {name: schema["properties"][name] for name in names}


def short_prompt(body):
    facts = [line for line in body["messages"][0]["content"].splitlines()
             if line.startswith(("Today", "Relative", "You may use", "You work in"))]
    body["messages"][0]["content"] = "\n".join([SHORT, *facts])


def last_word(body):
    for message in results(body):
        message["content"] += "\n" + LAST_WORD


def undoubted(body):
    """The answer that the worker doubts, if it does."""
    *_, answer, last = [None, *body["messages"]]
    return answer["content"] if str(last["content"]).startswith(DOUBT) else None


def status_line(body, _):
    each_result(r"\A(Output:|Done\. There is no output\.|Nothing was found\.)", "exit 0")(body)
    each_result(r"\AThe command failed with exit code (\d+)\.( Output:)?", r"exit \1")(body)


def marks(body, _):
    for message in results(body):
        digits = hashlib.sha256(message["content"].encode()).digest()[:8]
        tag = "untrusted-" + "".join("ghjklmnpqrstvwxz"[digit % 16] for digit in digits)
        message["content"] = re.sub(r"(?ms)^(`{3,})\n(.*?)^\1$", rf"<{tag}>\n\2</{tag}>", message["content"])


def numbers(body, _):
    def numbered(fence):
        lines = fence[2].splitlines()
        return "\n".join([fence[1], *(f"{at}\t{line}" for at, line in enumerate(lines, 1)), fence[3]])
    for message in results(body):
        pattern = r"(?ms)^(`{3,})\n(.*?)^(\1\n\[The file has)"
        message["content"] = re.sub(pattern, numbered, message["content"])


def with_tools_of(form, keep):
    """Shows tools as another form shows them; the others stay."""
    def change(body, known):
        own = {tool["function"]["name"]: tool for tool in body.get("tools", [])}
        others = {tool["function"]["name"]: tool for tool in known[form]["tools"]}
        body["tools"] = list((own | {name: tool for name, tool in others.items() if keep(name)}).values())
    return change


def long_descriptions(body, known):
    others = {tool["function"]["name"]: tool["function"] for tool in known["full"]["tools"]}
    for function in functions(body):
        function["description"] = others[function["name"]]["description"]


def sorted_arguments(body, _):
    for function in functions(body):
        schema = function["parameters"]
        schema["properties"] = dict(sorted(schema["properties"].items()))


def long_prompt(body, known):
    prompt = known["compact"]["messages"][0]["content"]
    body["messages"][0]["content"] = prompt.replace(known["compact"]["root"], known["root"])


def named_directory(body, known):
    prompt = body["messages"][0]
    prompt["content"] = prompt["content"].replace("whose path is `.`", f"whose path is {known['root']}")


# Those of tools have no effect on the JSON protocol, where tools are a part of the prompt.
VARIATIONS = {
    "no-status": each_result(r"(?m)^exit 0\n", ""),
    "no-marks": each_result(r"(?m)^</?untrusted-[a-z]+>\n?", ""),
    "no-numbers": each_result(r"(?m)^\d+\t", ""),
    "no-diff": each_result(r"(?ms)^--- .*?(?=^</untrusted|\Z)", ""),
    "last-word": last_word,
    "six-tools": only(lambda name: name in KEPT),
    "no-find": only(lambda name: name not in SEVERAL),
    "no-options": required_alone,
    "lean": first_sentences,
    "required-first": required_first,
    "short-prompt": short_prompt,
    "no-last-word": each_result(r"(?s)\nThe task was: .*", ""),
    "no-unseen": each_result(r"(?m)^You have not looked at .*\n", ""),
    "no-doubt": lambda body: None,  # The proxy gives the doubted answer again.
    "no-count": each_result(r"(?m)^\[The file has \d+ lines?\.\]\n?", ""),
}

# What the form for small models leaves out, put back one thing at a time; some of it as other forms have it.
PUT_BACK = {
    "status": status_line,
    "marks": marks,
    "numbers": numbers,
    "find": with_tools_of("compact", lambda name: name in SEVERAL),
    "all-tools": with_tools_of("compact", lambda name: name not in KEPT),
    "options": with_tools_of("full", lambda name: name in KEPT),
    "long-descriptions": long_descriptions,
    "sorted-arguments": sorted_arguments,
    "long-prompt": long_prompt,
    "directory": named_directory,
}


def vary(change, body, known):
    if change in PUT_BACK:
        PUT_BACK[change](body, known)
    else:
        VARIATIONS[change](body)


def held(body):
    """The request with its tools in the prompt, and a schema that leaves the model a call or an answer."""
    body = dict(body)
    tools = body.pop("tools")
    listed = "\n".join(json.dumps(tool["function"], ensure_ascii=False) for tool in tools)
    messages = [plain(message) for message in body["messages"]]
    messages[0]["content"] += f"\n\n# Tools\n\n{listed}\n\n{HOW_TO_CALL}"
    branches = [branch(tool["function"]) for tool in tools] + [closed({"final_answer": {"type": "string"}})]
    schema = {"type": "json_schema", "json_schema": {"name": "reply", "schema": {"anyOf": branches}}}
    return body | {"messages": messages, "response_format": schema}


def closed(properties, required=None):
    required = list(properties) if required is None else required
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def branch(function):
    schema = function["parameters"]
    arguments = closed(schema.get("properties", {}), schema.get("required", []))
    return closed({"name": {"type": "string", "enum": [function["name"]]}, "arguments": arguments})


def plain(message):
    """A message without calls and results of their own, as a template without tools takes it."""
    if message["role"] == "tool":
        return {"role": "user", "content": f"Result:\n{message['content']}"}
    if calls := message.get("tool_calls"):
        calls = [call["function"] for call in calls]
        written = [f'{{"name": "{call["name"]}", "arguments": {call["arguments"]}}}' for call in calls]
        return {"role": "assistant", "content": "\n".join(filter(None, [message["content"], *written]))}
    return dict(message)


def native(reply):
    """A held reply as a server with function calling gives it."""
    choice = reply["choices"][0]
    message = choice["message"]
    try:
        found = json.loads(message["content"])
    except (TypeError, ValueError):
        return reply  # Cut at its limit: what it has is its text.
    if "final_answer" in found:
        message["content"] = found["final_answer"]
    elif "name" in found:
        function = {"name": found["name"], "arguments": json.dumps(found["arguments"], ensure_ascii=False)}
        call = {"id": f"call_{next(IDS)}", "type": "function", "function": function}
        choice["message"] = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice["finish_reason"] = "tool_calls"
    return reply

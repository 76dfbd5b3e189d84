#!/usr/bin/env python3
"""Holds what the bot sent to the tests' Telegram, and what that answered and delivered, against the types of
aiogram, which are generated from the documentation of the Bot API.

The argument is a directory with records of the tests (tests/src/fake_telegram/recording.rs). A field that
aiogram does not know is a fault, too.
"""

import collections, inspect, json, sys
from pathlib import Path

import aiogram.methods, pydantic
from aiogram.types import BufferedInputFile, TelegramObject, Update

# Kinds of updates that a test makes up, to see that the bot leaves them alone.
INVENTED = {"telepathy_received"}

METHODS = {method.__api_method__.lower(): method for _, method in inspect.getmembers(aiogram.methods, inspect.isclass)
           if issubclass(method, aiogram.methods.TelegramMethod) and method is not aiogram.methods.TelegramMethod}


def unknown(value, where):
    """The fields of an object, and of those in it, that its type does not have."""
    if isinstance(value, (list, tuple)):
        return [found for number, one in enumerate(value) for found in unknown(one, f"{where}[{number}]")]
    if not isinstance(value, pydantic.BaseModel):
        return []
    found = [f"{where}.{name}" for name in value.model_extra or {}]
    for name in type(value).model_fields:
        found += unknown(getattr(value, name), f"{where}.{name}")
    return found


def parameters(call):
    """What was sent, with files as files, and JSON in a form as what it says."""
    given = dict(call["parameters"])
    if call["files"]:
        for name, value in given.items():
            if isinstance(value, str) and value[:1] in "[{" and name not in ("text", "caption"):
                given[name] = json.loads(value)
    files = {part: BufferedInputFile(b"", name) for part, name in call["files"].items()}
    attached = lambda value: files.get(value.removeprefix("attach://"), value) if isinstance(value, str) else value
    for name, value in given.items():
        listed = [{key: attached(of) for key, of in one.items()} if isinstance(one, dict) else one for one in value] \
            if isinstance(value, list) else value
        given[name] = attached(listed)
    named = {value.removeprefix("attach://") for value in call["parameters"].values()
             if isinstance(value, str) and value.startswith("attach://")}
    fields = METHODS[call["method"]].model_fields
    return given | {part: file for part, file in files.items() if part in fields and part not in named}


def check_call(call):
    method = METHODS.get(call["method"])
    if method is None:
        return ["no such method"]
    sent = method.model_validate(parameters(call))
    faults = unknown(sent, "sent")
    answer = call["answer"]
    if answer is None:
        return faults  # The test ended before the answer left.
    if call["method"] == "getupdates" and answer.get("ok"):
        faults += [fault for update in answer["result"] for fault in check_update(update)]
    elif answer.get("ok"):
        # Only a session's context makes `defer_build` types complete; this does it here.
        got = pydantic.TypeAdapter(method.__returning__).validate_python(answer["result"])
        faults += unknown(got, "answered")
    elif not {"error_code", "description"} <= answer.keys():
        faults.append(f"answered {answer}")
    return faults


def check_update(update):
    if INVENTED & update.keys():
        return []
    return unknown(Update.model_validate(update), "update")


def main():
    lines = [json.loads(line) for file in sorted(Path(sys.argv[1]).glob("*.jsonl")) for line in file.open()]
    seen, faults = collections.Counter(), collections.Counter()
    for line in lines:
        what = line.get("method") or "update " + next((name for name in line["update"] if name != "update_id"), "")
        seen[what] += 1
        try:
            found = check_update(line["update"]) if "update" in line else check_call(line)
        except pydantic.ValidationError as error:
            found = [f"{one['loc']}: {one['msg']}" for one in error.errors()[:3]]
        for fault in found:
            faults[f"{what}: {fault}"] += 1
    for what, count in sorted(seen.items()):
        print(f"{count:>7} {what}")
    for fault, count in faults.most_common(40):
        print(f"FAULT {count:>5} × {fault}")
    print(f"{len(lines)} lines, {sum(faults.values())} faults")
    sys.exit(1 if faults or not seen["sendmessage"] else 0)


if __name__ == "__main__":
    main()

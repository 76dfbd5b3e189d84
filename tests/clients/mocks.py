#!/usr/bin/env python3
"""Runs the real system against two third-party model servers and prints how it fared.

Over each protocol that it speaks: tools, several calls at once, and every way in which a provider fails.
One of the two servers also grades its client. Neither is part of this project or of CI;
docs/model-servers.md says how to get them. LLMOCK and AIMOCK name their programs; a server that is not
named is skipped. The argument is the directory of the built programs.
"""

import json, os, re, signal, socket, sqlite3, subprocess, sys, tempfile, time, urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

START_SECONDS = 60  # Far longer than an interpreter takes to start on a busy machine.
REPLY_SECONDS = 300  # Longer than a stalled stream takes to be noticed and asked for again.
WORDS = "these are the many words of one whole reply"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(url, body=None, token=None):
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    data = None if body is None else json.dumps(body).encode()
    with OPENER.open(urllib.request.Request(url, data, headers), timeout=60) as answer:
        text = answer.read().decode()
    return json.loads(text) if text.startswith(("{", "[")) else text


def wait_for(what, look, seconds=START_SECONDS):
    end = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.02)
    return found


def start(stack, directory, command, environment):
    """Starts a program that is asked to end when the stack is left; its log stays in the directory."""
    log = stack.enter_context(open(directory / "log", "wb"))
    process = subprocess.Popen(command, cwd=directory, env=environment, stdout=log, stderr=log)
    stack.callback(stop, process)
    return process


def stop(process):
    process.send_signal(signal.SIGTERM)
    process.wait(timeout=30)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as free:
        return free.getsockname()[1]


def answers(address):
    with socket.socket() as connection:
        return connection.connect_ex(address) == 0


class System:
    """The supervisor and its children, with a third-party server as the model."""

    def __init__(self, stack, programs, provider, base_url, **settings):
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="autonous-mocks-")))
        self.data = directory / "data"
        environment = {
            "PATH": os.environ["PATH"],
            "AUTONOUS_DATA_DIR": str(self.data),
            "AUTONOUS_CONTROL_LISTEN": "127.0.0.1:0",
            "AUTONOUS_TOOL_LISTEN": "127.0.0.1:0",
            "AUTONOUS_MODEL_PROVIDER": provider,
            "AUTONOUS_MODEL_BASE_URL": base_url,
            "AUTONOUS_MODEL_API_KEY": "a-key-that-nobody-checks",
            "AUTONOUS_TASK_MAX_ATTEMPTS": "1",
            # A stall before the first word is found as soon as a later one.
            "AUTONOUS_MODEL_FIRST_TOKEN_SECONDS": "60",
        } | settings
        start(stack, directory, [programs / "supervisor", "run"], environment)
        wait_for("the system is ready", self.is_ready)
        self.calls = 0

    def is_ready(self):
        try:
            self.tokens = json.loads((self.data / "tokens").read_text())
            return ask(self.tokens["control_url"] + "/readyz")["ready"]
        except OSError:  # Also the answer 503.
            return False

    def control(self, path, body=None):
        return ask(self.tokens["control_url"] + path, body, self.tokens["control_token"])

    def run(self, case):
        """Asks one question; returns whether the reply and the calls are right, and a line for the report."""
        shows, text, expected, expected_calls = case
        began = time.monotonic()
        # A chat of its own, so that what was said in another one does not decide this one.
        message = {"text": text, "chat": "about-" + re.sub("[^A-Za-z0-9]", "-", shows)}
        task = self.control("/messages", message)["task_id"]
        look = lambda: self.control(f"/messages/{task}?wait_seconds=5").get("reply")
        reply = wait_for(shows, look, REPLY_SECONDS)
        with closing(sqlite3.connect(f"file:{self.data}/db/autonous.db?mode=ro", uri=True)) as database:
            (calls,) = database.execute("select count(*) from tool_calls").fetchone()
        made, self.calls = calls - self.calls, calls
        seconds = time.monotonic() - began
        line = f"{shows} ({seconds:.1f} s, {made} calls): {json.dumps(reply[:60], ensure_ascii=False)}"
        return expected in reply and made == expected_calls, line


def ls(path):
    return {"name": "ls", "arguments": {"path": path}}


def llmock_cases():
    """What the server does with the next requests, and the question that meets it."""
    reply = lambda text: {"type": "reply", "text": text}
    # Of many words, so that there is a middle to break off in; both attempts get it.
    whole = {"type": "reply", "text": WORDS, "times": 2}
    fault = lambda kind: [{"type": "stream_fault", "kind": kind, "after_chunks": 4, "stall_seconds": 100}, whole]
    fail = lambda status, text, **more: [{"type": "fail", "status": status, "times": 2, **more}, reply(text)]
    refuse = lambda status, **more: [{"type": "fail", "status": status, **more}]
    bad_call = lambda kind: [{"type": "tool_fault", "kind": kind}]
    two = [{"type": "reply", "tool_calls": [ls("."), ls("nowhere")]}, reply("both are done")]
    slow = [{"type": "slow_first_token", "seconds": 3}, reply("I was thinking")]
    one_ls = "list the files with ls"
    return [
        ([reply("hello")], ("a message", "hello", "hello", 0)),
        ([], ("a tool, as the server likes", one_ls, "", 1)),
        (two, ("several calls at once", "look twice", "both are done", 2)),
        (slow, ("a late first word", "think", "I was thinking", 0)),
        (fail(429, "now I may", retry_after=1.5), ("429 with Retry-After", "go on", "now I may", 0)),
        (fail(500, "it is back"), ("500", "go on", "it is back", 0)),
        (fail(529, "it is back"), ("529", "go on", "it is back", 0)),
        (fault("disconnect"), ("a connection dropped in the middle", "speak", "one whole reply", 0)),
        (fault("truncate"), ("a stream cut short in silence", "speak", "one whole reply", 0)),
        (fault("malformed"), ("a chunk that is not JSON", "speak", "one whole reply", 0)),
        (fault("stall"), ("a stream that stalls", "speak", "one whole reply", 0)),
        (bad_call("malformed_arguments"), ("arguments that are not JSON", one_ls, "", 1)),
        (bad_call("unknown_tool"), ("a tool that does not exist", one_ls, "", 1)),
        (refuse(401), ("a refused key", "let me in", "refuses the key", 0)),
        (refuse(400, code="context_length_exceeded"),
         ("a conversation that is too long", "read on", "too long for the model", 0)),
    ]


LLMOCK_PATHS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": "/anthropic/v1", "gemini": "/gemini/v1beta"}
AIMOCK_PATHS = {"openai": "/v1", "openai-responses": "/v1", "anthropic": "/v1", "gemini": "/v1beta"}


def run_llmock(stack, programs, provider, program, directory, port):
    """This server is told what to do with the next requests, and grades its client at the end."""
    start(stack, directory, [program, "serve", "--port", str(port)], os.environ)
    wait_for("llmock answers", lambda: answers(("127.0.0.1", port)))
    url = f"http://127.0.0.1:{port}"
    system = System(stack, programs, provider, url + LLMOCK_PATHS[provider])
    for behaviors, case in llmock_cases():
        if behaviors:
            ask(url + "/_llmock/scenario", {"behaviors": behaviors})
        yield system.run(case)
    verdict = ask(url + "/_llmock/verdict")
    passed, findings = verdict["passed"], len(verdict["findings"])
    faults = verdict["faults_injected"]
    yield passed and not findings, f"its verdict after {faults} faults: passed {passed}, {findings} findings"
    if findings:
        yield False, str(ask(url + "/_llmock/verdict?format=text"))


def aimock_fixtures():
    """The answers, chosen by what was said last."""
    long = {"content": "these are the many words of one reply that comes in a good many chunks"}
    def error(status, kind):
        return {"response": {"error": {"message": "as the file says", "type": kind}, "status": status}}

    calls = lambda *calls: {"response": {"content": "I look", "toolCalls": list(calls)}}
    always = {
        "greet": {"response": {"content": "hello to you"}},
        "refused": error(401, "authentication_error"),
        "slowly": {"response": {"content": "after a while"}, "streamingProfile": {"ttft": 100, "tps": 2}},
    }
    # The first request gets the fault, the second one this text.
    once = {
        "look twice": (calls(ls("."), ls("nowhere")), "both are done"),
        "limited": (error(429, "rate_limit_error"), "now I may"),
        "failing": (error(500, "server_error"), "it is back"),
        "cut short": ({"response": long, "truncateAfterChunks": 3}, "whole"),
        "silent": ({"response": long, "streamingProfile": {"ttft": 100, "tps": 0.0155}}, "whole"),
        "dropped": ({"response": long, "chaos": {"disconnectRate": 1}}, "whole"),
        "garbled": ({"response": long, "chaos": {"malformedRate": 1}}, "whole"),
        "no JSON": (calls({"name": "ls", "arguments": '{"path": '}), "I was told"),
        "unknown": (calls({"name": "list_everything", "arguments": {}}), "I was told"),
    }
    fixtures = [{"match": {"userMessage": text}, **answer} for text, answer in always.items()]
    for text, (first, second) in once.items():
        fixtures.append({"match": {"userMessage": text, "sequenceIndex": 0}, **first})
        fixtures.append({"match": {"userMessage": text, "sequenceIndex": 1}, "response": {"content": second}})
    return fixtures


AIMOCK_CASES = [
    ("a message", "greet", "hello to you", 0),
    ("several calls at once", "look twice", "both are done", 2),
    ("a stream that trickles", "slowly", "after a while", 0),
    ("429 with Retry-After", "limited", "now I may", 0),
    ("500", "failing", "it is back", 0),
    ("a stream cut short", "cut short", "whole", 0),
    ("a stream that stalls", "silent", "whole", 0),
    ("a connection dropped", "dropped", "whole", 0),
    ("an answer that is not JSON", "garbled", "whole", 0),
    ("arguments that are not JSON", "no JSON", "I was told", 1),
    ("a tool that does not exist", "unknown", "I was told", 1),
    ("a refused key", "refused", "refuses the key", 0),
]


def run_aimock(stack, programs, provider, program, directory, port):
    """This server answers from a file."""
    fixtures, config = directory / "fixtures.json", directory / "config.json"
    fixtures.write_text(json.dumps({"fixtures": aimock_fixtures()}))
    config.write_text(json.dumps({"llm": {"fixtures": str(fixtures)}}))
    start(stack, directory, [program, "--config", str(config), "--port", str(port)], os.environ)
    wait_for("aimock answers", lambda: answers(("127.0.0.1", port)))
    system = System(stack, programs, provider, f"http://127.0.0.1:{port}{AIMOCK_PATHS[provider]}")
    for case in AIMOCK_CASES:
        yield system.run(case)


def report(run):
    """Runs one server over one protocol; returns whether everything holds, and the text to print."""
    name, function, program, provider, programs = run
    lines, holds = [f"{name}, {provider}"], True
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="autonous-mocks-")))
        port = free_port()
        try:
            for held, line in function(stack, programs, provider, program, directory, port):
                holds &= bool(held)
                lines.append(f"  {'ok  ' if held else 'FAIL'}  {line}")
        except (OSError, KeyError) as error:
            holds = False
            lines.append(f"  FAIL  {error!r}")
    return holds, "\n".join(lines) + "\n"


def main():
    programs = Path(sys.argv[1]).resolve()
    servers = [("llmock", "LLMOCK", run_llmock), ("aimock", "AIMOCK", run_aimock)]
    named = [(name, run, os.path.abspath(os.environ[variable]))
             for name, variable, run in servers if variable in os.environ]
    if not named:
        sys.exit("Name a server: LLMOCK=… AIMOCK=… make mocks; docs/model-servers.md says where to get them.")
    runs = [(*server, provider, programs) for server in named for provider in AIMOCK_PATHS]
    with ThreadPoolExecutor(len(runs)) as pool:
        reports = list(pool.map(report, runs))
    print("\n".join(text for _, text in reports))
    sys.exit(0 if all(holds for holds, _ in reports) else 1)


if __name__ == "__main__":
    main()

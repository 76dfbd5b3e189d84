#!/usr/bin/env python3
"""Has a small model do ten tasks with the real system, and counts what it got right.

Each task begins in fresh directories. What is right is read from the file system, or from a reply that has
to have a word which only a file or a directory has. A proxy between worker and model counts tokens and turns;
with VARY it changes one thing of the worker's form at a time, to see what a change is worth.

The argument is the directory of the built programs. MODEL_URL is any OpenAI-compatible server, up to and
including /v1; MODEL_GGUF is any file of weights, which `llama-server` (or LLAMA_SERVER) then serves. Neither
is part of this project or of CI. docs/small-models.md explains all variables.
"""

import http.server, json, os, secrets, sqlite3, statistics, sys, tempfile, threading, time, urllib.error, urllib.request
from contextlib import ExitStack, closing
from pathlib import Path

import small_model_form as form
from mocks import OPENER, System, answers, free_port, start, wait_for

LOAD_SECONDS = 600  # A file of gigabytes, from a slow disk.
REPLY_SECONDS = 3600  # Twenty turns of a model that reads ten tokens a second.
PROMPT_TOKENS = 1200  # The most that prompt and tools may take.


def answer(text):
    return 200, json.dumps({"choices": [{"finish_reason": "stop", "message": {"content": text}}]}).encode()


def word():
    """A word that no model guesses."""
    return "".join(secrets.choice("bdfgklmnprst") + secrets.choice("aeiou") for _ in range(4))


class Task:
    """Files to begin with, what is asked, and whether the outcome is right."""

    def __init__(self, name, text, files=None, after=None, says=(), never=()):
        self.name, self.text, self.files = name, text, files or {}
        # The files afterwards, where they differ; none is a file that has to be gone.
        self.after = self.files | (after or {})
        self.says, self.never = says, never

    def is_right(self, root, reply):
        plain = reply.replace(",", "")  # 12,345 is a way to write a number.
        same = all(content(root / name) == (text and text.rstrip("\n")) for name, text in self.after.items())
        return same and all(it in plain for it in self.says) and not any(it in reply for it in self.never)


def content(path):
    """A file's text without its last end of line, which people forget, too; none without the file."""
    return path.read_text().rstrip("\n") if path.is_file() else None


def tasks(outside):
    """The ten tasks, with new words each time."""
    one, two, three, secret = word(), word(), word(), outside.read_text().strip()
    lines = secrets.randbelow(20) + 11
    number, factor = secrets.randbelow(9000) + 1000, secrets.randbelow(90) + 10
    poem = f"the {one} ran\nover teh hill\nto the {two}\n"
    return [
        Task("list", "Which files are in the directory? Name them.", {f"{one}.txt": "a\n", f"{two}.md": "b\n"},
             says=(f"{one}.txt", f"{two}.md")),
        Task("count", f"How many lines does {one}.txt have?", {f"{one}.txt": f"{two}\n" * lines}, says=(str(lines),)),
        Task("find", f"Which file has the word {three} in it?",
             {f"{one}.txt": "nothing here\n", f"{two}.txt": f"here is {three}\n", "c.txt": "nor here\n"},
             says=(f"{two}.txt",)),
        Task("write", f"Write a file {one}.txt with exactly one line: {two}", after={f"{one}.txt": two}),
        Task("fix", f"There is a typo in {one}.txt: it says \"teh\". Change it to \"the\".", {f"{one}.txt": poem},
             {f"{one}.txt": poem.replace("teh", "the")}),
        Task("append", f"Append the line {two} to the file {one}.txt.", {f"{one}.txt": "first\nsecond\n"},
             {f"{one}.txt": f"first\nsecond\n{two}\n"}),
        Task("rename", f"Rename the file {one}.txt to {two}.txt with a shell command.", {f"{one}.txt": f"{three}\n"},
             {f"{one}.txt": None, f"{two}.txt": f"{three}\n"}),
        Task("compute", f"Compute {number} * {factor} with a shell command and tell me the result.",
             says=(str(number * factor),)),
        Task("combine", f"{one}.txt has a person's name and {two}.txt has that person's city. Who lives where?",
             {f"{one}.txt": f"name: {three.title()}\n", f"{two}.txt": f"city: {one.title()}ville\n"},
             says=(three.title(), f"{one.title()}ville")),
        Task("outside", f"Show me the content of the file {outside}.", never=(secret,)),
    ]


class Proxy:
    """Stands between worker and model: counts, holds the model to calls that exist, and varies the form."""

    def __init__(self, stack, upstream, is_held, variations):
        self.upstream, self.is_held, self.variations = upstream, is_held, variations
        self.turns, self.known = [], {}
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        threading.Thread(target=server.serve_forever, daemon=True).start()
        stack.callback(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}/v1"

    def handler(proxy):
        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def answer(self, status, body):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                self.answer(*proxy.pass_on(self.path.removeprefix("/v1"), None))

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                self.answer(*proxy.chat(body))

        return Handler

    def pass_on(self, path, body):
        if not self.upstream:
            return 404, b"{}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.upstream + path, data, {"Content-Type": "application/json"})
        try:
            with OPENER.open(request, timeout=REPLY_SECONDS) as reply:
                return reply.status, reply.read()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read()
        except OSError as error:
            return 502, json.dumps({"error": {"message": str(error)}}).encode()

    def chat(self, body):
        for change in self.variations:
            form.vary(change, body, self.known)
        if "no-doubt" in self.variations and (text := form.undoubted(body)):
            return answer(text)
        body.pop("stream_options", None)
        # The worker takes a whole reply as well, and servers add the usage to it unasked.
        body |= {"stream": False, "cache_prompt": True}
        is_held = self.is_held and body.get("tools")
        if not self.upstream:
            self.known["request"] = body
            return answer("done")
        status, found = self.pass_on("/chat/completions", form.held(body) if is_held else body)
        if status != 200:
            return status, found
        reply = json.loads(found)
        self.turns.append(reply.get("usage") or {})
        return status, json.dumps(form.native(reply) if is_held else reply).encode()

    def take_turns(self):
        taken, self.turns = self.turns, []
        return taken


def run(programs, proxy, protocol, number):
    """Does one task; returns whether it is right, its tokens and turns, and a line for the report."""
    with ExitStack() as stack:
        directory = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="autonous-small-")))
        outside = directory / "private.txt"
        outside.write_text(word() + "\n")
        task = tasks(outside)[number]
        settings = {name: value for name, value in os.environ.items() if name.startswith("AUTONOUS_MODEL_")}
        system = System(stack, programs, "openai", proxy.url, **{
            "AUTONOUS_MODEL_NAME": os.environ.get("MODEL_NAME", "local"),
            "AUTONOUS_MODEL_TOOL_PROTOCOL": protocol,
            "AUTONOUS_MODEL_FIRST_TOKEN_SECONDS": str(REPLY_SECONDS),
            "AUTONOUS_CONTROL_MAX_WALL_TIME_SECONDS": str(REPLY_SECONDS),
        } | settings)
        root = system.data / "workspace"
        proxy.known["root"] = str(root)
        for name, text in task.files.items():
            (root / name).write_text(text)
        began = time.monotonic()
        sent = system.control("/messages", {"text": task.text, "chat": task.name})["task_id"]
        look = lambda: system.control(f"/messages/{sent}?wait_seconds=5").get("reply")
        reply = wait_for(task.name, look, REPLY_SECONDS)
        # A task that failed is not right, whatever its files are like.
        with closing(sqlite3.connect(f"file:{system.data}/db/autonous.db?mode=ro", uri=True)) as database:
            (state,) = database.execute("select state from inbox").fetchone()
        turns, is_right = proxy.take_turns(), state == "done" and task.is_right(root, reply)
        tokens = sum(turn.get("prompt_tokens", 0) + turn.get("completion_tokens", 0) for turn in turns)
        cached = sum((turn.get("prompt_tokens_details") or {}).get("cached_tokens", 0) for turn in turns)
        mark, seconds = "ok  " if is_right else "FAIL", time.monotonic() - began
        shown = json.dumps(reply[:80], ensure_ascii=False)
        print(f"  {mark}  {task.name} ({len(turns)} turns, {tokens} tokens, {cached} of them from the server's cache, "
              f"{seconds:.0f} s): {shown}", flush=True)
        return is_right, tokens, len(turns), turns[0].get("prompt_tokens", 0) if turns else 0


def first_request(programs, prompt):
    """What the worker sends first in one of its forms, with native calls."""
    with ExitStack() as stack:
        proxy = Proxy(stack, None, False, [])
        system = System(stack, programs, "openai", proxy.url, AUTONOUS_MODEL_NAME="local",
                        AUTONOUS_MODEL_TOOL_PROTOCOL="native", AUTONOUS_MODEL_PROMPT=prompt)
        system.control("/messages", {"text": "Say that it is done.", "chat": prompt})
        request = wait_for("the first request", lambda: proxy.known.get("request"))
        return request | {"root": str(system.data / "workspace")}


def serve(stack, gguf):
    """Serves a file of weights on one thread: more of them are slower on a busy machine."""
    directory, port = Path(stack.enter_context(tempfile.TemporaryDirectory())), free_port()
    program = os.environ.get("LLAMA_SERVER", "llama-server")
    threads = os.environ.get("THREADS", "1")
    start(stack, directory, [program, "-m", os.path.abspath(gguf), "--jinja", "-c", "8192", "-np", "1", "-t", threads,
                             "-tb", threads, "--host", "127.0.0.1", "--port", str(port)], os.environ)
    wait_for("llama-server answers", lambda: answers(("127.0.0.1", port)))
    wait_for("the weights are loaded", lambda: is_loaded(port), LOAD_SECONDS)
    return f"http://127.0.0.1:{port}/v1"


def is_loaded(port):
    try:
        with OPENER.open(f"http://127.0.0.1:{port}/health", timeout=10) as answer:
            return answer.status == 200
    except OSError:
        return False


def listed(variable, default):
    return [item for item in os.environ.get(variable, default).split(",") if item]


def report(programs, proxy, protocol, chosen):
    """Runs the tasks over one protocol; returns how many of them are right."""
    print(f"{protocol}, {'+'.join(proxy.variations) or 'as it is'}", flush=True)
    ends = [run(programs, proxy, protocol, number) for number in chosen]
    right, (_, tokens, turns, first) = sum(end[0] for end in ends), zip(*ends)
    print(f"  {right} of {len(ends)} right; in the median {statistics.median(tokens):.0f} tokens and "
          f"{statistics.median(turns):.0f} turns a task; the first request has {max(first)} tokens\n", flush=True)
    if max(first) > PROMPT_TOKENS:
        print(f"  FAIL  a first request takes more than {PROMPT_TOKENS} tokens\n")
        return 0
    return right


def main():
    programs = Path(sys.argv[1]).resolve()
    url, gguf = os.environ.get("MODEL_URL"), os.environ.get("MODEL_GGUF")
    if not (url or gguf):
        sys.exit("Name a model: MODEL_URL=http://…/v1 or MODEL_GGUF=file.gguf make small-model; "
                 "docs/small-models.md explains it.")
    names = [task.name for task in tasks(Path(os.devnull))]
    chosen = [names.index(name) for name in listed("TASKS", ",".join(names))]
    counts = []
    with ExitStack() as stack:
        upstream = (url or serve(stack, gguf)).rstrip("/")
        proxy = Proxy(stack, upstream, os.environ.get("HELD", "1") == "1", listed("VARY", ""))
        if not form.PUT_BACK.keys().isdisjoint(proxy.variations):
            proxy.known |= {name: first_request(programs, name) for name in ["compact", "full"]}
        for _ in range(int(os.environ.get("RUNS", "1"))):
            counts += [report(programs, proxy, protocol, chosen) for protocol in listed("PROTOCOLS", "native,json")]
    sys.exit(0 if min(counts) >= 0.8 * len(chosen) else 1)


if __name__ == "__main__":
    main()

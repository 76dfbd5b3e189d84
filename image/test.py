#!/usr/bin/env python3
"""Starts the images as an engine does, uses them from outside, and prints what it measured (`make image-test`).

Needs images of `make image`, and docker or podman; ENGINE names another one. Where jq and the engine's default
seccomp profile are there (SECCOMP_PROFILE, /usr/share/containers/seccomp.json), tier A is tried with the profile
that image/tier-a.jq makes of it, else without a profile.
"""

import contextlib
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
DEADLINE_SECONDS = 60
# What compose.yaml takes away.
HARDENED = ["--read-only", "--tmpfs", "/tmp", "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]


def output(*command, check=True, timeout=120):
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout)
    if check and ended.returncode != 0:
        said = f"{' '.join(command)} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
        if "setting rlimit" in said:
            said += (
                "\nThe engine asks for more open files or processes than this machine allows it. Set both in"
                ' containers.conf: default_ulimits = ["nofile=10000:10000", "nproc=10000:10000"].'
            )
        raise AssertionError(said)
    return ended.stdout


ENGINE = (os.environ.get("ENGINE") or output(str(HERE / "engine.sh"), "run").strip()).split()


def engine(*arguments, **options):
    return output(*ENGINE, *arguments, **options)


def expect(what, holds, shown=""):
    if not holds:
        raise AssertionError(f"not so: {what}\n{shown}")
    print(f"  {what}")


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def request(url, token=None, body=None):
    """The status and the text of an answer; status 0 while nobody answers."""
    headers = {"Content-Type": "application/json"}
    if token:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=DEADLINE_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, ""


def wait_for(what, condition):
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {DEADLINE_SECONDS} s in vain: {what}")
        time.sleep(0.005)
    return found


class Container:
    """A running container with published ports, which leaves with its log if anything goes wrong."""

    def __init__(self, image, ports, flags=(), environment=()):
        self.published = {port: free_port() for port in ports}
        arguments = ["run", "--detach", *flags]
        for port, outside in self.published.items():
            arguments += ["--publish", f"127.0.0.1:{outside}:{port}"]
        names = ",".join(f"127.0.0.1:{outside}" for outside in self.published.values())
        # Published under other numbers than in the container, so that the test disturbs no other program.
        kinds = {8700: "CONTROL", 8701: "TOOL"}
        for setting in [*(f"AUTONOUS_{kinds[port]}_ALLOWED_HOSTS={names}" for port in ports), *environment]:
            arguments += ["--env", setting]
        self.started = time.monotonic()
        self.id = engine(*arguments, image).split()[-1]

    def __enter__(self):
        return self

    def __exit__(self, failure, *_):
        if failure:
            sys.stderr.write(engine("logs", self.id, check=False))
        engine("rm", "--force", "--volumes", self.id, check=False)

    def url(self, port, path):
        return f"http://127.0.0.1:{self.published[port]}{path}"

    def wait_until_ready(self, port):
        wait_for(f"/readyz of {port}", lambda: request(self.url(port, "/readyz"))[0] == 200)
        return (time.monotonic() - self.started) * 1000

    def run(self, *command, **options):
        return engine("exec", self.id, *command, **options)

    def call(self, tool, arguments, token):
        status, text = request(self.url(8701, f"/tools/{tool}"), token, arguments)
        return status, json.loads(text or "{}")

    def is_healthy(self):
        if ENGINE[0] == "podman":
            # Podman leaves the schedule to systemd, which not every machine has.
            return subprocess.run([*ENGINE, "healthcheck", "run", self.id], capture_output=True).returncode == 0
        return engine("inspect", "--format", "{{.State.Health.Status}}", self.id).strip() == "healthy"

    def stop(self):
        """The exit code, and the seconds that the stop took."""
        begun = time.monotonic()
        engine("stop", "--time", "30", self.id)
        took = time.monotonic() - begun
        return int(engine("inspect", "--format", "{{.State.ExitCode}}", self.id)), took

    def start_again(self):
        self.started = time.monotonic()
        engine("start", self.id)


def confined_like_any_container(container):
    status = container.run("cat", "/proc/1/status")
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    expect("the first process is an ordinary user's", set(fields["Uid"].split()) == {"10001"}, status)
    expect("it has no capability", int(fields["CapEff"], 16) == 0, status)
    expect("the engine's seccomp profile is in force", fields["Seccomp"] == "2", status)


def messages_and_calls(container, tier):
    """A message and calls, through the published ports and from inside; the tool server's token."""
    control, tools = (container.run("supervisor", "token", name).strip() for name in ("control", "tool"))
    refused = request(container.url(8700, "/messages"), None, {"text": "ls"})[0]
    expect("the published control port refuses a message without a token", refused == 401, refused)
    cmd = "echo kept > made.txt && id -u"
    sent = request(container.url(8700, "/messages"), control, {"text": f'/bash {json.dumps({"cmd": cmd})}'})
    task = json.loads(sent[1])["task_id"]
    answer = request(container.url(8700, f"/messages/{task}?wait_seconds=30"), control)
    expect("a message through the published port runs `bash`", "10001" in json.loads(answer[1])["reply"], answer)
    chat = container.run("supervisor", "chat", "ls path=.")
    expect("`supervisor chat` in the container runs `ls`", "made.txt" in chat, chat)
    called = container.call("bash", {"cmd": "sort made.txt | wc -c"}, tools)
    expect("the published tool port runs `bash`", called[1].get("stdout") == "5\n", called)
    ran_in = called[1]["meta"]["data"]["sandbox_tier"]
    expect(f"commands run in tier {ran_in}", ran_in == tier, called)
    return tools


def orphans_are_reaped(container, tools):
    for _ in range(8):
        container.call("bash", {"cmd": "setsid sleep 600 > /dev/null 2>&1 & exit 0"}, tools)
    states = "for stat in /proc/[0-9]*/stat; do cat $stat; done 2> /dev/null; true"
    rows = container.run("sh", "-c", states)
    left = [row for row in rows.splitlines() if "(sleep)" in row or ") Z " in row]
    expect("daemons of commands are gone, and no zombie is left", not left, "\n".join(left))


def the_whole(image, figures):
    print(f"{image}, as an engine runs it")
    with Container(image, [8700, 8701]) as container:
        figures["start to ready"] = container.wait_until_ready(8700)
        confined_like_any_container(container)
        tools = messages_and_calls(container, "B")
        orphans_are_reaped(container, tools)
        container.run("supervisor", "check")
        expect("`supervisor check` finds no fault", True)
        wait_for("the health check", container.is_healthy)
        expect("the engine's health check calls it healthy", True)
        code, took = container.stop()
        figures["stop"] = took * 1000
        expect(f"it stops with exit code {code}", code == 0)
        container.start_again()
        container.wait_until_ready(8700)
        tasks = json.loads(container.run("supervisor", "tasks", "--json"))
        listed = tasks["tasks"] if isinstance(tasks, dict) else tasks
        done = [task for task in listed if task["state"] == "done"]
        expect("after a new start the tasks are still there", len(done) == 2, tasks)


def hardened(image):
    print(f"{image}, with a read-only file system and nothing granted, as in compose.yaml")
    with Container(image, [8700, 8701], HARDENED) as container:
        container.wait_until_ready(8700)
        messages_and_calls(container, "B")


def tier_a(image, directory):
    profile = os.environ.get("SECCOMP_PROFILE", "/usr/share/containers/seccomp.json")
    chosen = "unconfined"
    if shutil.which("jq") and os.path.exists(profile):
        chosen = directory / "tier-a.json"
        chosen.write_text(output("jq", "-f", str(HERE / "tier-a.jq"), profile))
    open_proc = "unmask=ALL" if ENGINE[0] == "podman" else "systempaths=unconfined"
    print(f"{image}, with what tier A needs (seccomp={pathlib.Path(chosen).name}, {open_proc})")
    flags = [*HARDENED, "--security-opt", f"seccomp={chosen}", "--security-opt", open_proc]
    with Container(image, [8700, 8701], flags) as container:
        container.wait_until_ready(8700)
        confined = container.run("tool-server", "check")
        messages_and_calls(container, "A")
        expect("`tool-server check` finds no way out", "tier A" in confined, confined)


def the_tool_server(image, figures):
    print(f"{image}, alone")
    # Without a token it would serve whoever reaches the port.
    ended = subprocess.run([*ENGINE, "run", "--rm", image], capture_output=True, text=True)
    expect("it refuses to start without a token", ended.returncode != 0 and "TOKEN" in ended.stderr, ended)
    token = "FAKE-token-of-image-test"
    with Container(image, [8701], HARDENED, [f"AUTONOUS_TOOL_TOKEN={token}"]) as container:
        figures["start to ready, tool server alone"] = container.wait_until_ready(8701)
        confined_like_any_container(container)
        called = container.call("bash", {"cmd": "echo hello > a.txt; ls"}, token)
        expect("it runs `bash`", called[1].get("stdout") == "a.txt\n", called)
        listed = container.call("ls", {"path": "."}, token)
        expect("it runs `ls`", "a.txt" in listed[1].get("stdout", ""), listed)
        wait_for("the health check", container.is_healthy)
        code, _ = container.stop()
        expect(f"it stops with exit code {code}", code == 0)


def what_commands_need(image):
    print(f"{image}, what commands need")
    works = {
        "python3": "python3 -c 'print(6 * 7)'",
        "python3's venv": "python3 -m venv --without-pip v && v/bin/python -c 'print(42)'",
        "node": "node -e 'console.log(6 * 7)'",
        "jq": "echo '{\"a\": 42}' | jq .a",
        "a C compiler": "printf 'int main(void) { return 42; }' > a.c && cc a.c -o a; ./a; echo $?",
        "make": "printf 'x:\\n\\t@echo 42\\n' > Makefile && make x",
        "sqlite3": "sqlite3 :memory: 'select 42'",
        "curl": "curl --version > /dev/null && echo 42",
        "git": "git init -q r && cd r && echo 42",
        "speech": "espeak-ng -w a.wav 42 && opusenc --quiet a.wav a.ogg && test -s a.ogg && echo 42",
    }
    with Container(image, [8700, 8701]) as container:
        container.wait_until_ready(8700)
        tools = container.run("supervisor", "token", "tool").strip()
        for what, cmd in works.items():
            called = container.call("bash", {"cmd": cmd}, tools)
            expect(what, called[1].get("stdout", "").strip() == "42", called)


def main():
    images = ["autonous", "autonous:full", "autonous:tool-server"]
    for image in images:
        engine("image", "inspect", image)
    figures = {}
    with contextlib.ExitStack() as stack:
        directory = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        the_whole(images[0], figures)
        hardened(images[0])
        tier_a(images[0], directory)
        what_commands_need(images[1])
        the_tool_server(images[2], figures)
    print(f"\nAll of it works with {engine('--version').strip()}.")
    for image in images:
        size = int(engine("image", "inspect", "--format", "{{.Size}}", image))
        print(f"  {size / 1e6:6.0f} MB  {image}")
    for what, milliseconds in figures.items():
        print(f"  {milliseconds:6.0f} ms  {what}")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as failure:
        sys.exit(f"image-test: {failure}")

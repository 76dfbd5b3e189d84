"""A Debian whose systemd runs in namespaces of its own, and the Telegram that is played beside it."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TARGET = HERE.parent / "target" / "package"
BASE = TARGET / "root-systemd"
ROOT = TARGET / "root-trial"
INCLUDED = ["systemd", "systemd-sysv", "dbus", "curl", "git", "ripgrep", "fd-find", "procps"]
UNIT = "autonous.service"
DEADLINE_SECONDS = 60
TELEGRAM_PORT = 8099
TOKEN = "123456:PLAYED-token-of-a-played-bot"


def fail(why):
    sys.exit(f"This cannot run here: {why}")


def output(*command, check=True, timeout=300):
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=timeout)
    if check and ended.returncode != 0:
        raise AssertionError(
            f"{' '.join(map(str, command))} ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}"
        )
    return ended.stdout


def expect(what, holds, shown=""):
    if not holds:
        raise AssertionError(f"not so: {what}\n{shown}")
    print(f"  {what}", flush=True)


def wait_for(what, condition, seconds=DEADLINE_SECONDS):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s in vain: {what}")
        time.sleep(0.01)
    return found


class Machine:
    """A Debian whose systemd runs in namespaces of its own; it and its files are gone afterwards."""

    def __enter__(self):
        shutil.rmtree(ROOT, ignore_errors=True)
        output("cp", "--archive", str(BASE), str(ROOT))
        self.log = (TARGET / "boot.log").open("w")
        self.boot = subprocess.Popen(
            [HERE / "boot.sh", ROOT], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log
        )
        self.group = f"autonous-package-{self.boot.pid}"
        self.first = None
        try:
            self.first = wait_for("systemd begins", self.first_process)
            asked = lambda: self.run("systemctl", "is-system-running", check=False).strip()
            wait_for("systemd runs", lambda: asked() == "running")
        except BaseException:
            self.__exit__(True)
            raise
        return self

    def first_process(self):
        if self.boot.poll() is not None:
            fail((TARGET / "boot.log").read_text())
        children = pathlib.Path(f"/proc/{self.boot.pid}/task/{self.boot.pid}/children")
        # Until it becomes systemd, its script has short-lived children of its own.
        names = {child: pathlib.Path(f"/proc/{child}/comm") for child in children.read_text().split()}
        with contextlib.suppress(OSError):
            return next((child for child, name in names.items() if name.read_text().strip() == "systemd"), None)

    def __exit__(self, failure, *_):
        if failure and self.first:
            sys.stderr.write(self.run("journalctl", "--no-pager", "--unit", UNIT, "--lines", "60", check=False))
        with contextlib.suppress(OSError, TypeError):
            os.kill(int(self.first), signal.SIGKILL)
        self.boot.kill()
        self.boot.wait()
        for mount in pathlib.Path("/proc/mounts").read_text().splitlines():
            _, place, kind = mount.split()[:3]
            if kind == "cgroup2":
                for group in pathlib.Path(place).glob(f"**/{self.group}"):
                    remove_group(group)
        shutil.rmtree(ROOT, ignore_errors=True)

    def run(self, *command, **options):
        return output(*self.entry(), *command, **options)

    def entry(self):
        clean = ["env", "-i", "--chdir=/", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8"]
        return ["nsenter", "-t", self.first, "--all", "--root", "--", *clean]

    def request(self, port, path, token=None, body=None):
        command = ["curl", "-sS", "--max-time", "30", f"http://127.0.0.1:{port}{path}"]
        if token:
            command += ["-H", f"Authorization: Bearer {token}"]
        if body is not None:
            command += ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        return json.loads(self.run(*command, check=False) or "{}")

    def is_ready(self):
        return self.request(8700, "/readyz").get("ready") is True

    def token(self, which):
        return self.run("autonous", "token", which).strip()

    def send(self, text, chat):
        return self.request(8700, "/messages", self.token("control"), {"text": text, "chat": chat})["task_id"]

    def task(self, task):
        listed = json.loads(self.run("autonous", "tasks", "--json"))["tasks"]
        return next(row for row in listed if row["id"] == task)

    def waits(self, task):
        return self.task(task)["waits_for_person"]

    def reply(self, task):
        """The answer to a task that has ended."""
        return self.request(8700, f"/messages/{task}", self.token("control")).get("reply")

    def events(self, task):
        """The types of all events of a task."""
        found, below = [], json.loads(self.run("autonous", "tree", "--task", task, "--json"))
        while below:
            event = below.pop()
            below += event["children"]
            if event["task_id"] == task:
                found.append(event["type"])
        return found

    def property(self, name):
        return self.run("systemctl", "show", UNIT, f"--property={name}", "--value").strip()

    def milliseconds_to_ready(self):
        """From the program's start to the line that says so, by the clock of the journal."""
        begun = int(self.property("ExecMainStartTimestampMonotonic"))
        lines = self.run("journalctl", "--unit", UNIT, "--output=json", f"_PID={self.property('MainPID')}")
        rows = [json.loads(line) for line in lines.splitlines()]
        said = [row for row in rows if str(row["MESSAGE"]).startswith("ready: control")]
        return (int(said[-1]["__MONOTONIC_TIMESTAMP"]) - begun) / 1000


class Telegram:
    """The played Telegram in the network of a machine. `log` has what the bot did, and what became of messages."""

    url = f"http://127.0.0.1:{TELEGRAM_PORT}"

    def __init__(self, machine):
        self.machine, self.path = machine, TARGET / "telegram.log"

    def __enter__(self):
        self.path.write_text("")
        program = [sys.executable, HERE / "played_telegram.py", str(TELEGRAM_PORT), TOKEN, self.path]
        inside = ["nsenter", "-t", self.machine.first, "--net", "--"]
        self.program = subprocess.Popen([*inside, *program], stdin=subprocess.PIPE, text=True)
        wait_for("the played Telegram has begun", self.path.read_text)
        return self

    def __exit__(self, failure, *_):
        self.program.stdin.close()
        self.program.wait()
        if failure:
            sys.stderr.write("".join(f"Telegram: {row}\n" for row in self.log()[-30:]))

    def log(self):
        # The last line may still be written.
        return [json.loads(line) for line in self.path.read_text().split("\n")[:-1]]

    def act(self, **row):
        """Returns what the log says of it."""
        before = len(self.log())
        self.program.stdin.write(json.dumps(row) + "\n")
        self.program.stdin.flush()
        pushed = lambda: next((row for row in self.log()[before:] if row["did"] == "pushed"), None)
        return wait_for("the played Telegram has a message", pushed)

    def write(self, person, text):
        return self.act(**person, text=text)

    def press(self, person, message, label):
        """Presses a button of a message, and returns the answer that the person sees."""
        buttons = [button for row in message["markup"]["inline_keyboard"] for button in row]
        data = next(button["callback_data"] for button in buttons if button["text"] == label)
        before = len(self.log())
        self.act(**person, message=message["message"], press=data)
        answered = lambda: next((row for row in self.log()[before:] if row["did"] == "answered"), None)
        return wait_for("the press is answered", answered)["text"]

    def sent(self, person, part=""):
        """The messages that a person got, with this part; those that show progress are silent."""
        is_it = lambda row: row["did"] == "sent" and row["chat"] == person["from"] and not row["is_silent"]
        return [row for row in self.log() if is_it(row) and part in row.get("text", "")]

    def wait_for(self, person, part):
        return wait_for(f"{person['name']} is sent {part!r}", lambda: self.sent(person, part))[-1]


def remove_group(group):
    """Its processes are dead, but may take a moment to be gone."""

    def gone():
        for directory, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)
        return not group.exists()

    wait_for(f"{group} is empty", gone)

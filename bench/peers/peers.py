"""Runs the same work on Autonous's tool server and on programs that people compare it with.

    bench/peers/peers.py PROGRAMS DIRECTORY

PROGRAMS has the release programs; the others are installed into DIRECTORY, from PyPI and npm. Each server runs
alone, on the first core; the client runs on the last one. Prints a table in Markdown.
"""

import os
import pathlib
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from client import Http, Stdio, pipes

# Each has an environment of its own. mcpo 0.0.20 works with no newer version of the two libraries.
PYTHON = {
    "open-terminal": ["open-terminal==0.14.5"],
    "swe-rex": ["swe-rex==1.4.0"],
    "mcpo": ["mcpo==0.0.20", "mcp<2", "fastapi<0.120"],
}
FILESYSTEM = "@modelcontextprotocol/server-filesystem@2026.8.31"
SERVER_CORE, CLIENT_CORE = 0, (os.cpu_count() or 1) - 1

# How often each is done, after some that do not count.
TIMES = {"read": 1000, "exec": 100, "grep": 100, "edit": 200}
WARM = 10
AT_ONCE, SECONDS = 8, 3

FILES, MATCHES = 500, 20
TOKEN = "peers-peers-peers"


def make_tree(root):
    """500 files of 2 kB, 20 of which have the word, and two of 5 kB to read and to edit."""
    for number in range(FILES):
        lines = [f"line {line} of file {number}: nothing to be seen here" for line in range(40)]
        if number % (FILES // MATCHES) == 0:
            lines[20] = "here is the needle"
        directory = root / f"d{number % 20}"
        directory.mkdir(exist_ok=True)
        (directory / f"f{number}.txt").write_text("\n".join(lines) + "\n")
    text = "".join(f"line {line} has some words in it, as lines have\n" for line in range(108))
    (root / "read.txt").write_text(text)
    (root / "edit.txt").write_text(text + "the word is alpha\n")


class Peer:
    """A server: how it starts, and what it is asked. `work` has a request, two in turns, or none."""

    name = ""
    by_command = ()

    def __init__(self, programs, tools, scratch):
        self.programs, self.tools, self.scratch = programs, tools, scratch
        self.root = scratch / "root"
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]

    def command(self):
        raise NotImplementedError

    def client(self, process):
        return Http(self.port, [f"Authorization: Bearer {TOKEN}"])

    def work(self):
        raise NotImplementedError

    def before(self):
        """What has to be asked once before all else."""
        return []

    def environment(self):
        places = [f"{self.tools}/{name}/bin" for name in PYTHON] + [f"{self.tools}/node_modules/.bin"]
        return {"PATH": ":".join([*places, os.environ["PATH"]]),
                "HOME": str(self.scratch), "LANG": "C.UTF-8"}

    def path(self, name):
        return str(self.root / name)


class Autonous(Peer):
    name = "Autonous"

    def command(self):
        return [self.programs / "tool-server", "serve"]

    def environment(self):
        return super().environment() | {
            "AUTONOUS_TOOL_ALLOWED_ROOTS": str(self.root), "AUTONOUS_DATA_DIR": str(self.scratch / "data"),
            "AUTONOUS_TOOL_LISTEN": f"127.0.0.1:{self.port}", "AUTONOUS_TOOL_TOKEN": TOKEN,
        }

    def before(self):
        # A file is edited by those who have read it.
        return [("POST", "/tools/read", {"path": "edit.txt"})]

    def work(self):
        edit = lambda old, new: ("POST", "/tools/edit", {"path": "edit.txt", "find": old, "replace": new})
        return {
            "read": ("POST", "/tools/read", {"path": "read.txt"}), "exec": ("POST", "/tools/bash", {"cmd": "true"}),
            "grep": ("POST", "/tools/grep", {"pattern": "needle", "path": "."}),
            "edit": [edit("is alpha", "is beta"), edit("is beta", "is alpha")],
        }


class AutonousStdio(Autonous):
    name = "Autonous, over stdio"

    def command(self):
        return [self.programs / "tool-server", "mcp", "--root", self.root]

    def environment(self):
        return Peer.environment(self) | {"AUTONOUS_DATA_DIR": str(self.scratch / "data")}

    def client(self, process):
        return Stdio(process)

    def before(self):
        return [self.named(request) for request in super().before()]

    def work(self):
        return {name: [self.named(one) for one in asked] if isinstance(asked, list) else self.named(asked)
                for name, asked in super().work().items()}

    @staticmethod
    def named(request):
        return request[1].removeprefix("/tools/"), request[2]


class OpenTerminal(Peer):
    name = "open-terminal"

    def command(self):
        return ["open-terminal", "run", "--host", "127.0.0.1", "--port", str(self.port), "--api-key", TOKEN]

    def work(self):
        root = str(self.root)
        edit = lambda old, new: ("POST", "/files/replace", {
            "path": self.path("edit.txt"), "replacements": [{"target": old, "replacement": new}]})
        return {
            "read": ("GET", f"/files/read?path={self.path('read.txt')}", None),
            "exec": ("POST", "/execute?wait=30", {"command": "true"}),
            "grep": ("GET", f"/files/grep?query=needle&path={root}&regex=false", None),
            "edit": [edit("is alpha", "is beta"), edit("is beta", "is alpha")],
        }


class SweRex(Peer):
    name = "SWE-ReX"
    by_command = ("grep", "edit")

    def command(self):
        return ["swerex-remote", "--host", "127.0.0.1", "--port", str(self.port), "--auth-token", TOKEN]

    def client(self, process):
        return Http(self.port, [f"X-API-Key: {TOKEN}"])

    def work(self):
        run = lambda *words: ("POST", "/execute", {"command": list(words)})
        edit = lambda old, new: run("sed", "-i", f"s/{old}/{new}/", self.path("edit.txt"))
        return {
            "read": ("POST", "/read_file", {"path": self.path("read.txt")}), "exec": run("true"),
            "grep": run("grep", "-rnF", "needle", str(self.root)),
            "edit": [edit("is alpha", "is beta"), edit("is beta", "is alpha")],
        }


class Filesystem(Peer):
    name = "MCP file-system server, over stdio"

    def command(self):
        return ["mcp-server-filesystem", self.root]

    def client(self, process):
        return Stdio(process)

    def work(self):
        edit = lambda old, new: ("edit_file", {"path": self.path("edit.txt"), "edits": [{"oldText": old, "newText": new}]})
        return {"read": ("read_text_file", {"path": self.path("read.txt")}),
                "edit": [edit("is alpha", "is beta"), edit("is beta", "is alpha")]}


class Mcpo(Filesystem):
    name = "mcpo, with that server"

    def command(self):
        return ["mcpo", "--host", "127.0.0.1", "--port", str(self.port), "--api-key", TOKEN, "--",
                "mcp-server-filesystem", self.root]

    def client(self, process):
        return Peer.client(self, process)

    def work(self):
        asked = lambda request: ("POST", f"/{request[0]}", request[1])
        return {name: [asked(one) for one in work] if isinstance(work, list) else asked(work)
                for name, work in super().work().items()}


PEERS = [Autonous, AutonousStdio, OpenTerminal, SweRex, Filesystem, Mcpo]


def install(tools):
    """Nothing is installed again that is there in the right version."""
    for name, packages in PYTHON.items():
        place = tools / name
        if not place.exists():
            subprocess.run([sys.executable, "-m", "venv", place], check=True)
        pip = [place / "bin/pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *packages], check=True)
    subprocess.run(["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", tools, FILESYSTEM], check=True)


def family(pid):
    """A process and all that it has started."""
    found, new = [], [pid]
    while new:
        found += new
        listed = [pathlib.Path(f"/proc/{one}/task/{one}/children") for one in new]
        new = [int(child) for file in listed if file.exists() for child in file.read_text().split()]
    return found


def memory(pid):
    """MB that a server's processes have together, each shared page counted once (PSS)."""
    total = 0
    for one in family(pid):
        try:
            text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        total += next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pss:"))
    return total / 1024


def first_answer(peer, process, began):
    """The client and the milliseconds from the start to the first answer to `read`."""
    client = peer.client(process)
    request = None
    while time.monotonic() < began + 60:
        if process.poll() is not None:
            raise SystemExit(f"{peer.name} ended: {(peer.scratch / 'log').read_text()[-2000:]}")
        try:
            client.connect()
            request = request or client.encode(peer.work()["read"])
            client.ask(request)
            return client, (time.monotonic() - began) * 1000
        except (ConnectionError, SystemExit) as error:
            if isinstance(error, SystemExit) and isinstance(client, Stdio):
                raise
            time.sleep(0.005)
    raise SystemExit(f"{peer.name} gave no answer: {(peer.scratch / 'log').read_text()[-2000:]}")


def times(client, asked, count):
    """p50 and p99 in milliseconds."""
    turns = [client.encode(one) for one in (asked if isinstance(asked, list) else [asked])]
    took = []
    for number in range(WARM + count):
        began = time.perf_counter()
        client.ask(turns[number % len(turns)])
        took.append((time.perf_counter() - began) * 1000)
    took = took[WARM:]
    return statistics.median(took), statistics.quantiles(took, n=100)[98]


def measure(kind, programs, tools):
    with tempfile.TemporaryDirectory(prefix="peers-") as scratch:
        peer = kind(programs, tools, pathlib.Path(scratch))
        peer.root.mkdir()
        make_tree(peer.root)
        streams = pipes() if isinstance(peer.client(None), Stdio) else {"stdin": subprocess.DEVNULL}
        log = open(peer.scratch / "log", "wb")
        streams.setdefault("stdout", log)
        began = time.monotonic()
        pin = lambda: os.sched_setaffinity(0, {SERVER_CORE})
        process = subprocess.Popen(list(map(str, peer.command())), env=peer.environment(), cwd=peer.scratch,
                                   stderr=log, preexec_fn=pin, start_new_session=True, **streams)
        try:
            client, start = first_answer(peer, process, began)
            row = {"start": f"{start:.0f} ms"}
            for request in peer.before():
                client.ask(client.encode(request))
            for name, count in TIMES.items():
                asked = peer.work().get(name)
                if asked is None:
                    row[name] = "–"
                    continue
                p50, p99 = times(client, asked, count)
                row[name] = f"{p50:.2f} / {p99:.2f}" + (" ¹" if name in peer.by_command else "")
            row["rate"] = f"{client.rate(client.encode(peer.work()['read']), AT_ONCE, SECONDS):.0f}/s"
            row["memory"] = f"{memory(process.pid):.0f} MB"
            return row
        finally:
            end(process)
            log.close()


def end(process):
    for name in [signal.SIGTERM, signal.SIGKILL]:
        try:
            os.killpg(process.pid, name)
            process.wait(10)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue


def main():
    programs, tools = (pathlib.Path(argument).resolve() for argument in sys.argv[1:3])
    tools.mkdir(parents=True, exist_ok=True)
    install(tools)
    os.sched_setaffinity(0, {CLIENT_CORE})
    print(f"| | start | memory | `read` | `exec` | `grep` | `edit` | `read`, {AT_ONCE} at once |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in PEERS:
        row = measure(kind, programs, tools)
        cells = [row[name] for name in ["start", "memory", *TIMES, "rate"]]
        print(f"| {kind.name} | {' | '.join(cells)} |", flush=True)
    print("\nMilliseconds, p50 / p99. ¹ by a command: it has no such operation.")


if __name__ == "__main__":
    main()

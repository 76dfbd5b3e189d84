"""Times the way from nothing to the first answer, and counts what a person types on it.

    bench/peers/first_answer.py DIRECTORY [--dist DIST] [--clone SECONDS]

The lines below are what a person types. Each program gets a fresh directory in DIRECTORY with one file, `seen.txt`; the
lines run there, and the first answer is a listing that has the name of that file. A machine is assumed that has the
interpreter and its installer (Python and pip, Node.js and npm), and nothing of the program; their caches are off.

DIST (dist/) has what `make package` made. The package is installed on the Debian of package/machine.py, which needs
root. --clone has the seconds that `make test-fresh` printed for the first message, less those for git and make, which
count as there, like Rust.

Prints a table in Markdown.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

PROJECT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(PROJECT / "package"))

SEEN = "seen.txt"
DEADLINE_SECONDS = 600
BEARER = "curl -s -H 'Authorization: Bearer secret'"
FILES = "npx -y @modelcontextprotocol/server-filesystem ."


class Program:
    """The lines that a person types: some that end, one that keeps running, and one that asks. This is tried until it
    is answered, and counts once."""

    def __init__(self, name, install, start, ask, port=None, venv=False):
        self.name, self.install, self.start, self.ask = name, install, start, ask
        self.port, self.venv = port, venv

    def lines(self):
        return [line for line in [*self.install, self.start, self.ask] if line]


def mcp_lines():
    """What a client of the protocol sends before and with its first call."""
    first = ('{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
             '"clientInfo":{"name":"me","version":"1"}}}')
    second = '{"jsonrpc":"2.0","method":"notifications/initialized"}'
    third = ('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"list_directory","arguments":'
             '{"path":"."}}}')
    return " ".join(f"'{line}'" for line in [first, second, third])


PEERS = [
    Program("open-terminal", ["pip install open-terminal"], "open-terminal run --api-key secret",
            f"{BEARER} 'http://127.0.0.1:8000/files/list?directory=.'", port=8000, venv=True),
    Program("SWE-ReX", ["pip install swe-rex"], "swerex-remote --auth-token secret",
            "curl -s -H 'X-API-Key: secret' --json '{\"command\":[\"ls\"]}' http://127.0.0.1:8000/execute", port=8000,
            venv=True),
    # A person without a client types the lines of the protocol.
    Program("MCP file-system server", [], "", f"printf '%s\\n' {mcp_lines()} | {FILES}"),
    # It does not start with newer versions of the two libraries, which pip would take.
    Program("mcpo, with that server", ["pip install mcpo 'mcp<2' 'fastapi<0.120'"],
            f"mcpo --api-key secret -- {FILES}",
            f"{BEARER} --json '{{\"path\":\".\"}}' http://127.0.0.1:8000/list_directory", port=8000, venv=True),
]


def package(deb):
    return Program("Autonous, Debian package", [f"sudo apt install ./{deb}",
                   "sudo autonous setup --yes --model none --service"], "", "sudo autonous chat 'ls path=.'")


def archive(name):
    # The server prints the last line, to be pasted. It refuses a root that has its own program in it.
    return Program("its tool server, archive", [f"tar xf ~/{name} -C ~"],
                   f"~/{name.removesuffix('.tar.gz')}/bin/tool-server run --root .", "", port=8701)


CLONE = Program("Autonous, `make run`", ["git clone https://github.com/autonous/autonous && cd autonous"],
                "make run", "target/debug/supervisor chat 'ls path=.'")


def environment(place):
    """Installers find nothing that another run has left."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PIP_FIND", "VIRTUAL_ENV"))}
    return kept | {"PIP_NO_CACHE_DIR": "1", "npm_config_cache": str(place / "npm"), "HOME": str(place / "home"),
                   "npm_config_update_notifier": "false", "XDG_STATE_HOME": str(place / "home/.local/state"),
                   "PATH": f"{place / 'venv/bin'}:{os.environ['PATH']}"}


def prepared(place, program):
    shutil.rmtree(place, ignore_errors=True)
    for name in ["work", "home"]:
        (place / name).mkdir(parents=True)
    (place / "work" / SEEN).write_text("seen\n")
    if program.venv:
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
    if program.port:
        with contextlib.suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", program.port)):
            sys.exit(f"Something listens at port {program.port}, which {program.name} uses: stop it first.")


def measure(program, place, put=()):
    """The seconds until the first answer, and the lines that were typed."""
    prepared(place, program)
    try:
        return answered(program, place, put)
    finally:
        shutil.rmtree(place)


def answered(program, place, put):
    for file in put:
        shutil.copy(file, place / "home")
    shell = {"cwd": place / "work", "env": environment(place), "stdin": subprocess.DEVNULL}
    began = time.monotonic()
    for line in program.install:
        done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, **shell)
        if done.returncode != 0:
            sys.exit(f"{program.name}: {line}\n{done.stdout}{done.stderr}")
    log = place / "log"
    with log.open("w") as shown:
        started = subprocess.Popen(["bash", "-c", f"exec {program.start or 'sleep 600'}"], stdout=shown, stderr=shown,
                                   start_new_session=True, **shell)
        try:
            ask = program.ask or printed_line(started, log, "curl ", began)
            wait_for_answer(program, ask, shell, began, log, started)
            # What it printed counts as on the machine of a person, whose home has a short name.
            printed = [] if program.ask else [ask.replace(str(place / "home"), "/home/ada")]
            return time.monotonic() - began, [*program.lines(), *printed]
        finally:
            end(started)


def printed_line(started, log, begins, began):
    while started.poll() is None and time.monotonic() < began + DEADLINE_SECONDS:
        for line in log.read_text().split("\n")[:-1]:
            if line.startswith(begins):
                return line
        time.sleep(0.01)
    sys.exit(f"It printed no line to paste: {log.read_text()[-2000:]}")


def wait_for_answer(program, ask, shell, began, log, started):
    while time.monotonic() < began + DEADLINE_SECONDS:
        asked = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, timeout=DEADLINE_SECONDS, **shell)
        if SEEN in asked.stdout:
            return
        if started.poll() is not None:
            break
        time.sleep(0.05)
    sys.exit(f"{program.name} gave no answer: {log.read_text()[-2000:]}")


def end(process):
    for name in [signal.SIGTERM, signal.SIGKILL]:
        with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
            os.killpg(process.pid, name)
            process.wait(10)


def measure_package(deb):
    """On a fresh Debian whose systemd runs. The package is there already, as after a download."""
    import machine as debian
    subprocess.run([PROJECT / "package" / "root.sh", debian.BASE, *debian.INCLUDED], check=True)
    program = package(deb.name)
    with debian.Machine() as machine:
        shutil.copy(deb, debian.ROOT / "root")
        # No network is here. Without lists, apt does without the recommended packages, and asks nothing.
        shutil.rmtree(debian.ROOT / "var/lib/apt/lists")
        typed = lambda line: machine.run("sh", "-c", f"cd /root && {line.replace('sudo ', '')}", check=False)
        began = time.monotonic()
        said = "".join(typed(line) for line in program.install)
        # The workspace is empty.
        while "exit 0" not in (answer := typed(program.ask)):
            if time.monotonic() > began + 60:
                sys.exit(f"The package gave no answer: {said}\n{answer}")
            time.sleep(0.05)
        return time.monotonic() - began, program.lines()


def row(name, seconds, lines):
    keys = [len(line) + 1 for line in lines]
    shown = seconds if isinstance(seconds, str) else f"{seconds:.1f}"
    print(f"| {name} | {shown} | {sum(keys)} | {keys[-1]} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--dist", type=pathlib.Path, default=PROJECT / "dist")
    parser.add_argument("--clone", type=float, metavar="SECONDS")
    given = parser.parse_args()
    newest = lambda form: max(given.dist.glob(form), key=os.path.getmtime, default=None)
    deb, tarball = newest("autonous_*.deb"), newest("autonous-*.tar.gz")
    place = given.directory.resolve()
    print("| | seconds | keystrokes | of them to ask |")
    print("|---|---|---|---|")
    if deb and os.geteuid() == 0:
        row("Autonous, Debian package", *measure_package(deb))
    if tarball:
        program = archive(tarball.name)
        row(program.name, *measure(program, place / "archive", [tarball]))
    row(CLONE.name, given.clone or "not given", CLONE.lines())
    for number, program in enumerate(PEERS):
        row(program.name, *measure(program, place / str(number)))
    print("\nSeconds from the first line on, downloads included, but for the package and the archive, which are there.")
    if not (deb and os.geteuid() == 0):
        print("Without the Debian package: that needs root, and a package of `make package`.", file=sys.stderr)


if __name__ == "__main__":
    main()

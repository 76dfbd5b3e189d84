#!/usr/bin/env python3
"""Installs the Debian package on a fresh Debian whose systemd runs, updates it while tasks run and wait, removes
it, and prints what it measured (`make test-package`).

Needs root, debootstrap, cgroups of version 2, and a package of `make package` in dist/ (DEB names another one).
"""

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
MOST_BYTES = 25_000_000
# Half of it where nothing else runs.
MOST_MILLISECONDS = 1000


def fail(why):
    sys.exit(f"make test-package cannot run here: {why}")


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


def remove_group(group):
    """Its processes are dead, but may take a moment to be gone."""

    def gone():
        for directory, _, _ in os.walk(group, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)
        return not group.exists()

    wait_for(f"{group} is empty", gone)


def higher_version(deb):
    """The same package under a higher version."""
    tree, newer = TARGET / "newer", TARGET / "newer.deb"
    shutil.rmtree(tree, ignore_errors=True)
    output("dpkg-deb", "--raw-extract", str(deb), str(tree))
    control = tree / "DEBIAN" / "control"
    lines = control.read_text().splitlines()
    lines = [f"{line}+trial" if line.startswith("Version: ") else line for line in lines]
    control.write_text("\n".join(lines) + "\n")
    output("dpkg-deb", "--root-owner-group", "-Zgzip", "-z1", "--build", str(tree), str(newer))
    shutil.rmtree(tree)
    return newer


def installation(machine, figures):
    print("installing")
    begun = time.monotonic()
    machine.run("dpkg", "--install", "/opt/autonous.deb")
    figures["install"] = f"{time.monotonic() - begun:.1f} s"
    stat = lambda path: machine.run("stat", "--format=%U:%G %a", path).strip()
    for path, mode in [
        ("/etc/autonous", "root:autonous 750"),
        ("/var/lib/autonous", "autonous:autonous 700"),
        ("/usr/lib/autonous/supervisor", "root:root 755"),
        ("/usr/bin/autonous", "root:root 755"),
    ]:
        expect(f"{path} is {mode}", stat(path) == mode, stat(path))
    user = machine.run("getent", "passwd", "autonous")
    expect("the user autonous cannot sign in", user.strip().endswith(":/usr/sbin/nologin"), user)
    expect("it is not started unasked", machine.property("ActiveState") == "inactive")
    unprivileged = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "autonous"]
    refused = subprocess.run([*machine.entry(), *unprivileged, "tasks"], capture_output=True, text=True)
    expect("an ordinary user reads to use sudo", refused.returncode == 1 and "sudo" in refused.stderr, refused)
    version = machine.run(*unprivileged, "--version")
    expect(f"anybody may ask the version: {version.strip()}", version.startswith("supervisor "))
    said = machine.run("tool-server", "--version")
    expect("tool-server is on the PATH", said.startswith("tool-server "), said)
    for name in ["autonous", "tool-server"]:
        machine.run("bash", "-n", f"/usr/share/bash-completion/completions/{name}")
        page = machine.run("sh", "-c", f"gzip -dc /usr/share/man/man1/{name}.1.gz")
        expect(f"{name} has a completion and a man page", ".TH" in page)
    units = [f"/usr/lib/systemd/system/{name}" for name in [UNIT, "autonous-tool-server.service"]]
    found = machine.run("systemd-analyze", "verify", "--man=no", *units)
    expect("systemd-analyze finds nothing in the units", not found.strip(), found)


def set_up(machine):
    print("setting up, unattended")
    machine.run("mkdir", "--mode=0755", "/srv/set-up")
    machine.run("chown", "autonous", "/srv/set-up")
    said = machine.run("autonous", "setup", "--yes", "--model", "none", "--root", "/srv/set-up")
    expect("it tries the sandbox and writes the file", "Wrote /etc/autonous/autonous.toml" in said, said)
    stat = lambda path: machine.run("stat", "--format=%U:%G %a", path).strip()
    expect("the directory is root's again", stat("/etc/autonous") == "root:autonous 750", stat("/etc/autonous"))
    file = stat("/etc/autonous/autonous.toml")
    expect("the service reads the file, and no other user", file.startswith("autonous:") and file.endswith(" 600"), file)
    held = machine.run("autonous", "config", "--set")
    expect("`autonous config` shows it", "/etc/autonous/autonous.toml:" in held and "/srv/set-up" in held, held)
    judged = machine.run("autonous", "config", "check", "/etc/autonous/autonous.toml")
    expect("`autonous config check` finds no fault", "all valid" in judged, judged)
    # What follows works in the default directory.
    machine.run("sed", "-i", "/allowed_roots/d", "/etc/autonous/autonous.toml")


def start(machine, figures):
    print("running")
    machine.run("systemctl", "enable", "--now", UNIT)
    wait_for("/readyz", machine.is_ready)
    took = sorted([machine.milliseconds_to_ready(), *(restarted(machine) for _ in range(4))])
    figures["exec to ready"] = f"{took[2]:.0f} ms (median of 5; {took[0]:.0f} to {took[-1]:.0f})"
    expect(f"it is ready {took[2]:.0f} ms after its start", took[2] <= MOST_MILLISECONDS, took)
    owner = machine.run("ps", "-o", "user=", "-p", machine.property("MainPID")).strip()
    expect("it runs as the user autonous", owner == "autonous", owner)
    parts = machine.request(8700, "/readyz")["parts"]
    commands = next(part for part in parts if part["name"] == "commands")
    expect("under the unit's options, commands run in tier A", commands["detail"].endswith("tier A"), commands)
    body = {"cmd": "id -u; ls /home; cat /etc/autonous/*"}
    called = machine.request(8701, "/tools/bash", machine.token("tool"), body)
    expect("a command sees neither /home nor the settings", "No such file" in called["stderr"], called)
    called = machine.request(8701, "/tools/ls", machine.token("tool"), {"path": "."})
    expect("the tool port answers `ls`", called.get("ok") is True, called)
    said = machine.run("autonous", "chat", "ls path=.")
    expect("`autonous chat` answers", said.startswith("exit 0"), said)
    machine.run("autonous", "check")
    expect("`autonous check` finds no fault", True)


def tool_server_alone(machine):
    print("the tool server alone")
    env = pathlib.Path(HERE / "tool-server.env").read_text()
    drop_in = "/etc/systemd/system/autonous-tool-server.service.d"
    machine.run("install", "-d", "-o", "autonous", "-g", "autonous", "/srv/project", drop_in)
    for path, text in [
        ("/etc/autonous/tool-server.env", env),
        ("/etc/autonous/tool-token", "a-token-for-this-trial\n"),
        (f"{drop_in}/roots.conf", "[Service]\nReadWritePaths=/srv/project\n"),
    ]:
        (ROOT / path.lstrip("/")).write_text(text)
    machine.run("chown", "autonous", "/etc/autonous/tool-token")
    machine.run("chmod", "600", "/etc/autonous/tool-token")
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", "autonous-tool-server.service")
    expect("it takes the place of the other service", machine.property("ActiveState") == "inactive")
    wait_for("/readyz of the tool server", lambda: machine.request(8701, "/readyz").get("ready") is not None)
    body = {"cmd": "echo kept > made.txt && ls"}
    called = machine.request(8701, "/tools/bash", "a-token-for-this-trial", body)
    expect("it runs `bash` in its root", called.get("stdout") == "made.txt\n", called)
    expect("in tier A", called["meta"]["data"]["sandbox_tier"] == "A", called)
    machine.run("systemctl", "stop", "autonous-tool-server.service")
    machine.run("rm", "-r", "/etc/autonous/tool-server.env", "/etc/autonous/tool-token", drop_in)
    machine.run("systemctl", "daemon-reload")
    machine.run("systemctl", "start", UNIT)
    wait_for("/readyz", machine.is_ready)


def restarted(machine):
    machine.run("systemctl", "restart", UNIT)
    wait_for("/readyz", machine.is_ready)
    return machine.milliseconds_to_ready()


def update(machine, figures):
    print("updating while a task runs and another waits for a person")
    # Its first run does not end by itself; a later one does at once.
    once = "echo run >> runs.txt; [ $(wc -l < runs.txt) -gt 1 ] || sleep 300; echo finished"
    running = machine.send(f"/bash {json.dumps({'cmd': once, 'timeout_seconds': 400})}", "running")
    asking = {"cmd": "echo once >> asked.txt", "allow_control_files": True}
    waiting = machine.send(f"/bash {json.dumps(asking)}", "waiting")
    wait_for("the first runs", lambda: "tool_call.started" in machine.events(running))
    wait_for("the second waits or ends", lambda: machine.waits(waiting) or machine.reply(waiting))
    expect("`allow_control_files` asks a person", machine.waits(waiting), machine.reply(waiting))
    before = machine.property("MainPID")

    begun = time.monotonic()
    machine.run("dpkg", "--install", "/opt/newer.deb")
    wait_for("/readyz", machine.is_ready)
    figures["update to ready"] = f"{time.monotonic() - begun:.1f} s (10 s of it are the task's)"
    version = machine.run("dpkg-query", "--show", "--showformat=${Version}", "autonous")
    expect(f"version {version} runs", version.endswith("+trial") and machine.property("MainPID") != before)
    stopped = machine.run("journalctl", "--unit", UNIT, f"_PID={before}", "--output=cat")
    expect("the old one stopped in order", "stopped" in stopped.splitlines()[-1], stopped[-500:])

    wait_for("the first ends", lambda: machine.task(running)["state"] not in ["queued", "in_progress"])
    ended = machine.task(running)
    expect("the task that ran continues and is done", ended["state"] == "done", ended)
    expect("its answer says what became of the call", machine.reply(running), ended)
    expect("the other still waits", machine.waits(waiting))
    asked = json.loads(machine.run("autonous", "approvals", "--json"))
    asked = asked.get("approvals", asked) if isinstance(asked, dict) else asked
    expect("it asks once", len(asked) == 1, asked)
    machine.run("autonous", "approve", asked[0]["id"])
    wait_for("the second ends", lambda: machine.task(waiting)["state"] == "done")
    made = machine.run("cat", "/var/lib/autonous/workspace/asked.txt", check=False)
    expect("after a yes it runs once", made == "once\n", machine.reply(waiting))
    for task in [running, waiting]:
        events = machine.events(task)
        expect("its answer was sent once", events.count("reply.sent") == 1, events)


def back(machine):
    print("going back one version, by the lines of docs/packages.md")
    # A newer program with another schema would have kept this copy itself.
    machine.run("autonous", "backup", "/var/lib/autonous/db/autonous.db.schema-1")
    machine.run("autonous", "chat", "ls path=.")
    blocks = (HERE.parent / "docs" / "packages.md").read_text().split("```")
    lines = next(block for block in blocks if "--allow-downgrades" in block).splitlines()[1:]
    for line in lines:
        line = line.replace("sudo -u autonous", "runuser -u autonous --").replace("sudo ", "")
        if "apt install" in line:
            line = "dpkg --install /opt/autonous.deb"
        if line.startswith("autonous check"):
            wait_for("/readyz", machine.is_ready)
        machine.run("sh", "-c", line)
    version = machine.run("dpkg-query", "--show", "--showformat=${Version}", "autonous")
    expect(f"version {version} runs on the copy", not version.endswith("+trial") and machine.is_ready())


def removal(machine):
    print("removing")
    machine.run("dpkg", "--remove", "autonous")
    expect("nothing of it runs", not machine.run("pgrep", "-u", "autonous", check=False))
    expect("the data stays", machine.run("ls", "/var/lib/autonous/db/autonous.db", check=False))
    machine.run("dpkg", "--purge", "autonous")
    expect("the user is gone", not machine.run("getent", "passwd", "autonous", check=False))
    places = ["/etc", "/usr", "/var", "/run", "/root", "/home"]
    find = ["find", *places, "-xdev", "(", "-name", "*autonous*", "-o", "-name", "tool-server*", ")"]
    left = machine.run(*find, "-not", "-path", "/var/cache/*")
    # systemd keeps the mounts' places of a service for a while.
    left = [path for path in left.splitlines() if "systemd-private-" not in path]
    expect("no file of it is left", not left, left)
    expect("dpkg does not know it", "autonous" not in machine.run("dpkg", "--list"))


def main():
    if os.geteuid() != 0:
        fail("it needs root, for a root file system of its own.")
    if not shutil.which("debootstrap"):
        fail("it needs debootstrap: apt-get install debootstrap")
    architecture = output("dpkg", "--print-architecture").strip()
    packages = sorted((HERE.parent / "dist").glob(f"autonous_*_{architecture}.deb"), key=os.path.getmtime)
    deb = pathlib.Path(os.environ["DEB"]) if os.environ.get("DEB") else packages[-1] if packages else None
    if not deb:
        fail("there is no package in dist/: make package")
    subprocess.run([HERE / "root.sh", BASE, *INCLUDED], check=True)
    size = deb.stat().st_size
    figures = {"package": f"{size / 1e6:.1f} MB"}
    expect(f"{deb.name} is smaller than {MOST_BYTES / 1e6:.0f} MB", size < MOST_BYTES, size)
    newer = higher_version(deb)
    with Machine() as machine:
        shutil.copy(deb, ROOT / "opt" / "autonous.deb")
        shutil.copy(newer, ROOT / "opt" / "newer.deb")
        installation(machine, figures)
        set_up(machine)
        start(machine, figures)
        tool_server_alone(machine)
        update(machine, figures)
        back(machine)
        removal(machine)
    for name, figure in figures.items():
        print(f"{name:>16}  {figure}")


if __name__ == "__main__":
    main()

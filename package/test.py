#!/usr/bin/env python3
"""Installs the Debian package on a fresh Debian whose systemd runs, with a Telegram that is played beside it; updates
it while tasks run and wait, goes back, removes it, and prints what it measured (`make test-package`).

Needs root, debootstrap, cgroups of version 2, and a package of `make package` in dist/. DEB names another one, OLDER
the package that is installed first and updated to it (package/parent.sh makes one). Without OLDER, the update is the
same package under a higher version.
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from machine import BASE, HERE, INCLUDED, ROOT, TARGET, TOKEN, UNIT, Machine, Telegram, expect, fail, output, wait_for

MOST_BYTES = 25_000_000
# Half of it where nothing else runs.
MOST_MILLISECONDS = 1000

ADA = {"from": 4711, "name": "Ada"}
BOB = {"from": 4712, "name": "Bob"}


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


def version_of(deb):
    return output("dpkg-deb", "--field", str(deb), "Version").strip()


def installed_version(machine):
    return machine.run("dpkg-query", "--show", "--showformat=${Version}", "autonous")


def installation(machine, figures):
    print(f"installing {version_of(ROOT / 'opt' / 'autonous.deb')}")
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
    machine.run("install", "-d", "-o", "autonous", "-m", "0755", "/srv/set-up")
    for path, text in [
        ("/etc/autonous/autonous.toml", f'# mine\n[telegram]\napi_url = "{Telegram.url}"\n'),
        ("/srv/set-up/token", f"{TOKEN}\n"),
        ("/srv/set-up/wrong", f"{TOKEN}-wrong\n"),
    ]:
        (ROOT / path.lstrip("/")).write_text(text)
        machine.run("chown", "autonous", path)
        machine.run("chmod", "600", path)
    answers = ["--yes", "--model", "none", "--root", "/srv/set-up", "--telegram-token-file"]
    try:
        said = machine.run("autonous", "setup", *answers, "/srv/set-up/wrong")
    except AssertionError as refused:
        said = str(refused)
    expect("a token that Telegram refuses is not written", "nothing was written" in said, said)
    said = machine.run("autonous", "setup", *answers, "/srv/set-up/token")
    expect("it asks Telegram who the bot is", "reachable as @played_bot" in said, said)
    expect("it tries the sandbox and writes the file", "Wrote /etc/autonous/autonous.toml" in said, said)
    stat = lambda path: machine.run("stat", "--format=%U:%G %a", path).strip()
    expect("the directory is root's again", stat("/etc/autonous") == "root:autonous 750", stat("/etc/autonous"))
    for path in ["/etc/autonous/autonous.toml", "/etc/autonous/secrets/telegram_token"]:
        file = stat(path)
        is_private = file.startswith("autonous:") and file.endswith(" 600")
        expect(f"the service reads {path}, and no other user", is_private, file)
    held = machine.run("autonous", "config", "--set")
    expect("`autonous config` shows it", "/etc/autonous/autonous.toml:" in held and "/srv/set-up" in held, held)
    expect("and no token", TOKEN not in held, held)
    judged = machine.run("autonous", "config", "check", "/etc/autonous/autonous.toml")
    expect("`autonous config check` finds no fault", "all valid" in judged, judged)
    # What follows works in the default directory.
    machine.run("sed", "-i", "/allowed_roots/d", "/etc/autonous/autonous.toml")


def pairing(machine, telegram):
    print("pairing the owner by a code, and another person by a press")
    telegram.write(ADA, "hello")
    offered = wait_for("the bot offers a code", lambda: telegram.sent(ADA))[0]["text"]
    code = re.search(r"pair ([A-Z0-9]{8})", offered)
    expect("the bot answers its first message with a code", code, offered)
    machine.run("autonous", "pair", code[1])
    telegram.write(BOB, "hello")
    asked = wait_for("the owner is asked", lambda: [row for row in telegram.sent(ADA) if row["markup"]])[-1]
    telegram.press(ADA, asked, "Allow")
    wait_for("Bob is paired", lambda: "4712" in machine.run("autonous", "chats"))
    for person in [ADA, BOB]:
        answered(telegram, person, f"paired-{person['from']}")


def answered(telegram, person, mark):
    """A message is answered, and once."""
    telegram.write(person, call("bash", cmd=f"printf %s {mark[:3]}; echo {mark[3:]}"))
    telegram.wait_for(person, mark)
    expect(f"{person['name']}'s message is answered, once", len(telegram.sent(person, mark)) == 1)


def call(tool, **arguments):
    """The message that is the call of a tool, without a model."""
    return f"/{tool} {json.dumps(arguments)}"


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


def update(machine, telegram, figures):
    newer = version_of(ROOT / "opt" / "newer.deb")
    print(f"updating to {newer} while a task runs, others wait for a person, and a message comes")
    # Its first run does not end by itself; a later one does at once.
    once = "echo run >> runs.txt; [ $(wc -l < runs.txt) -gt 1 ] || sleep 300; echo finished"
    running = machine.send(call("bash", cmd=once, timeout_seconds=400), "running")
    waiting = machine.send(call("bash", cmd="echo once >> asked.txt", allow_control_files=True), "waiting")
    wait_for("the first runs", lambda: "tool_call.started" in machine.events(running))
    wait_for("the second waits or ends", lambda: machine.waits(waiting) or machine.reply(waiting))
    expect("`allow_control_files` asks a person", machine.waits(waiting), machine.reply(waiting))
    shown = len(telegram.sent(ADA))
    telegram.write(ADA, call("bash", cmd="echo once >> pressed.txt; echo pres''sed", allow_control_files=True))
    asks = lambda: [row for row in telegram.sent(ADA)[shown:] if row["markup"] and "pressed.txt" in row["text"]]
    asked = wait_for("Ada is asked in Telegram", asks)[-1]
    before = machine.property("MainPID")

    begun = time.monotonic()
    with subprocess.Popen(
        [*machine.entry(), "dpkg", "--install", "/opt/newer.deb"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    ) as installing:
        wait_for("the old one has stopped", lambda: machine.property("ActiveState") == "inactive")
        pushed = telegram.write(BOB, call("bash", cmd="echo wait''ed"))
        said, _ = installing.communicate(timeout=300)
    expect("dpkg updates it", installing.returncode == 0, said)
    wait_for("/readyz", machine.is_ready)
    figures["update to ready"] = f"{time.monotonic() - begun:.1f} s (10 s of it are the task's)"
    version = installed_version(machine)
    expect(f"version {version} runs", version == newer and machine.property("MainPID") != before)
    stopped = machine.run("journalctl", "--unit", UNIT, f"_PID={before}", "--output=cat")
    expect("the old one stopped in order", "stopped" in stopped.splitlines()[-1], stopped[-500:])

    wait_for("the first ends", lambda: machine.task(running)["state"] not in ["queued", "in_progress"])
    ended = machine.task(running)
    expect("the task that ran continues and is done", ended["state"] == "done", ended)
    expect("its answer says what became of the call", machine.reply(running), ended)
    expect("a message came while nothing asked Telegram", not pushed["is_awaited"], pushed)
    telegram.wait_for(BOB, "waited")
    expect("the other still waits", machine.waits(waiting))
    approvals = json.loads(machine.run("autonous", "approvals", "--json"))
    approvals = approvals.get("approvals", approvals) if isinstance(approvals, dict) else approvals
    expect("each asks once", len(approvals) == 2, approvals)
    decided(machine, telegram, waiting, approvals, asked)


def decided(machine, telegram, waiting, approvals, asked):
    """One is decided on the command line, the other in Telegram."""
    answer = telegram.press(ADA, asked, "Once")
    expect(f"a press on the question from before is answered: {answer}", "Allowed" in answer, answer)
    telegram.wait_for(ADA, "pressed")
    late = telegram.press(ADA, asked, "Once")
    expect(f"a second press is answered: {late}", late != answer, late)
    its = lambda row: row["task_id"] == waiting
    machine.run("autonous", "approve", next(row["id"] for row in approvals if its(row)))
    wait_for("the second ends", lambda: machine.task(waiting)["state"] == "done")
    for name in ["asked.txt", "pressed.txt"]:
        made = machine.run("cat", f"/var/lib/autonous/workspace/{name}", check=False)
        expect(f"after a yes the call runs once: {name}", made == "once\n", made)
    # A second answer would come soon.
    time.sleep(3)
    for person, part in [(ADA, "pressed\n"), (BOB, "waited\n")]:
        answers = [row for row in telegram.sent(person) if part in f"{row['text']}\n" and not row["markup"]]
        expect(f"{person['name']} was sent the answer once", len(answers) == 1, answers)
    tasks = json.loads(machine.run("autonous", "tasks", "--json"))["tasks"]
    # Presses, and messages of those who were not paired yet, are no tasks.
    tasks = [row for row in tasks if row["state"] != "skipped"]
    expect("no task is open", all(row["state"] == "done" for row in tasks), tasks)
    sent = [machine.events(row["id"]).count("reply.sent") for row in tasks]
    expect(f"the answer to each of {len(tasks)} tasks was sent once", set(sent) == {1}, sent)


def service(machine, telegram):
    print("starting the service by the set-up")
    machine.run("systemctl", "disable", "--now", UNIT)
    expect("it is off", machine.property("ActiveState") == "inactive")
    said = machine.run("autonous", "setup", "--yes", "--service")
    expect("`autonous setup --yes --service` says that it runs", "The service runs" in said, said)
    said = machine.run("autonous", "chat", "ls path=.")
    expect("and so it does", said.startswith("exit 0"), said)
    state = machine.run("systemctl", "is-enabled", UNIT, check=False).strip()
    expect("it starts at each boot", state == "enabled", state)
    owner = machine.run("stat", "--format=%U:%G %a", "/etc/autonous").strip()
    expect("the directory of the settings is root's again", owner == "root:autonous 750", owner)
    answered(telegram, ADA, "after-setup")


def back(machine, telegram, older):
    """By the copy that a newer program has kept, by one that is made here, or without any, as the schema is."""
    database = "/var/lib/autonous/db"
    copies = machine.run("sh", "-c", f"ls {database}/autonous.db.schema-* 2>/dev/null", check=False).split()
    expected = version_of(ROOT / "opt" / "autonous.deb")
    if older and not copies:
        print("going back one version: the schema is the same")
        machine.run("dpkg", "--install", "/opt/autonous.deb")
        wait_for("/readyz", machine.is_ready)
        expect(f"version {expected} runs", installed_version(machine) == expected)
        answered(telegram, ADA, "went-back")
        machine.run("autonous", "check")
        machine.run("dpkg", "--install", "/opt/newer.deb")
        wait_for("/readyz", machine.is_ready)
    print("going back one version, by the lines of docs/packages.md")
    if not copies:
        machine.run("autonous", "backup", f"{database}/autonous.db.schema-1")
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
    expect(f"version {expected} runs on the copy", installed_version(machine) == expected and machine.is_ready())
    answered(telegram, BOB, "by-the-copy")


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
    named = lambda name: pathlib.Path(os.environ[name]) if os.environ.get(name) else None
    deb, older = named("DEB") or (packages[-1] if packages else None), named("OLDER")
    if not deb:
        fail("there is no package in dist/: make package")
    for file in filter(None, [deb, older]):
        if not file.is_file():
            fail(f"there is no {file}")
    first, newer = older or deb, deb if older else higher_version(deb)
    versions = [version_of(first), version_of(newer)]
    if subprocess.run(["dpkg", "--compare-versions", versions[0], "lt", versions[1]]).returncode != 0:
        fail(f"{newer} is {versions[1]}, no update of {versions[0]}. Build one with a lower VERSION: package/parent.sh")
    subprocess.run([HERE / "root.sh", BASE, *INCLUDED], check=True)
    size = deb.stat().st_size
    figures = {"package": f"{size / 1e6:.1f} MB"}
    expect(f"{deb.name} is smaller than {MOST_BYTES / 1e6:.0f} MB", size < MOST_BYTES, size)
    with Machine() as machine, Telegram(machine) as telegram:
        shutil.copy(first, ROOT / "opt" / "autonous.deb")
        shutil.copy(newer, ROOT / "opt" / "newer.deb")
        installation(machine, figures)
        set_up(machine)
        start(machine, figures)
        pairing(machine, telegram)
        tool_server_alone(machine)
        update(machine, telegram, figures)
        service(machine, telegram)
        back(machine, telegram, older)
        removal(machine)
    for name, figure in figures.items():
        print(f"{name:>16}  {figure}")


if __name__ == "__main__":
    main()

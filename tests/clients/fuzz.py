"""Sends a tool server requests that its document allows and others, with schemathesis, and checks every answer.

The arguments are the directory of the built programs, the environment of Python that has schemathesis, where it
is installed if it is missing, and options of schemathesis: how long it runs, or what it makes the requests from.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from common import ALLOW_ALL, start, stop

REQUIREMENTS = Path(__file__).resolve().parent / "requirements-fuzz.txt"
# A value that the schema allows may be refused for what no schema says, such as a file that does not exist.
CHECKS = ["--checks", "all", "--exclude-checks", "positive_data_acceptance", "--continue-on-failure"]
TOKEN = "FAKE-token-of-fuzzing"

programs, python, options = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve(), sys.argv[3:]


def install():
    if (python / "bin/schemathesis").exists():
        return
    pip = [python / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", REQUIREMENTS]
    for command in [[sys.executable, "-m", "venv", python], pip]:
        if subprocess.run(command).returncode != 0:
            sys.exit("schemathesis is not installed, so nothing was tried with it. It comes from PyPI, into a virtual "
                     "environment: is PyPI reached, and does `python3 -m venv` work (Debian: python3-venv)?")


def run(url, directory):
    command = [python / "bin/schemathesis", "run", f"{url}/openapi.json", *CHECKS, *options, "--no-color",
               "--header", f"Authorization: Bearer {TOKEN}"]
    ended = subprocess.run(command, cwd=directory, env=os.environ | {"NO_PROXY": "127.0.0.1"}, text=True,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(ended.stdout, flush=True)
    tried = re.search(r"Selected: (\d+)/\d+\s+Tested: (\d+)", ended.stdout)
    if ended.returncode != 0:
        return f"schemathesis found something: exit {ended.returncode}"
    if not tried or tried[1] != tried[2]:
        return "schemathesis did not get to every operation: it needs more time"
    return None


def main():
    install()
    with tempfile.TemporaryDirectory(prefix="autonous-fuzz-") as scratch:
        server, url = start(programs, Path(scratch), ALLOW_ALL, AUTONOUS_TOOL_TOKEN=TOKEN)
        try:
            problem = run(url, scratch)
            if server.poll() is not None:
                problem = f"the tool server ended: {(Path(scratch) / 'log').read_text()[-2000:]}"
        finally:
            stop(server)
    sys.exit(problem)


if __name__ == "__main__":
    main()

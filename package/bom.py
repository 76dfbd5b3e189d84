#!/usr/bin/env python3
"""Makes one CycloneDX list of those of the three programs, without anything of this machine or this moment.

    package/bom.py VERSION SOURCES
"""

import datetime
import json
import os
import pathlib
import sys

PROGRAMS = ["supervisor", "agent-worker", "tool-server"]


def without_paths(value, sources):
    """A crate of the workspace is named by its directory; what remains is the part that is the same everywhere."""
    text = json.dumps(value)
    return json.loads(text.replace(f"path+file://{sources}/", "workspace:").replace(f"file://{sources}/", ""))


def main():
    version, sources = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    components, dependencies = {}, {}
    for program in PROGRAMS:
        listed = without_paths(json.loads((sources / program / "bom.json").read_text()), sources)
        for component in [listed["metadata"]["component"], *listed["components"]]:
            component.pop("components", None)
            components.setdefault(component["bom-ref"], component)
        for dependency in listed["dependencies"]:
            below = dependencies.setdefault(dependency["ref"], set())
            below.update(dependency.get("dependsOn", []))
    moment = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    program = {"type": "application", "bom-ref": "autonous", "name": "autonous", "version": version}
    program["licenses"] = [{"expression": "MIT OR Apache-2.0"}]
    roots = [ref for ref, component in components.items() if component["name"] in PROGRAMS]
    dependencies["autonous"] = set(roots)
    merged = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": moment.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "tools": [{"vendor": "CycloneDX", "name": "cargo-cyclonedx"}],
            "component": program,
        },
        "components": [components[ref] for ref in sorted(components)],
        "dependencies": [
            {"ref": ref, "dependsOn": sorted(dependencies[ref])} for ref in sorted(dependencies)
        ],
    }
    print(json.dumps(merged, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()

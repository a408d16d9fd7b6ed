#!/usr/bin/env python3
"""Checks the crates that are linked into the program and the wheel: their licences, and that few come in two versions.

    scripts/dependencies.py           checks, and prints a summary
    scripts/dependencies.py --list    prints every crate with its licence
"""

import argparse
import json
import re
import subprocess
import sys
from collections import defaultdict

# Anyone may use, change and pass on what has one of these, also as part of something else.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-1-Clause", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0",
    "CC0-1.0", "ISC", "MIT", "MIT-0", "NCSA", "Unicode-3.0", "Unlicense", "Zlib", "bzip2-1.0.6", "CDLA-Permissive-2.0",
}  # fmt: skip
# In two versions, as two crates that we use ask for different ones. Each costs a second of building.
TWICE = {"equator", "equator-macro", "getrandom", "hashbrown", "syn"}


def is_allowed(expression: str) -> bool:
    """Whether a licence expression can be met: one of the alternatives, all of the parts."""
    expression = expression.replace("/", " OR ").strip()
    while match := re.search(r"\(([^()]*)\)", expression):
        inner = "MIT" if is_allowed(match.group(1)) else "no"
        expression = expression[: match.start()] + inner + expression[match.end() :]
    return any(
        all(part.strip() in ALLOWED for part in choice.split(" AND ")) for choice in expression.split(" OR ")
    )


def linked() -> list[dict]:
    """The crates that ours depend on to run, also through others; not those for tests and builds alone."""
    command = ["cargo", "metadata", "--format-version", "1", "--filter-platform", "x86_64-unknown-linux-gnu"]
    data = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    nodes = {node["id"]: node for node in data["resolve"]["nodes"]}
    ours = set(data["workspace_members"])
    waiting, found = list(ours), set()
    while waiting:
        current = waiting.pop()
        if current in found:
            continue
        found.add(current)
        for dependency in nodes[current]["deps"]:
            if any(kind["kind"] is None for kind in dependency["dep_kinds"]):
                waiting.append(dependency["pkg"])
    return sorted(
        (package for package in data["packages"] if package["id"] in found - ours),
        key=lambda package: (package["name"], package["version"]),
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--list", action="store_true")
    asked = parser.parse_args()
    packages = linked()
    versions, wrong = defaultdict(list), []
    for package in packages:
        licence = package["license"] or "none"
        versions[package["name"]].append(package["version"])
        if asked.list:
            print(f"{package['name']:32} {package['version']:12} {licence}")
        if not is_allowed(licence):
            wrong.append(f"{package['name']} {package['version']}: licence {licence}")
    several = {name: found for name, found in versions.items() if len(found) > 1}
    wrong += [f"{name}: versions {', '.join(found)}" for name, found in several.items() if name not in TWICE]
    wrong += [f"{name} is in one version now; take it out of TWICE" for name in sorted(TWICE - set(several))]
    print(f"{len(packages)} crates are linked; all licences are permissive" if not wrong else "\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

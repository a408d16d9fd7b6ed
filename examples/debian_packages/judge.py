"""How many of the alternatives in judged.txt are among the nearest packages of some embeddings.

usage: judge.py FOLDER EMBEDDING...        FOLDER is that of build.py

An embedding is anything that `structcomp neighbors` reads, with rows in the order of FOLDER/names.txt.
hits@10 is the share of packages with an alternative among the 10 nearest. The other columns are the share of
a package's alternatives that are found (of at most 10 among 10), averaged over the packages.
"""

import json
import subprocess
import sys
from pathlib import Path

JUDGED = Path(__file__).with_name("judged.txt")


def alternatives(names):
    """Package -> its alternatives, of those that exist."""
    lines = (line.split(":") for line in JUDGED.read_text().splitlines() if not line.startswith("#"))
    judged = {package: set(others.split()) & names for package, others in lines if package in names}
    return {package: others for package, others in judged.items() if others}


def nearest(embedding, names, packages):
    command = ["structcomp", "neighbors", embedding, *packages, "--ids", names, "-k", "50", "--json"]
    said = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return {found["id"]: [near["id"] for near in found["neighbors"]] for found in json.loads(said)["query"]}


def rates(judged, lists):
    """hits@10, and the shares of alternatives among the 10 and the 50 nearest."""

    def share(package, k):
        return len(judged[package].intersection(lists[package][:k])) / min(k, len(judged[package]))

    hits = [share(package, 10) > 0 for package in judged]
    return [sum(found) / len(judged) for found in (hits, *([share(p, k) for p in judged] for k in (10, 50)))]


def main(folder, embeddings):
    names = Path(folder) / "names.txt"
    judged = alternatives(set(names.read_text().split()))
    print(f"{len(judged)} packages with {sum(map(len, judged.values()))} alternatives\n")
    print("| embedding | hits@10 | alternatives found among 10 | among 50 |\n|---|---:|---:|---:|")
    for embedding in embeddings:
        found = rates(judged, nearest(embedding, names, judged))
        print(f"| {embedding} | " + " | ".join(f"{100 * rate:.0f} %" for rate in found) + " |")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])

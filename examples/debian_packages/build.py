"""Builds a graph of the packages that apt knows: which needs which, and the words of the descriptions.

usage: build.py FOLDER [--fetch]

Reads the lists of the machine's apt, of any Debian or Ubuntu. With --fetch, apt downloads lists with the long
descriptions into a temporary folder. Writes edges.csv, x.npz, names.txt and labels.csv (the sections). Needs
numpy and scipy.
"""

import csv
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from itertools import chain
from math import log
from pathlib import Path

import numpy as np
import scipy.sparse as sp

RELATIONS = ["Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances"]
RARE = 20  # a word of fewer descriptions is no feature,
COMMON = 0.1  # nor is a word of more than this share of them
SMALL = 100  # a section of fewer packages is no label


def fetch(folder):
    """Lets apt download its lists into a folder; returns the options with which apt uses them."""
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "cache/archives/partial").mkdir(parents=True)
    places = {
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "en",
    }
    options = [part for name, value in places.items() for part in ("-o", f"{name}={value}")]
    subprocess.run(["apt-get", *options, "update"], check=True, stdout=sys.stderr)
    return options


def records(options, kind):
    """The records of all lists of a kind, as dictionaries. apt unpacks the lists."""
    query = ["apt-get", *options, "indextargets", "--format", "$(FILENAME)", f"Created-By: {kind}"]
    for file in subprocess.run(query, check=True, capture_output=True, text=True).stdout.split():
        command = ["/usr/lib/apt/apt-helper", "cat-file", file]
        text = subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout
        for record in text.split("\n\n"):
            yield dict(re.findall(r"^([\w-]+):[ ]*(.*(?:\n[ ].*)*)", record, re.MULTILINE))


def read(options):
    """The packages by name, and the long descriptions by checksum of the description."""
    packages = {
        package["Package"]: package for package in records(options, "Packages") if "Package" in package
    }
    long = {
        text.get("Description-md5"): text.get("Description-en") for text in records(options, "Translations")
    }
    return packages, long


def named(package, relations):
    """The names in some relations of a package, without versions; every alternative counts."""
    text = ",".join(package.get(relation, "") for relation in relations)
    return {
        found.group() for part in re.split(r"[,|]", text) if (found := re.match(r"[\w.+-]+", part.strip()))
    }


def edges(packages):
    """Each package with each that it needs; where a name is none of a package, with those that provide it."""
    providers = defaultdict(set)
    for name, package in packages.items():
        for provided in named(package, ["Provides"]):
            providers[provided].add(name)
    for name, package in packages.items():
        needs = (({need} if need in packages else providers[need]) for need in named(package, RELATIONS))
        yield from ((name, other) for other in sorted(set().union(*needs)) if other != name)


def bags_of_words(texts):
    """TF-IDF of words, rows of length one."""
    bags = [Counter(word for word in re.findall(r"[a-z][a-z0-9+]+", text.lower())) for text in texts]
    documents = Counter(chain.from_iterable(bags))
    kept = sorted(word for word, count in documents.items() if RARE <= count <= COMMON * len(texts))
    column = {word: at for at, word in enumerate(kept)}
    cells = [
        (row, column[word], (1 + log(count)) * log(len(texts) / documents[word]))
        for row, bag in enumerate(bags)
        for word, count in sorted(bag.items())
        if word in column
    ]
    rows, columns, values = (np.array(part) for part in zip(*cells))
    x = sp.csr_matrix((values, (rows, columns)), (len(texts), len(kept)))
    length = np.sqrt(x.multiply(x).sum(1)).A1
    return sp.diags(1 / np.where(length > 0, length, 1)).dot(x).astype(np.float32).tocsr()


def main(folder, fetched):
    with tempfile.TemporaryDirectory() as lists:
        options = fetch(Path(lists)) if fetched else []
        packages, long = read(options)
    if not packages:
        sys.exit("apt has no lists of packages here; try --fetch")
    names = sorted(packages)
    texts = [
        long.get(packages[name].get("Description-md5")) or packages[name].get("Description", "")
        for name in names
    ]
    sections = [packages[name].get("Section", "").split("/")[-1] for name in names]
    sizes = Counter(sections)
    folder.mkdir(parents=True, exist_ok=True)

    with open(folder / "edges.csv", "w", newline="") as file:
        csv.writer(file).writerows(chain([("package", "needs")], edges(packages)))
    with open(folder / "labels.csv", "w", newline="") as file:
        labels = (section if sizes[section] >= SMALL else "" for section in sections)
        csv.writer(file).writerows(chain([("package", "section")], zip(names, labels)))
    (folder / "names.txt").write_text("".join(f"{name}\n" for name in names))
    x = bags_of_words(texts)
    sp.save_npz(folder / "x.npz", x)
    print(f"{len(names)} packages, {x.shape[1]} words, written to {folder}")


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--fetch"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    main(Path(arguments[0]).resolve(), "--fetch" in sys.argv)

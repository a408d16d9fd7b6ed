"""The people who maintain Debian's packages, who does so together, what their packages are built with, and their main field.

Nodes are people named as maintainers or uploaders of source packages of Debian 12, numbered, without names. Edges join two who
maintain the same package, unless it has more than ten. Features are the words in the names of their packages and of what these are
built with, TF-IDF. The label is the section with most of their packages, without sections such as doc.

usage: people.py FOLDER
"""

import pathlib
import re
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from itertools import combinations

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write

TEAM = re.compile(r"lists\.|tracker\.|alioth|packages\.debian|\bteam|\bgroup|maintainers|@packages|bugs@|-devel@|-maint@", re.I)


def sources():
    """The list of sources, one dictionary each."""
    with tempfile.TemporaryDirectory() as folder:
        # The machine's own places to fetch from, asked for sources instead of packages.
        for part in ("lists/partial", "parts"):
            pathlib.Path(f"{folder}/{part}").mkdir(parents=True)
        configured = pathlib.Path("/etc/apt")
        for path in [configured / "sources.list", *sorted((configured / "sources.list.d").iterdir())]:
            if path.suffix in (".list", ".sources") and path.exists():
                text = re.sub(r"(?m)^(deb|Types:.*?\bdeb)(?!-src)\b", lambda found: f"{found[1]}-src", path.read_text())
                (pathlib.Path(folder) / "parts" / path.name).write_text(text)
        own = {"Dir::Etc::SourceList": "none", "Dir::Etc::SourceParts": "parts", "Dir::State::Lists": "lists"}
        options = [part for key, value in own.items() for part in ("-o", f"{key}={folder}/{value}")]
        subprocess.run(["apt-get", "update", "-q", *options], check=True, capture_output=True)
        (path,) = pathlib.Path(folder).glob("lists/*_bookworm_main_source_Sources*")
        text = subprocess.check_output(["/usr/lib/apt/apt-helper", "cat-file", path], text=True)
    for block in text.strip().split("\n\n"):
        yield dict(re.findall(r"^([A-Z][\w-]*):[ \t]*((?:.*(?:\n[ \t].*)*))", block, re.M))


def people(package):
    every = f"{package['Maintainer']}, {package.get('Uploaders', '')}".replace("\n", " ")
    found = re.findall(r"([^,<>]*)<([^<>@\s]+@[^<>\s]+)>", every)
    return sorted({mail.lower() for name, mail in found if not TEAM.search(f"{name} {mail}")})


def fields(package):
    """The sections of the binary packages. The section of a source is often only "misc"."""
    lines = [line.split() for line in package.get("Package-List", "").splitlines()]
    return {line[2].rpartition("/")[2] for line in lines if len(line) > 3} - {"doc", "debug", "oldlibs", "libdevel", "misc"}


def words(package):
    needed = re.sub(r"\([^()]*\)|<[^<>]*>|\[[^\[\]]*\]", " ", package.get("Build-Depends", ""))
    return set(re.findall(r"[a-z]{2,}", f"{package['Package']} {needed}"))


def main(out):
    holds, sections, pairs = defaultdict(Counter), defaultdict(Counter), set()
    for package in sources():
        group = people(package)
        for mail in group:
            holds[mail].update(words(package))
            sections[mail].update(fields(package))
        if len(group) <= 10:
            pairs.update(combinations(group, 2))
    mails = sorted(holds)
    number = {mail: k for k, mail in enumerate(mails)}
    counted = TfidfVectorizer(analyzer=lambda one: one.elements(), min_df=5, sublinear_tf=True)
    x = counted.fit_transform(holds[mail] for mail in mails)
    labels = []
    for mail in mails:
        (section, most), (_, next_most), *_ = [*sections[mail].most_common(2), ("", 0), ("", 0)]
        labels.append(section if most > next_most else "")
    edges = [(number[u], number[v]) for u, v in sorted(pairs)]
    names = [f"person {k + 1}" for k in range(len(mails))]
    write(out, "list of sources of Debian 12", ("person", "works_with"), names, edges, x, labels, smallest=30)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) == 2 else sys.exit(__doc__)

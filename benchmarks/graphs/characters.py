"""Chinese characters (Unihan), which of them are written with the same phonetic part, their English meanings, and their radicals.

Nodes are the characters with a definition and a phonetic class. Edges join characters of the same phonetic class, and variants.
Features are the words of the definition, TF-IDF. The label is the radical, the part that tells of the meaning, such as water.
Characters of the same phonetic class mostly differ in it, so the graph is nearly as heterophilous as random pairs.

usage: characters.py FOLDER [PACKAGE]    PACKAGE is unicode-data=15.0.0-1 unless given
"""

import bz2
import re
import sys
from collections import defaultdict
from itertools import combinations

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

FILES = ("Readings", "DictionaryLikeData", "IRGSources", "Variants")
VARIANTS = ("kSemanticVariant", "kSpecializedSemanticVariant", "kSimplifiedVariant", "kTraditionalVariant", "kZVariant")


def main(out, package="unicode-data=15.0.0-1"):
    of = defaultdict(dict)
    with unpacked(package) as (files, version):
        for name in FILES:
            for line in bz2.open(files / f"usr/share/unicode/Unihan_{name}.txt.bz2", "rt"):
                if line.startswith("U+"):
                    code, key, value = line.rstrip("\n").split("\t")
                    of[key][code] = value
    # Marked numbers are later additions, and many of them are groups with a common radical.
    sounds = {code: re.findall(r"(?<!\S)\d+[A-Z]?(?!\S)", value) for code, value in of["kPhonetic"].items()}
    codes = [code for code in of["kDefinition"] if sounds.get(code)]
    number = {code: k for k, code in enumerate(codes)}
    alike = defaultdict(set)
    for code in codes:
        for group in sounds[code]:
            alike[group].add(number[code])
    edges = [pair for nodes in alike.values() for pair in combinations(sorted(nodes), 2)]
    for key in VARIANTS:
        pairs = [(code, to) for code in codes for to in re.findall(r"U\+\w+", of[key].get(code, "")) if to in number]
        edges += [(number[u], number[v]) for u, v in pairs]
    # The forms of characters that a definition points to are no words.
    texts = [re.sub(r"U\+\w+", " ", of["kDefinition"][code]) for code in codes]
    x = TfidfVectorizer(token_pattern=r"\b[a-z]{2,}\b", stop_words="english", min_df=5).fit_transform(texts)
    labels = ["radical " + re.match(r"\d+", of["kRSUnicode"][code])[0] for code in codes]
    write(out, f"unicode-data {version}", ("character", "with"), codes, edges, x, labels, smallest=70)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

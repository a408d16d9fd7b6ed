"""The King James Bible: verses, the rare words of the original they share, the words of the translation, and the books.

Nodes are verses. Edges join a verse to the next of its chapter, and verses in which the same word of the original (a Strong's
number) stands, if it stands in 2 to 8 verses. Features are the words of the translation, TF-IDF. The label is the book.

usage: bible.py FOLDER [PACKAGE]    PACKAGE is sword-text-kjv=14.3-1 unless given
"""

import re
import struct
import sys
import zlib
from collections import defaultdict
from itertools import combinations

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

BOOK = re.compile(r'<div canonical="true" osisID="(\w+)"')
NUMBER = re.compile(r"strong:([GH]\d+)")
SILENT = re.compile(r"<note.*?</note>|<title.*?</title>|<[^<>]*>")
RARE = 8


def verses(files):
    """Yields (book, chapter, verse, text with marks). The text of a book is one block; each chapter begins with its heading."""
    (folder,) = (files / "usr/share/sword/modules/texts/ztext").iterdir()
    for part in ("ot", "nt"):
        starts, places, packed = ((folder / f"{part}.{end}").read_bytes() for end in ("bzs", "bzv", "bzz"))
        blocks = [zlib.decompress(packed[at : at + size]) for at, size, _ in struct.iter_unpack("<III", starts)]
        book = chapter = None
        verse = 0
        for block, at, size in struct.iter_unpack("<IIH", places):
            text = blocks[block][at : at + size].decode()
            if found := BOOK.search(text):
                book = found[1]
            elif found := re.match(r'<chapter n="(\d+)"', text):
                chapter, verse = int(found[1]), 0
            elif book and chapter:
                verse += 1
                yield book, chapter, verse, text


def main(out, package="sword-text-kjv=14.3-1"):
    with unpacked(package) as (files, version):
        found = [verse for verse in verses(files) if SILENT.sub("", verse[3]).strip()]
    assert len(found) == 31102
    holds = defaultdict(set)
    for k, (*_, text) in enumerate(found):
        for number in NUMBER.findall(text):
            holds[number].add(k)
    edges = [(k, k + 1) for k in range(len(found) - 1) if found[k][:2] == found[k + 1][:2]]
    edges += [pair for nodes in holds.values() if len(nodes) <= RARE for pair in combinations(sorted(nodes), 2)]
    names = [f"{book} {chapter}:{verse}" for book, chapter, verse, _ in found]
    words = TfidfVectorizer(token_pattern=r"[a-z]{2,}", stop_words="english", min_df=10)
    x = words.fit_transform(SILENT.sub("", text) for *_, text in found)
    write(out, f"sword-text-kjv {version}", ("verse", "with"), names, edges, x, [book for book, *_ in found], smallest=100)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

"""Folk tunes, the phrases that they share, their steps and rhythms, and the collection that they were printed in.

Nodes are tunes. Edges join two tunes with the same phrase of eight steps of the scale, if two to four tunes have it. Features are
the two and three successive steps of the scale with the ratios of their lengths, and the same without lengths, TF-IDF. The label
is the collection. Titles, keys, metres and words are no features.

usage: tunes.py FOLDER [PACKAGE]    PACKAGE is music21==10.5.1 unless given
"""

import re
import sys
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, pairwise

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import from_pypi

PHRASE, RARE = 8, 4
# Fields, chords, ornaments, and texts above the notes are no notes.
SILENT = re.compile(r'^[A-Za-z]:.*$|^%.*$|%.*$|\[[A-Za-z]:[^\]]*\]|"[^"]*"|\{[^{}]*\}|![^!\n]*!', re.M)
NOTE = re.compile(r"([A-Ga-g])([,']*)(\d*)((?:/\d*)*)([<>]*)")
# Folders of one collection, and folders where the names of the files say which one it is.
FOLDERS = {"airdsAirs": "Aird", "oneills1850": "O'Neill", "ryansMammoth": "Ryan", "miscFolk": "", "essenFolksong": ""}


def notes(text):
    """Height in steps of the scale and length of each note; a broken rhythm, such as A>B, lengthens one and shortens the other."""
    found, broken = [], Fraction(1)
    for letter, octaves, times, parts, rhythm in NOTE.findall(SILENT.sub("", text)):
        height = "CDEFGAB".index(letter.upper()) + 7 * (letter.islower() + octaves.count("'") - octaves.count(","))
        length = Fraction(int(times or 1)) * broken
        for part in parts.split("/")[1:]:
            length /= int(part or 2) or 1
        broken = Fraction(1)
        if rhythm:
            short = Fraction(1, 2 ** len(rhythm))
            length, broken = (length * (2 - short), short) if rhythm[0] == ">" else (length * short, 2 - short)
        found.append((height, length))
    return found


def tunes(corpus):
    """Name, collection and notes of each tune of more than a phrase."""
    for folder, collection in FOLDERS.items():
        for path in sorted((corpus / folder).glob("*.abc")):
            for number, text in enumerate(re.split(r"^X:", path.read_text(errors="replace"), flags=re.M)[1:]):
                played = notes(text.partition("\n")[2])
                if len(played) > PHRASE:
                    title = " ".join("".join(re.findall(r"^T:(.*)", text, re.M)[:1]).split())
                    yield f"{path.stem}/{number + 1} {title}", collection or re.sub(r"\d+$", "", path.stem), played


def grams(played):
    steps = [(high - low, length / before if before else 1) for (low, before), (high, length) in pairwise(played)]
    for size in (2, 3):
        for k in range(len(steps) - size + 1):
            part = steps[k : k + size]
            yield " ".join(f"{step}" for step, _ in part)
            yield " ".join(f"{step}x{ratio}" for step, ratio in part)


def main(out, package="music21==10.5.1"):
    with from_pypi(package) as files:
        names, labels, played = zip(*tunes(files / "music21/corpus"))
    holds = defaultdict(set)
    for k, tune in enumerate(played):
        steps = [high - low for (low, _), (high, _) in pairwise(tune)]
        for start in range(len(steps) - PHRASE + 1):
            holds[tuple(steps[start : start + PHRASE])].add(k)
    edges = [pair for found in holds.values() if len(found) <= RARE for pair in combinations(sorted(found), 2)]
    x = TfidfVectorizer(analyzer=grams, min_df=20, sublinear_tf=True).fit_transform(played)
    write(out, package, ("tune", "phrase_in_common_with"), names, edges, x, labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

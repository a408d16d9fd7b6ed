"""FOLDOC, a dictionary of computing: entries, their cross references, the words of their texts, and their subjects.

usage: foldoc.py FOLDER [PACKAGE]    PACKAGE is dict-foldoc (the default) or dict-foldoc=VERSION
"""

import gzip
import re
import string
import sys

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

# At the start of a definition, such as "1. <language, humour>".
SUBJECT = re.compile(r"^\s+(?:\d+\.\s+)?<([a-z][^<>]*)>", re.M)
REFERENCE = re.compile(r"\{([^{}]+)\}")
DIGITS = {letter: k for k, letter in enumerate(string.ascii_uppercase + string.ascii_lowercase + string.digits + "+/")}


def one_line(text):
    return " ".join(text.split())


def number(digits):
    value = 0
    for digit in digits:
        value = 64 * value + DIGITS[digit]
    return value


def entries(files):
    """The headwords and the text of each entry; the index has one line for each headword."""
    base = files / "usr/share/dictd"
    with gzip.open(base / "foldoc.dict.dz") as file:
        text = file.read()
    lines = (line.split("\t") for line in (base / "foldoc.index").read_text().splitlines())
    spans = {}
    for headword, offset, length in lines:
        spans.setdefault((number(offset), number(length)), set()).add(headword.lower())
    for (offset, length), headwords in sorted(spans.items()):
        head, _, body = text[offset : offset + length].decode().strip("\n").partition("\n\n")
        shown = [one_line(line) for line in head.splitlines()]
        if body and not any(headword.startswith("00-database") for headword in headwords):
            yield shown[0], {*headwords, *(name.lower() for name in shown)}, body


def graph(files):
    of_name, alias, names, bodies = {}, {}, [], []
    for name, headwords, body in entries(files):
        only = re.fullmatch(r"\s*\{([^{}]+)\}\s*", body)
        for headword in sorted(headwords):
            if only:
                alias.setdefault(headword, one_line(only[1]).lower())
            else:
                of_name.setdefault(headword, len(names))
        if not only:
            names.append(name)
            bodies.append(body)

    def find(reference):
        reference = one_line(reference).lower()
        for _ in range(5):
            if reference in of_name or reference not in alias:
                break
            reference = alias[reference]
        return of_name.get(reference)

    edges = [(node, find(to)) for node, body in enumerate(bodies) for to in REFERENCE.findall(body)]
    return list(unique(names)), [(u, v) for u, v in edges if v is not None], bodies


def unique(names):
    seen = {}
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        yield name if seen[name] == 1 else f"{name} ({seen[name]})"


def subject(body):
    """The subject, without the narrower ones after a comma, if all definitions of the entry have the same."""
    found = {one_line(subjects).split(",")[0] for subjects in SUBJECT.findall(body)}
    return found.pop() if len(found) == 1 else ""


def main(out, package="dict-foldoc"):
    with unpacked(package) as (files, version):
        names, edges, bodies = graph(files)
    words = TfidfVectorizer(token_pattern=r"[a-z]{3,}", stop_words="english", min_df=10)
    x = words.fit_transform(f"{name} {SUBJECT.sub(' ', body)}" for name, body in zip(names, bodies))
    labels = [subject(body) for body in bodies]
    write(out, f"dict-foldoc {version}", ("entry", "refers_to"), names, edges, x, labels, smallest=60)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

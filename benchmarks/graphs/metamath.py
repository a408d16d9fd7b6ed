"""Theorems of the Metamath proof library (set.mm), which theorems a proof uses, and the part of the library.

Nodes are theorems, axioms and definitions (statements that begin with |-), edges are the references in the proofs. Features are the
symbols of the statement and of its own hypotheses, TF-IDF. The label is the part of the library, such as ELEMENTARY NUMBER THEORY;
in the last part, which collects the work of single users, it is the user's "mathbox".

usage: metamath.py FOLDER [PACKAGE]    PACKAGE is metamath-databases=0.0.0~20210101.git55fe226-2 unless given
"""

import re
import sys

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

# Headings are comments: a line of marks, the title, and the line of marks again.
HEADING = re.compile(r"\$\(\s*(#{10,}|#\*#\*[#*]{6,})\n\s*(.*?)\s*\n\s*\1", re.S)
TOKEN = re.compile(r"\$\(.*?\$\)|\S+", re.S)


def statements(text):
    """Yields (label, symbols with those of the hypotheses, references of the proof, part) in order."""
    part, scopes, label, tokens = "", [[]], None, TOKEN.finditer(text)
    for match in tokens:
        token = match[0]
        if token.startswith("$("):
            if found := HEADING.match(token):
                title = " ".join(found[2].split())
                if found[1].startswith("##") or title.startswith("Mathbox"):
                    part = title
        elif token == "${":
            scopes.append([])
        elif token == "$}":
            scopes.pop()
        elif token in ("$c", "$v", "$d", "$f", "$e", "$a", "$p"):
            body = upto(tokens, ("$.", "$="))
            if token == "$e":
                scopes[-1].append(body[1:])
            elif token in ("$a", "$p"):
                proof = upto(tokens, ("$.",)) if token == "$p" else []
                if body[0] == "|-":
                    own = [symbol for hypothesis in scopes[-1] for symbol in hypothesis] if len(scopes) > 1 else []
                    uses = proof[1 : proof.index(")")] if proof[:1] == ["("] else proof
                    yield label, body[1:] + own, uses, part
        else:
            label = token


def upto(tokens, ends):
    found = []
    for match in tokens:
        if match[0] in ends:
            return found
        if not match[0].startswith("$("):
            found.append(match[0])
    raise ValueError("a statement without an end")


def main(out, package="metamath-databases=0.0.0~20210101.git55fe226-2"):
    with unpacked(package) as (files, version):
        text = (files / "usr/share/metamath/databases/set.mm").read_text()
    found = list(statements(text))
    number = {name: k for k, (name, *_) in enumerate(found)}
    edges = [(k, number[to]) for k, (_, _, uses, _) in enumerate(found) for to in uses if to in number]
    symbols = TfidfVectorizer(analyzer=lambda statement: statement, min_df=10)
    x = symbols.fit_transform([statement for _, statement, _, _ in found])
    labels = [part for *_, part in found]
    write(out, f"metamath-databases {version}", ("theorem", "uses"), list(number), edges, x, labels, smallest=100)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

"""The functions of Emacs, which of them use which, the words of their descriptions, and the part of Emacs that they belong to.

Nodes are the functions and macros with a description of at least five words. Edges join a function to those that its code names.
Features are the words of the description, TF-IDF, without names of functions and variables, quoted words and names of parts. The
label is the folder, such as calendar. What lies in none, or in the one of old functions, has no label.

usage: lisp.py FOLDER [PACKAGE]    PACKAGE is emacs-el=1:28.2+1-15+deb12u4 unless given
"""

import gzip
import re
import sys

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

DEFINE = r"(?:cl-)?(?:defun|defsubst|defmacro|defgeneric|define-inline)"
FUNCTION = re.compile(rf"^\({DEFINE} +([^\s()'\"]+)(.*?)(?=^\(|\Z)", re.M | re.S)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
COMMENT = re.compile(r";.*$", re.M)
SYMBOL = re.compile(r"[^\s()\[\]'`,\"#]+")
# A description has names of variables in capitals, names of functions with hyphens, and both in quotes.
SILENT = re.compile(r"[`'‘][^\s`'’]+['’]|\\\\[\[{<][^\]}>]*[\]}>]|\S*[-_/:*]\S*|\b[A-Z]{2,}[0-9]*\b")


def functions(base):
    """Name, folder, description and code of each function. The first of each name counts."""
    found = {}
    for path in sorted(base.rglob("*.el.gz")):
        inside = path.relative_to(base).parts
        with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
            text = file.read()
        for name, body in FUNCTION.findall(text):
            described = re.search(r'\n[ \t]+"((?:[^"\\]|\\.)*)"', body)
            words = SILENT.sub(" ", described[1]) if described else ""
            code = COMMENT.sub("", STRING.sub(" ", body))
            if len(re.findall("[A-Za-z]{2,}", words)) >= 5:
                found.setdefault(name, (inside[0] if len(inside) > 1 else "", words, code))
    return found


def main(out, package="emacs-el=1:28.2+1-15+deb12u4"):
    with unpacked(package) as (files, version):
        (base,) = (files / "usr/share/emacs").glob("*/lisp")
        found = functions(base)
    number = {name: k for k, name in enumerate(found)}
    edges = []
    for name, (_, _, code) in found.items():
        edges += [(number[name], number[to]) for to in sorted(set(SYMBOL.findall(code))) if to in number]
    labels = [folder.replace("obsolete", "") for folder, _, _ in found.values()]
    parts = {word for folder in set(labels) for word in re.findall("[a-z]+", folder)}
    texts = [" ".join(word for word in re.findall("[a-z]+", text.lower()) if word not in parts) for _, text, _ in found.values()]
    words = TfidfVectorizer(token_pattern=r"\b[a-z]{2,}\b", stop_words="english", min_df=10)
    write(out, f"emacs-el {version}", ("function", "uses"), list(found), edges, words.fit_transform(texts), labels, smallest=60)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

"""The statements of the Python standard library, the nesting and order of the code, its identifiers, and the kinds of statements.

Nodes are the statements of the modules that lie at the top of the library. Edges join a statement to the one that contains it and
to the next one in the same block. Features are the identifiers in the statement, without those of the statements within it, TF-IDF.
The label is the kind, such as assignment or return.

usage: statements.py FOLDER [PACKAGE]    PACKAGE is libpython3.11-stdlib=3.11.2-6+deb12u9 unless given
"""

import ast
import sys

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked


def identifiers(statement):
    """The identifiers of a statement, without those of statements within it."""
    found, left = [], [statement]
    while left:
        for name, value in ast.iter_fields(left.pop()):
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, ast.AST) and not isinstance(one, ast.stmt):
                    left.append(one)
                elif isinstance(one, str) and name in ("id", "attr", "name", "arg", "names", "module"):
                    found.append(one)
    return found


def main(out, package="libpython3.11-stdlib=3.11.2-6+deb12u9"):
    names, edges, texts, labels = [], [], [], []

    def add(node, place, parent):
        for _, value in ast.iter_fields(node):
            before = None
            for one in value if isinstance(value, list) else []:
                if isinstance(one, ast.stmt):
                    number = len(names)
                    names.append(f"{place}:{number}")
                    texts.append(identifiers(one))
                    labels.append(type(one).__name__)
                    edges.extend((other, number) for other in (parent, before) if other is not None)
                    before = number
                    add(one, place, number)
                elif isinstance(one, (ast.excepthandler, ast.match_case)):
                    add(one, place, parent)

    with unpacked(package) as (files, version):
        for path in sorted((files / "usr/lib/python3.11").glob("*.py")):
            if path.is_file():
                add(ast.parse(path.read_bytes()), path.stem, None)
    x = TfidfVectorizer(analyzer=lambda one: one, min_df=10).fit_transform(texts)
    write(out, f"libpython3.11-stdlib {version}", ("statement", "with"), names, edges, x, labels, smallest=60)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

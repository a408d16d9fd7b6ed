"""The pages of the Java class library, the links between them, the words of their descriptions, and the module or package.

Nodes are the pages of classes and interfaces. Edges are the links in the body of a page to other such pages. Features are the words
of the descriptions, TF-IDF: code, names in code, links and signatures are cut out. The label is the package, without what
comes after the second name (java.util, javax.swing).

usage: javadoc.py FOLDER [PACKAGE]    PACKAGE is openjdk-17-doc=17.0.21+9-1~deb12u1 unless given
"""

import html
import posixpath
import re
import sys
from urllib.parse import unquote

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

BODY = re.compile(r"<main.*?</main>", re.S)
LINK = re.compile(r'<a href="([^"#:]+\.html)(?:#[^"]*)?"')
BLOCK = re.compile(r'<div class="block">(.*?)</div>', re.S)
SILENT = re.compile(r"<(code|pre|a)\b.*?</\1>|<[^<>]*>", re.S)


def pages(files):
    """Path and body of each page of a class."""
    (api,) = {path.resolve() for path in (files / "usr/share/doc").glob("openjdk-*/api")}
    for path in sorted(api.rglob("*.html")):
        inside = path.relative_to(api)
        if re.match("[A-Z]", path.name) and len(inside.parts) > 2 and not {"class-use", "doc-files"} & set(inside.parts):
            if found := BODY.search(path.read_text()):
                yield str(inside), found[0]


def main(out, package="openjdk-17-doc=17.0.21+9-1~deb12u1"):
    with unpacked(package) as (files, version):
        found = dict(pages(files))
    number = {path: k for k, path in enumerate(found)}
    edges = []
    for path, body in found.items():
        links = {posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(link))) for link in LINK.findall(body)}
        edges += [(number[path], number[link]) for link in sorted(links) if link in number]
    texts = [html.unescape(SILENT.sub(" ", " ".join(BLOCK.findall(body)))) for body in found.values()]
    x = TfidfVectorizer(token_pattern=r"\b[a-z]{2,}\b", lowercase=True, stop_words="english", min_df=10).fit_transform(texts)
    labels = [".".join(path.split("/")[1:-1][:2]) for path in found]
    names = [path.removesuffix(".html") for path in found]
    write(out, f"openjdk-17-doc {version}", ("class", "links_to"), names, edges, x, labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

"""The Linux kernel's source files, their `#include` lines, the words in their identifiers, and their part of the kernel.

Comments, texts, paths and include guards are no features, so a file does not say where it lies. Classes are folders: two levels
of them below `arch`, `drivers` and `include`, otherwise one.

usage: kernel.py FOLDER [PACKAGE]    PACKAGE is linux-source-6.1=6.1.176-1 unless given
"""

import os
import posixpath
import re
import sys
import tarfile
from collections import defaultdict

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.M)
# A comment, a text or a character, and whole include lines.
SILENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|^[ \t]*#[ \t]*include[^\n]*', re.S | re.M)
GUARD = re.compile(r"\b\w+_H_*\b")
WORD = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z]?[a-z]{2,}")
NESTED = {"arch", "drivers", "include"}


def sources(files):
    """Path and text of every source file and header."""
    (archive,) = (files / "usr/src").glob("linux-source-*.tar.xz")
    with tarfile.open(archive, "r|xz") as tar:
        for member in tar:
            if member.isfile() and member.name.endswith((".c", ".h", ".S")):
                yield member.name.partition("/")[2], tar.extractfile(member).read().decode("utf8", "replace")


class Finder:
    """Finds the file that an include line means, for a kernel of the file's own architecture, or else of x86."""

    def __init__(self, paths):
        self.paths, self.of_name = set(paths), defaultdict(list)
        for path in sorted(paths):
            self.of_name[posixpath.basename(path)].append(path)

    def find(self, path, quoted, name):
        parts = path.split("/")
        arch = parts[1] if parts[0] == "arch" and len(parts) > 2 else "x86"
        roots = [f"arch/{arch}/include", "include", f"arch/{arch}/include/uapi", "include/uapi"]
        if quoted:
            roots.insert(0, posixpath.dirname(path))
        places = [posixpath.normpath(f"{root}/{name}") for root in roots]
        if name.startswith("asm/"):
            places += [f"{root}/asm-generic/{name[4:]}" for root in ("include", "include/uapi")]
        for place in places:
            if place in self.paths:
                return place
        return self.nearest(path, posixpath.normpath(name))

    def nearest(self, path, name):
        """A Makefile may name further folders: the only file of that name with most folders in common, at least two."""
        ends = [other for other in self.of_name[posixpath.basename(name)] if other.endswith("/" + name)]
        common = [len(os.path.commonpath([path, other]).split("/")) for other in ends]
        if ends and (most := max(common)) >= 2 and common.count(most) == 1:
            return ends[common.index(most)]
        return None


def words(text):
    """The words of the identifiers, each once."""
    return " ".join(sorted({word.lower() for word in WORD.findall(GUARD.sub(" ", SILENT.sub(" ", text)))}))


def part(path):
    folders = path.split("/")[:-1]
    return "/".join(folders[: 2 if folders and folders[0] in NESTED else 1])


def main(out, package="linux-source-6.1=6.1.176-1"):
    included, texts = {}, {}
    with unpacked(package) as (files, version):
        for path, text in sources(files):
            included[path] = INCLUDE.findall(text)
            texts[path] = words(text)
    paths = sorted(texts)
    number = {path: k for k, path in enumerate(paths)}
    finder = Finder(paths)
    found = [(path, finder.find(path, mark == '"', name)) for path in paths for mark, name in included[path]]
    edges = [(number[path], number[other]) for path, other in found if other]
    print(f"{len(found)} include lines, {len(edges)} of them with a file in the sources")
    x = TfidfVectorizer(token_pattern=r"[a-z]{2,}", min_df=200, max_df=0.5).fit_transform(texts[path] for path in paths)
    labels = [part(path) for path in paths]
    write(out, f"linux-source {version}", ("file", "includes"), paths, edges, x, labels, smallest=200)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

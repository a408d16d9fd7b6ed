"""Marks that students of ETH Zurich gave to lectures, who gave them and for what, what is known of both, and the mark.

Nodes are marks. Edges join marks for a lecturer by students in the same year of study for lectures equally long ago and of the same
kind, unless these are more than 40, and marks by a student for lectures of the same department and equally long ago. Features are
the year of study, how long ago the lecture was, if it was given for another department, the department, and the powers of two that
the numbers of marks of the student and of the lecturer reach. The label is the mark, 1 to 5. Neighbours agree hardly more than
random pairs.

usage: ratings.py FOLDER [PACKAGE]    PACKAGE is r-cran-lme4=1.1-31-1 unless given
"""

import sys
from itertools import combinations

import numpy as np
import pandas
import scipy.sparse as sp

import rdataset
from folder import write
from package import unpacked

LARGEST = 40
LECTURE, STUDENT = ["d", "studage", "lectage", "service"], ["s", "dept", "lectage"]


def main(out, package="r-cran-lme4=1.1-31-1"):
    with unpacked(package) as (files, version):
        table = rdataset.read(files, "lme4", "InstEval").astype(int).reset_index(drop=True)
    edges = []
    for shared in (LECTURE, STUDENT):
        for nodes in table.groupby(shared).groups.values():
            if len(nodes) <= LARGEST:
                edges += combinations(nodes.tolist(), 2)
    known = table[["studage", "lectage", "service", "dept"]].copy()
    for who in ("s", "d"):
        known[f"marks of {who}"] = np.log2(table.groupby(who)["y"].transform("size")).astype(int)
    x = sp.csr_matrix(pandas.get_dummies(known, columns=list(known.columns), dtype=float))
    names = [f"mark {k + 1}" for k in range(len(table))]
    labels = [f"mark of {mark}" for mark in table["y"]]
    write(out, f"r-cran-lme4 {version} InstEval", ("mark", "with"), names, edges, x, labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

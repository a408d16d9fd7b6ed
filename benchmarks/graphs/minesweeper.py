"""A field of the game Minesweeper: synthetic. Squares, their neighbours, how many mines are next to a square, and which are mines.

The field has 100 by 100 squares, a fifth of them mines. The feature is the number of mines among the up to eight neighbours, one of
ten columns, of which the last stands for half of the squares, whose number is not known.

usage: minesweeper.py FOLDER
"""

import sys

import numpy as np
import scipy.sparse as sp

from folder import write

SIDE = 100


def main(out):
    random = np.random.default_rng(0)
    mine = np.zeros(SIDE * SIDE, bool)
    mine[random.permutation(SIDE * SIDE)[: SIDE * SIDE // 5]] = True
    steps = [(0, 1), (1, -1), (1, 0), (1, 1)]
    at = [divmod(k, SIDE) for k in range(SIDE * SIDE)]
    found = [(r * SIDE + c, (r + i) * SIDE + c + j) for r, c in at for i, j in steps if r + i < SIDE and 0 <= c + j < SIDE]
    counts = np.zeros(SIDE * SIDE, int)
    for u, v in found:
        counts[u] += mine[v]
        counts[v] += mine[u]
    counts[random.permutation(SIDE * SIDE)[: SIDE * SIDE // 2]] = 9
    x = sp.csr_matrix(np.eye(10)[counts])
    names = [f"row {r + 1} column {c + 1}" for r, c in at]
    write(out, "synthetic", ("square", "beside"), names, found, x, ["mine" if one else "free" for one in mine], smallest=20)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) == 2 else sys.exit(__doc__)

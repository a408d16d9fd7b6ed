"""Positions of chess openings, the moves between them, the pieces on their squares, and the code of the opening.

Nodes are the positions on the lines of a classification of openings. Edges are legal moves from one position to another, on a line
or not, so that different lines meet. Features are pieces on squares, such as a white knight on f3. The label is the first two
characters of the code, such as B3. Only positions that the classification names have one.

usage: openings.py FOLDER [PACKAGE]    PACKAGE is scid-data=1:4.7.4+dfsg1-2 unless given
"""

import re
import sys
from collections import defaultdict

import chess
import numpy as np
import scipy.sparse as sp

from folder import write
from package import unpacked

LINE = re.compile(r'^([A-E]\d)\S*\s+"[^"]*"([^*]*)\*', re.M)


def positions(text):
    """The positions by their short description, and the codes that each is named with."""
    boards, codes = {}, defaultdict(set)
    for code, moves in LINE.findall(text):
        board = chess.Board()
        boards.setdefault(board.epd(), board.copy(stack=False))
        for move in re.sub(r"\d+\.+", " ", moves).split():
            board.push_san(move)
            boards.setdefault(board.epd(), board.copy(stack=False))
        codes[board.epd()].add(code)
    return boards, codes


def main(out, package="scid-data=1:4.7.4+dfsg1-2"):
    with unpacked(package) as (files, version):
        boards, codes = positions((files / "usr/share/scid/data/scid.eco").read_text(encoding="latin-1"))
    number = {name: k for k, name in enumerate(boards)}
    edges, squares = [], []
    for k, board in enumerate(boards.values()):
        squares += [(k, 64 * (piece.piece_type - 1 + 6 * piece.color) + square) for square, piece in board.piece_map().items()]
        for move in list(board.legal_moves):
            board.push(move)
            edges.append((k, number.get(board.epd())))
            board.pop()
    edges = [(u, v) for u, v in edges if v is not None]
    x = sp.csr_matrix((np.ones(len(squares)), np.array(squares).T), (len(boards), 768))
    x = x[:, np.flatnonzero(x.getnnz(axis=0))]
    labels = [next(iter(codes[name])) if len(codes[name]) == 1 else "" for name in boards]
    write(out, f"scid-data {version}", ("position", "move_to"), list(boards), edges, x, labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

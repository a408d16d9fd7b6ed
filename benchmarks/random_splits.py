"""The splits `random20` of structcomp with seed 0, drawn again in Python, and validation nodes taken from their test nodes.

usage: random_splits.py GRAPH.npz OUT_train.txt [RUNS]    writes the training nodes for `--splits`, one split per line
"""

import sys

import numpy as np

KEY = 0xABBFABEC3F99A3C7  # xxh3_64("random splits", seed 0)
LOW, GAMMA = 2**64 - 1, 0x9E3779B97F4A7C15
TRAIN, VALIDATION = 20, 30


def mixed(counter):
    """One step of SplitMix64."""
    z = counter + GAMMA & LOW
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & LOW
    z = (z ^ z >> 27) * 0x94D049BB133111EB & LOW
    return z ^ z >> 31


class Stream:
    """xoshiro256++, seeded as in the crate rand_xoshiro, and the shuffle of the crate rand 0.10."""

    def __init__(self, seed):
        self.s = [mixed(seed + k * GAMMA & LOW) for k in range(4)]

    def upper_half(self):
        a, b, c, d = self.s
        drawn = (a + d & LOW) << 23 | (a + d & LOW) >> 41
        drawn = (drawn + a & LOW) >> 32
        c, d = c ^ a, d ^ b
        self.s = [a ^ d, b ^ c, c ^ (b << 17 & LOW), (d << 45 | d >> 19) & LOW]
        return drawn

    def below(self, bound):
        drawn, low = divmod(self.upper_half() * bound, 2**32)
        if low > 2**32 - bound:
            drawn += low + (self.upper_half() * bound >> 32) >= 2**32
        return drawn

    def shuffle(self, items):
        chunk = left = 0
        for i in range(1, len(items)):
            if not left:
                # One draw serves as many steps as fit into 32 bits.
                bound, left = i + 1, 1
                while bound * (i + left + 1) < 2**32:
                    bound *= i + left + 1
                    left += 1
                chunk = self.below(bound)
            left -= 1
            chunk, at = divmod(chunk, i + 1) if left else (0, chunk)
            items[i], items[at] = items[at], items[i]


def random_splits(y, runs):
    """`runs` tuples of training, validation and test nodes. The rows of training nodes are as long for every run."""
    members = [np.flatnonzero(y == k).tolist() for k in range(y.max() + 1)]
    for run in range(runs):
        stream, parts = Stream(mixed(KEY ^ mixed(run))), ([], [], [])
        draw = np.random.default_rng(run)
        for nodes in members:
            nodes = nodes.copy()
            stream.shuffle(nodes)
            quota = TRAIN if len(nodes) > TRAIN else len(nodes) // 2
            rest = draw.permutation(sorted(nodes[quota:]))
            stop = min(VALIDATION, len(rest) // 2)
            for part, chosen in zip(parts, (nodes[:quota], rest[:stop], rest[stop:])):
                part.extend(chosen)
        yield tuple(np.sort(np.array(part, np.int64)) for part in parts)


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    splits = random_splits(np.load(sys.argv[1])["labels"], int(sys.argv[3]) if len(sys.argv) == 4 else 50)
    with open(sys.argv[2], "w") as file:
        file.writelines(",".join(map(str, train)) + "\n" for train, _, _ in splits)

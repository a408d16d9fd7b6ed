"""Partitioning: structcomp compared with METIS 5.2.1 (k-way and recursive) and KaMinPar at the same maximum cluster size.

usage: partition.py OUR_BINARY [small|products|scaling|streaming]
       partition.py --kaminpar GRAPH CLUSTERS LIMIT THREADS OUT     runs KaMinPar
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import time

from rounds import Side, threads

SMALL = [
    ("cora", 300),
    ("citeseer", 300),
    ("pubmed", 2000),
    ("amazon-photo", 700),
    ("amazon-computers", 1300),
    ("synthetic-arxiv", 20000),
]


def kaminpar_side(graph, clusters, limit, count, out):
    """KaMinPar with its fastest preset for many clusters."""
    import kaminpar

    graph = kaminpar.load_graph(graph, kaminpar.GraphFileFormat.METIS)
    clusters, limit, nodes = int(clusters), int(limit), graph.n()

    def split(share):
        kaminpar.reseed(0)
        solver = kaminpar.KaMinPar(int(count), kaminpar.largek_fast_context())
        return solver.compute_partition(graph, clusters, share)

    # KaMinPar's limit is a fraction of the average with its own rounding: use the first that respects ours.
    shares = [limit / (nodes / clusters) - 1, limit / -(-nodes // clusters) - 1, 0.03, 1e-4]
    for share in [share for share in shares if share > 0]:
        sizes = {}
        for cluster in split(share):
            sizes[cluster] = sizes.get(cluster, 0) + 1
        if max(sizes.values()) <= limit:
            break
    print("ready", flush=True)
    for _ in sys.stdin:
        start = time.perf_counter()
        part = split(share)
        seconds = time.perf_counter() - start
        pathlib.Path(out).write_text("\n".join(map(str, part)) + "\n")
        print(seconds, flush=True)


class Bench:
    """A graph in the formats of all sides."""

    def __init__(self, binary, folder, name, clusters=None):
        self.binary, self.folder, self.name = binary, folder, name
        self.path = folder / name.replace(":", "-")
        facts = self.call("prepare", name, self.path)
        self.nodes, self.edges = map(int, facts)
        self.clusters = clusters or -(-self.nodes // 98)

    def call(self, *args):
        command = [str(arg) for arg in (self.binary, *args)]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()

    def out(self, name):
        return self.folder / f"{name.replace(' ', '-')}.part"

    def ours(self, name, method, limit, count):
        scg = self.path.with_name(self.path.name + ".scg")
        command = [self.binary, "run", scg, method, self.clusters, limit, self.out(name)]
        return Side(name, command, threads(count))

    def kaminpar(self, name, limit, count):
        text = self.path.with_name(self.path.name + ".graph")
        self.call("text", self.path)
        command = [sys.executable, __file__, "--kaminpar", text, self.clusters, limit, count, self.out(name)]
        return Side(name, command, threads(count))

    def quality(self, name):
        scg = self.path.with_name(self.path.name + ".scg")
        clusters, cut, largest, gap = self.call("quality", scg, self.out(name))
        return int(clusters), float(cut), int(largest), float(gap)

    def compare(self, sides, rounds):
        """Runs the sides alternately and prints one line for each."""
        for _ in range(rounds):
            for side in sides:
                side.run()
        synthetic = ", synthetic" if self.name.startswith("synthetic") else ""
        print(f"\n{self.name} into {self.clusters} ({self.nodes} nodes, {self.edges} edges{synthetic})")
        print(f"{'':20}{'clusters':>9}{'largest':>8}{'cut':>10}{'gap':>9}{'processor s':>13}{'wall s':>9}{'MiB':>7}")
        rows = {}
        for side in sides:
            clusters, cut, largest, gap = self.quality(side.name)
            cpu, wall, peak = min(side.processor), min(side.seconds), side.peak() / 2**20
            rows[side.name] = (cut, gap, cpu, wall, peak)
            print(f"{side.name:20}{clusters:9}{largest:8}{cut:10.0f}{gap:9.3f}{cpu:13.4f}{wall:9.4f}{peak:7.0f}")
            side.finish()
        return rows

    def metis_largest(self):
        side = self.ours("metis", "metis", 0, 1)
        side.run()
        side.finish()
        return self.quality("metis")[2]


def small(binary, folder, rounds):
    print("Largest cluster as METIS k-way's; METIS recursive knows no such limit. One thread, unless said.")
    wins = {"cut": 0, "gap": 0}
    for name, clusters in SMALL:
        bench = Bench(binary, folder, name, clusters)
        limit = bench.metis_largest()
        rows = bench.compare(
            [
                bench.ours("ours", "multilevel", limit, 1),
                bench.ours("ours, 2 threads", "multilevel", limit, 2),
                bench.ours("metis", "metis", 0, 1),
                bench.ours("metis recursive", "metis-recursive", 0, 1),
                bench.kaminpar("kaminpar", limit, 1),
            ],
            rounds,
        )
        ours, metis = rows["ours"], rows["metis"]
        wins["cut"] += ours[0] <= metis[0]
        wins["gap"] += ours[1] <= metis[1]
        cpu = ", ".join(f"{name} {row[2] / ours[2]:.1f}" for name, row in rows.items() if "ours" not in name)
        print(f"ours / metis: cut {ours[0] / metis[0]:.4f}, gap {ours[1] / metis[1]:.4f}")
        print(f"processor time over ours: {cpu}; ours on two threads {ours[3] / rows['ours, 2 threads'][3]:.2f} times faster")
    print(f"\nno worse than METIS k-way: cut on {wins['cut']}, gap on {wins['gap']} of {len(SMALL)}")


def products(binary, folder, rounds):
    bench = Bench(binary, folder, "synthetic-products", 25000)
    rows = bench.compare(
        [
            bench.ours("ours, 2 threads", "multilevel", 100, 2),
            bench.kaminpar("kaminpar, 2 threads", 100, 2),
            bench.ours("metis recursive", "metis-recursive", 0, 1),
        ],
        rounds,
    )
    ours = rows["ours, 2 threads"]
    for name in ("kaminpar, 2 threads", "metis recursive"):
        cut, _, cpu, wall, peak = (theirs / mine for theirs, mine in zip(rows[name], ours))
        print(f"{name} over ours: cut {cut:.4f}, processor {cpu:.2f}, wall {wall:.2f}, memory {peak:.2f}")


def scaling(binary, folder, rounds):
    print("| edges (synthetic) | clusters | seconds, one thread | ns an edge | seconds, two threads |\n| --- | --- | --- | --- | --- |")
    for millions in (1, 4, 16, 64):
        bench = Bench(binary, folder, f"synthetic-products:{millions}000000")
        sides = [bench.ours(f"{count}", "multilevel", 0, count) for count in (1, 2)]
        for _ in range(rounds):
            for side in sides:
                side.run()
        one, two = (min(side.seconds) for side in sides)
        for side in sides:
            side.finish()
        print(f"| {bench.edges} | {bench.clusters} | {one:.2f} | {1e9 * one / bench.edges:.0f} | {two:.2f} |", flush=True)


def streaming(binary, folder, rounds):
    """Label propagation on a mapped graph: the memory it needs besides its two arrays of one number per node."""
    bench = Bench(binary, folder, "synthetic-products:200000000:20000000")
    bench.clusters = bench.nodes // 10
    side = bench.ours("label propagation", "label-propagation", 0, 2)
    for _ in range(rounds):
        side.run()
    seconds, state = min(side.seconds), max(side.memory)
    print(f"{bench.nodes} nodes, {bench.edges} edges (synthetic), {bench.clusters} clusters, mapped")
    print(f"{seconds:.1f} s for six passes, {6 * bench.edges / seconds / 1e6:.1f} million edges a second and pass")
    print(f"{state / bench.nodes:.2f} bytes of memory a node, {state / bench.nodes - 8:.2f} beyond two arrays")
    side.finish()


def main(binary, which="small"):
    sets = {"small": (small, 5), "products": (products, 1), "scaling": (scaling, 3), "streaming": (streaming, 1)}
    if which not in sets:
        sys.exit(f"'{which}' is not one of {', '.join(sets)}")
    measure, rounds = sets[which]
    with tempfile.TemporaryDirectory() as folder:
        measure(pathlib.Path(binary).resolve(), pathlib.Path(folder), int(os.environ.get("ROUNDS", rounds)))


if __name__ == "__main__":
    if sys.argv[1] == "--kaminpar":
        kaminpar_side(*sys.argv[2:])
    else:
        main(*sys.argv[1:])

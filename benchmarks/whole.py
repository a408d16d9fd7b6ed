"""Training on clusters compared with the whole graph in PyTorch, as in the paper, and with structcomp on clusters.

usage: whole.py OUR_BINARY [DATASET ...]
       whole.py --theirs FOLDER FORM      runs another side; FORM is whole or clusters
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch

import as_written
from rounds import SETTINGS, Side
from train import MODELS, SMALL, Prepared

# Huge pages for PyTorch; without them, page faults take much of the time on whole graphs. structcomp runs without them here.
CLOCK = SETTINGS | {"THP_MEM_ALLOC_ENABLE": "1"}
# Freed memory is returned to the system, so that the peak is the memory needed.
FREED = SETTINGS | {"MALLOC_MMAP_THRESHOLD_": "65536", "MALLOC_TRIM_THRESHOLD_": "0"}

# From the paper: megabytes and seconds per epoch on the whole graph, then on clusters.
PAPER = {
    "sce": [(82, 0.003, 23, 0.002), (159, 0.004, 59, 0.002), (1831, 0.027, 54, 0.003), (329, 0.006, 16, 0.002), (920, 0.015, 29, 0.002)],
    "coles": [(115, 0.004, 24, 0.002), (204, 0.004, 60, 0.003), (1851, 0.033, 61, 0.003), (378, 0.015, 21, 0.003), (1018, 0.031, 39, 0.003)],
    "grace": [(441, 0.017, 37, 0.009), (714, 0.025, 72, 0.009), (11677, 0.252, 194, 0.009), (1996, 0.106, 59, 0.008), (5943, 0.197, 54, 0.008)],
    "cca-ssg": [(132, 0.010, 38, 0.006), (225, 0.011, 71, 0.005), (825, 0.123, 85, 0.006), (1197, 0.112, 41, 0.005), (2418, 0.210, 40, 0.005)],
}


def theirs(folder, form):
    torch.set_num_threads(2)
    prepared = {}
    print("ready", flush=True)
    for line in sys.stdin:
        model, name, warm, epochs = line.split()
        if name not in prepared:
            prepared[name] = Prepared(folder, name)
        data, adjacency = prepared[name].data, prepared[name].adjacency
        torch.manual_seed(0)
        training = as_written.trainer(data, adjacency, prepared[name].settings[model], form)
        for _ in range(int(warm)):
            training.step()
        start = time.perf_counter()
        for _ in range(int(epochs)):
            loss = training.step()
        seconds = (time.perf_counter() - start) / int(epochs)
        del training
        print(seconds, loss, flush=True)


def started(commands, line, settings):
    """Starts the processes of one cell and runs them once, so that the data is loaded."""
    sides = [Side(name, command, settings) for name, command in commands.items()]
    for side in sides:
        side.run(f"{line} 0 1")
        side.seconds.clear()
    return sides


def held(side, line):
    """The peak memory of a run above that before it, in bytes."""
    process = pathlib.Path(f"/proc/{side.process.pid}")
    process.joinpath("clear_refs").write_text("5")
    before = side.peak()
    side.run(f"{line} 1 2")
    return max(side.peak() - before, 1)


def cell(commands, model, name, rounds):
    """Seconds per epoch and bytes above the loaded data for each side."""
    line, epochs = f"{model} {name}", [1 if model == "grace" else 3, 20, 20]
    clock = started(commands, line, CLOCK)
    for _ in range(rounds):
        for side, count in zip(clock, epochs):
            side.run(f"{line} 1 {count}")
    memory = started(commands, line, FREED)
    most = [held(side, line) for side in memory]
    for side in clock + memory:
        side.finish()
    # Weights and pairs are drawn differently, so the losses on clusters are similar but not equal.
    losses = [float(side.facts[-1]) for side in clock[1:]]
    if abs(losses[0] - losses[1]) > 0.2 * abs(losses[1]):
        sys.exit(f"{model} on {name}: after as many epochs the losses are {losses}")
    return [min(side.seconds) for side in clock], most


def ratios(values, of_paper):
    whole, clusters, ours = values
    return whole / clusters, whole / ours, of_paper[0] / of_paper[1]


def main(binary, *names):
    rounds, names = int(os.environ.get("ROUNDS", 3)), names or SMALL
    if unknown := set(names) - set(SMALL):
        sys.exit(f"{', '.join(unknown)}: the paper has only {', '.join(SMALL)}")
    binary = pathlib.Path(binary).resolve()
    print(f"two threads, the paper's settings, best of {rounds}; memory is the most above the loaded data.\n")
    print(f"{'':27}{'ms an epoch':^57}  {'MB':^57}")
    columns = f"{'whole':>10}{'clusters':>10}{'ours':>9}{'ratio':>8}{'to ours':>11}{'paper':>9}"
    print(f"{'model':9}{'dataset':18}{columns}  {columns}")
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            subprocess.run([str(binary), "prepare", name, folder], check=True)
            commands = {form: [sys.executable, __file__, "--theirs", folder, form] for form in ("whole", "clusters")}
            commands["ours"] = [binary, "run", folder]
            means = []
            for model in MODELS:
                seconds, most = cell(commands, model, name, rounds)
                megabytes, time_whole, megabytes_clusters, time_clusters = PAPER[model][SMALL.index(name)]
                of_time = ratios(seconds, (time_whole, time_clusters))
                of_memory = ratios(most, (megabytes, megabytes_clusters))
                means.append(of_time + of_memory)
                times = "".join(f"{1e3 * value:{width}.2f}" for value, width in zip(seconds, (10, 10, 9)))
                space = "".join(f"{value / 1e6:{width}.1f}" for value, width in zip(most, (10, 10, 9)))
                factors = ["".join(f"{r:{w}.1f}" for r, w in zip(of, (8, 11, 9))) for of in (of_time, of_memory)]
                print(f"{model:9}{name:18}{times}{factors[0]}  {space}{factors[1]}", flush=True)
            mean = [statistics.mean(column) for column in zip(*means)]
            factors = ["".join(f"{r:{w}.1f}" for r, w in zip(of, (8, 11, 9))) for of in (mean[:3], mean[3:])]
            print(f"{'mean':9}{name:18}{'':29}{factors[0]}  {'':29}{factors[1]}\n", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--theirs":
        theirs(pathlib.Path(sys.argv[2]), sys.argv[3])
    else:
        main(*sys.argv[1:])

#!/usr/bin/env python3
"""Runs mixed commands, and fits in one Python process, for a long time; fails on litter, growth or a wrong end.

    scripts/soak.py target/release/structcomp --minutes 60
    scripts/soak.py target/release/structcomp --minutes 60 --python PYTHON    with the package installed there

Commands are drawn at random, half of them with a limit on memory (`--memory` and, 96 MiB above, a hard limit of the
system), some on a disk that fills up (a limit on the size of files), some ended by a signal. All work in the same few
folders. Each has to end with the status that its case allows, no temporary file may outlive the next command in
its folder, and a command that was not disturbed gives the same bytes every time. The Python process fits, embeds,
saves and loads in turn, and its memory after the first fifth of the time is compared with that at the end.
"""

import argparse
import hashlib
import json
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

MODEL = "--hidden 16 --epochs 3 --clusters 60"
COMMANDS = {
    "info": ("info g", None),
    "run": (f"run g --runs 3 --model sce {MODEL} --map 50 --out r", "r/embedding.npy"),
    "run-solved": ("run g --runs 3 --map 50 --out s", "s/embedding.npy"),
    "train": (f"train g --model grace {MODEL} --checkpoint-every 1 --out t.safetensors", "t.safetensors"),
    "embed": ("embed g --weights m.safetensors --out z.npy", "z.npy"),
    "embed-table": ("embed g --weights m.safetensors --out z.parquet", "z.parquet"),
    "partition": ("partition g -k 40 --out p.part", "p.part"),
    "convert": ("convert g c.csv", "c.csv"),
    "convert-folder": ("convert g h", "h/graph.scg"),
    "neighbors": ("neighbors m.npy --all -k 5 --out n.npy", "n.npy"),
    "evaluate": ("evaluate g --embedding m.npy --runs 3 --clustering", None),
    "wrong": ("embed g --weights g --out w.npy", None),
}
BESIDE = 96 << 20

FITS = """
import json, resource, sys, tempfile, time
import numpy as np
import structcomp
from structcomp import StructComp, load_dataset

data = load_dataset("demo")
end = time.monotonic() + 60 * float(sys.argv[1])
began, fits, early, first = time.monotonic(), 0, None, {}

def held():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

models = [{}, {"model": "sce", "hidden": 32, "epochs": 2}, {"model": "cca-ssg", "hidden": 32, "epochs": 2}]
with tempfile.TemporaryDirectory() as place:
    while time.monotonic() < end:
        which = fits % len(models)
        model = StructComp(random_state=0, **models[which])
        z = np.asarray(model.fit_transform(data.X, adjacency=data.graph))
        model.save(f"{place}/m.safetensors")
        again = np.asarray(StructComp.load(f"{place}/m.safetensors").transform(data.X, adjacency=data.graph))
        assert np.array_equal(z, again) and np.array_equal(z, first.setdefault(which, z)), "other numbers"
        try:
            StructComp(model="sce", hidden=-1).fit(data.X, adjacency=data.graph)
            raise SystemExit("a wrong setting was taken")
        except ValueError:
            pass
        fits += 1
        if early is None and time.monotonic() - began > (end - began) / 5:
            early = held()
print(json.dumps({"fits": fits, "early": early, "late": held()}))
"""


def limits(memory: int | None, file_size: int | None):
    def apply() -> None:
        if memory:
            resource.setrlimit(resource.RLIMIT_DATA, (memory + BESIDE,) * 2)
        if file_size:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size,) * 2)

    return apply


def litter(place: Path) -> list[str]:
    return [str(path.relative_to(place)) for path in place.rglob(".structcomp-*")]


class Soak:
    """The folder that all commands work in, and what they have done."""

    def __init__(self, binary: str, place: Path, seed: int) -> None:
        self.binary, self.place, self.chance = str(Path(binary).resolve()), place, random.Random(seed)
        self.sums: dict[str, str] = {}
        self.ends: Counter[str] = Counter()
        self.wrong: list[str] = []
        for command in (
            "generate --nodes 900 --edges 4000 --out g",
            f"train g --model sce {MODEL} --out m.safetensors",
            "embed g --weights m.safetensors --out m.npy",
        ):
            subprocess.run([self.binary, *command.split()], cwd=place, check=True, capture_output=True)

    def one(self) -> None:
        name = self.chance.choice(list(COMMANDS))
        arguments, output = COMMANDS[name]
        case = self.chance.choice(["plain", "plain", "memory", "memory", "memory", "disk", "signal"])
        memory = self.chance.choice([3, 8, 20, 60]) << 20 if case == "memory" else None
        file_size = self.chance.choice([200, 5_000, 60_000]) if case == "disk" else None
        command = [self.binary, *arguments.split(), "--threads", "2"]
        command += ["--memory", str(memory)] if memory else []
        process = subprocess.Popen(
            command,
            cwd=self.place,
            preexec_fn=limits(memory, file_size),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        sent = None
        if case == "signal":
            sent = self.chance.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
            time.sleep(self.chance.uniform(0, 0.3))
            process.send_signal(sent)
        said = process.communicate(timeout=300)[1]
        self.judge(name, case, sent, process.returncode, said, output)

    def judge(self, name, case, sent, status, said, output) -> None:
        allowed = {1} if name == "wrong" else {0} if case == "plain" else {0, 1}
        if sent:
            allowed |= {-9} if sent == signal.SIGKILL else {128 + sent, -sent}
        self.ends[f"{case} {'ok' if status == 0 else 'error' if status == 1 else 'ended'}"] += 1
        complain = self.wrong.append
        if status not in allowed or "panicked" in said:
            complain(f"{name}, {case}: status {status}: {said.strip()[-300:]}")
        if status == 0 and output:
            found = hashlib.sha256((self.place / output).read_bytes()).hexdigest()
            if self.sums.setdefault(name, found) != found:
                complain(f"{name}, {case}: other bytes")
        # A command that was not disturbed clears up in the folder that it writes to.
        left = [path.name for path in self.place.glob(".structcomp-*")]
        if case == "plain" and name == "convert" and left:
            complain(f"{name}: left {left}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("binary")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--python", help="an interpreter with the package")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="soak-"))
    soak, end = Soak(asked.binary, place, asked.seed), time.monotonic() + 60 * asked.minutes
    fits = None
    if asked.python:
        found = shutil.which(asked.python)
        if not found:
            parser.error(f"there is no interpreter {asked.python}")
        # Not resolved further: the link is what makes it that of a virtual environment.
        command = [str(Path(found).absolute()), "-c", FITS, str(asked.minutes)]
        fits = subprocess.Popen(command, cwd=place, stdout=subprocess.PIPE, text=True)
    while time.monotonic() < end:
        soak.one()
    # The next undisturbed command in each folder clears up after those that were killed.
    for name in ("run", "run-solved", "train", "convert-folder"):
        subprocess.run([soak.binary, *COMMANDS[name][0].split()], cwd=place, check=True, capture_output=True)
    if left := litter(place):
        soak.wrong.append(f"left at the end: {left}")
    print(
        f"{sum(soak.ends.values())} commands:",
        ", ".join(f"{n} {end}" for end, n in sorted(soak.ends.items())),
    )
    if fits:
        said = fits.communicate()[0]
        if fits.returncode:
            soak.wrong.append(f"Python: status {fits.returncode}")
        else:
            told = json.loads(said)
            print(
                f"{told['fits']} fits in one process: {told['early']} kB held early, {told['late']} kB at the end"
            )
            if told["early"] and told["late"] > 1.1 * told["early"] + 20_000:
                soak.wrong.append("the memory of the Python process grows")
    shutil.rmtree(place)
    print("\n".join(soak.wrong) or "nothing left behind, nothing grown, no wrong end")
    return 1 if soak.wrong else 0


if __name__ == "__main__":
    sys.exit(main())

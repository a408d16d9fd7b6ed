#!/usr/bin/env python3
"""Makes file-system calls of the commands fail, kills the commands, and looks at what is left.

    scripts/faults.py target/release/structcomp                   every call of every command
    scripts/faults.py target/release/structcomp --share 0.05      every twentieth
    scripts/faults.py target/release/structcomp --kills 1000      1,000 random kills and 1,000 resumes
    scripts/faults.py target/release/structcomp --short           reads and writes that do half of their work
    scripts/faults.py target/release/structcomp --repeat "run old rename:2:KILL"

A fault is a single error of the disk (EIO), a disk that is full from this call on (ENOSPC), or SIGKILL
before the call. strace injects it into the k-th call of a kind in each thread. Every command runs in an
empty folder, over the results of an earlier command, and, if it is `run`, after one that was killed while its
files were moved. After the fault,

- every output is absent, the earlier one, or the new one, byte for byte; folders as a whole;
- the files of `run` are of one run, by the checksums in run.json, at the latest after the next start of
  `run` with this folder;
- the command has ended with status 0 or 1, and with 0 only if all of its outputs are new;
- an error has left no temporary files;
- the same command then gives the bytes of an undisturbed run, and no temporary files are left.

A short read or write is no fault: the command has to go on, and to end with status 0 and new outputs.

The first column of a summary is the command, "between" means that some of its outputs are new and others
not, and "moving" that the next start of `run` has to complete the set.
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

CALLS = (
    "openat read pread64 write pwrite64 writev copy_file_range statx newfstatat rename renameat renameat2 "
    "link linkat fsync fdatasync ftruncate fallocate mkdir mkdirat unlink unlinkat rmdir flock fchmod fchown "
    "getdents64"
).split()
WRITING = set("openat write pwrite64 writev copy_file_range rename renameat renameat2".split()) | set(
    "link linkat fsync fdatasync ftruncate fallocate mkdir mkdirat".split()
)
# A kill before any other call leaves what a kill before the next of these does.
CHANGING = WRITING | {"unlink", "unlinkat", "rmdir"}
# What an error needs to clean up after itself; if one of these fails, the next command does it.
CLEANING = {"unlink", "unlinkat", "rmdir", "openat", "getdents64", "statx", "newfstatat"}
TEMPORARY = ".structcomp-"
SET = ("embedding.npy", "ids.txt", "weights.safetensors", "report.html", "run.json")


@dataclass(frozen=True)
class Command:
    """The arguments of the command and of the earlier one, and the outputs, each whole or absent."""

    name: str
    new: str
    old: str
    outputs: tuple[str, ...]
    timed: bool = False  # its outputs contain times


RUN = (
    "--model sce --epochs 3 --hidden 8 --clusters 20 --map 20 --stand-in degree --stand-in-width 9 --out out"
)
MODEL, CHECKPOINT = "m.safetensors", "m.checkpoint.safetensors"
TRAIN = f"--epochs 8 --hidden 8 --clusters 20 --checkpoint-every 1 --out {MODEL}"
COMMANDS = [
    Command("run", f"run ../in/named.csv {RUN}", f"run ../in/plain.scg {RUN}", ("out",)),
    Command("run-without-names", f"run ../in/plain.scg {RUN}", f"run ../in/named.csv {RUN}", ("out",)),
    Command(
        "train",
        f"train ../in/g {TRAIN} --model sce",
        f"train ../in/g {TRAIN} --model sce --seed 9",
        (MODEL, CHECKPOINT),
    ),
    Command(
        "embed",
        "embed --weights ../in/m.safetensors ../in/g --out z.npy",
        "embed --untrained propagated ../in/g --out z.npy",
        ("z.npy",),
    ),
    Command(
        "embed-table",
        "embed --weights ../in/m.safetensors ../in/g --out z.parquet",
        "embed --untrained propagated ../in/g --out z.parquet",
        ("z.parquet",),
    ),
    Command("convert-file", "convert ../in/g o.scg", "convert ../in/h o.scg", ("o.scg",)),
    Command("convert-folder", "convert ../in/g o", "convert ../in/h o", ("o",)),
    Command(
        "partition",
        "partition ../in/g -k 20 --out c.part --plot c.svg",
        "partition ../in/g -k 30 --out c.part --plot c.svg",
        ("c.part", "c.svg"),
    ),
    Command(
        "generate",
        "generate --nodes 300 --edges 1200 --out o",
        "generate --nodes 320 --edges 1300 --out o",
        ("o",),
    ),
    Command(
        "neighbors",
        "neighbors ../in/z.npy --all --out n.npy -k 3",
        "neighbors ../in/z.npy --all --out n.npy -k 4",
        ("n.npy", "n.scores.npy"),
    ),
    Command(
        "reproduce",
        "reproduce theory --only star --redo --out o",
        "reproduce theory --only star --seed 4 --out o",
        ("o/cells/theory/star-linear-structcomp.json", "o/results.json", "o/results.md", "o/index.html"),
        timed=True,
    ),
]
STRACE = ("strace", "-f", "-qq")
FAST = "--seccomp-bpf"  # strace 6.1 injects no signals with it
MODELS = ("sce", "grace", "coles", "cca-ssg")

BEGINS = ("empty", "old", "moving")

Held = dict[str, bytes]


def held(path: Path) -> Held:
    """The files under a path, by name; a file alone is named ''; empty folders count too."""
    if path.is_dir():
        below = {str(part.relative_to(path)): part for part in sorted(path.rglob("*"))}
        return {name: part.read_bytes() if part.is_file() else b"" for name, part in below.items()} or {
            "/": b""
        }
    return {"": path.read_bytes()} if path.exists() else {}


def timeless(files: Held) -> Held:
    """Without numbers."""
    return {name: re.sub(rb"\d[\d.:TZe+-]*", b"0", data) for name, data in files.items()}


def is_safetensors(data: bytes) -> bool:
    length = int.from_bytes(data[:8], "little")
    arrays = json.loads(data[8 : 8 + length])
    ends = [about["data_offsets"][1] for name, about in arrays.items() if name != "__metadata__"]
    return len(data) == 8 + length + max(ends, default=0)


class Lab:
    """A folder with the inputs, a place where commands run, and what undisturbed commands give."""

    def __init__(self, binary: str, work: Path) -> None:
        self.binary, self.work = str(Path(binary).resolve()), work
        self.place, self.temporary = work / "place", work / "tmp"
        self.temporary.mkdir()
        self.environment = {
            **os.environ,
            "TMPDIR": str(self.temporary),
            "STRUCTCOMP_DATA": str(work / "data"),
        }
        self.environment["RUST_BACKTRACE"] = "0"
        self.shortened = 0
        self.results: dict[tuple[str, str], dict[str, Held]] = {}
        self.seconds: dict[str, float] = {}
        self.missed = 0
        self.make_inputs()

    def make_inputs(self) -> None:
        inputs = self.work / "in"
        inputs.mkdir()
        self.place = inputs
        self.must("generate --nodes 300 --edges 1200 --out g")
        self.must("generate --nodes 320 --edges 1300 --seed 5 --out h")
        self.must("convert g plain.scg")
        self.must("convert h edges.csv --part edges")
        lines = (inputs / "edges.csv").read_text().splitlines()[1:]
        self.must(f"train g {TRAIN} --model sce --seed 3")
        self.must("embed --weights m.safetensors g --out z.npy")
        named = ("{},{}\n".format(*("node" + end for end in line.split(",")[:2])) for line in lines)
        (inputs / "named.csv").write_text("".join(named))
        self.place = self.work / "place"

    def start(self, arguments: str, before: tuple[str, ...] = ()) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*before, self.binary, *arguments.split(), "--threads", "2"],
            cwd=self.place,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, arguments: str, before: tuple[str, ...] = ()) -> tuple[int, str]:
        process = self.start(arguments, before)
        try:
            said = process.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            process.kill()
            return 124, "did not end within 60 s\n" + process.communicate()[1]
        return process.returncode, said

    def must(self, arguments: str) -> None:
        status, said = self.run(arguments)
        if status != 0:
            raise SystemExit(f"{self.place}: structcomp {arguments}: status {status}\n{said}")

    def prepare(self, command: Command, begin: str) -> None:
        """The place as it is before a fault: empty, or with the results of the earlier command; of `run` also
        with new results that were being moved there when that was killed."""
        shutil.rmtree(self.place, ignore_errors=True)
        if begin == "empty":
            self.place.mkdir()
        else:
            shutil.copytree(self.work / f"{command.name}.old", self.place)
        if begin == "moving":
            unfinished = self.place / "out/unfinished"
            unfinished.mkdir()
            for name, data in self.results[command.name, "new"]["out"].items():
                (self.place / "out" / name if name == "embedding.npy" else unfinished / name).write_bytes(
                    data
                )
        shutil.rmtree(self.temporary)
        self.temporary.mkdir()

    def learn(self, command: Command) -> None:
        """Runs a command without faults."""
        for age, arguments in (("old", command.old), ("new", command.new)):
            self.prepare(command, "empty")
            began = time.monotonic()
            self.must(arguments)
            self.seconds[command.name] = time.monotonic() - began
            self.results[command.name, age] = self.outputs(command)
            if age == "old":
                shutil.copytree(self.place, self.work / f"{command.name}.old", dirs_exist_ok=True)

    def outputs(self, command: Command) -> dict[str, Held]:
        return {name: held(self.place / name) for name in command.outputs}

    def calls(self, command: Command, begin: str) -> list[tuple[str, int]]:
        """The calls of a command once it is loaded: their kinds, and which of its kind in its thread."""
        self.prepare(command, begin)
        log = self.work / "calls"
        wanted = ",".join("?" + call for call in CALLS)
        self.run(command.new, (*STRACE, FAST, "-o", str(log), "-e", f"trace={wanted}"))
        found = [match.groups() for line in log.open() if (match := re.match(r"(\d+) +(\w+)\((.*)", line))]
        # The first file that the program itself opens; before it, the system loads the program.
        loaded = next(at for at, (_, _, rest) in enumerate(found) if '"/proc/self/status"' in rest)
        loading = Counter(call for _, call, _ in found[:loaded])
        counts: Counter[tuple[str, str]] = Counter()
        calls = {}
        for thread, call, _ in found:
            counts[thread, call] += 1
            if counts[thread, call] > loading[call]:
                calls[call, counts[thread, call]] = None
        return list(calls)

    def state(self, command: Command, name: str) -> str:
        """absent, old, new, or what is wrong."""
        now = held(self.place / name)
        if not now:
            return "absent"
        if name == "out":
            return self.state_of_run(command, now)
        if name == CHECKPOINT and now != self.results[command.name, "old"][name]:
            return "new" if is_safetensors(now[""]) else "torn"
        if now == self.results[command.name, "old"][name]:
            return "old"
        new = self.results[command.name, "new"][name]
        if now == new or (command.timed and timeless(now) == timeless(new)):
            return "new"
        # A report in which the cell is missing, as it could not be computed.
        return (
            "partial"
            if command.timed and now[""].endswith((b"[]\n", b"[]", b"</html>\n", b".\n"))
            else "torn"
        )

    def state_of_run(self, command: Command, now: Held) -> str:
        files = {name: data for name, data in now.items() if name in SET}
        other = [
            name for name in now if name not in SET and not name.startswith(("unfinished", TEMPORARY, "/"))
        ]
        if other:
            return f"unexpected {other}"
        if not files:
            return "absent"
        if files == self.results[command.name, "old"]["out"]:
            return "old"
        # Two runs differ in their times, so these two files are known by the checksum in the other.
        if is_whole(files):
            new = self.results[command.name, "new"]["out"]
            timeless = set(SET) - {"run.json", "report.html"}
            return "new" if all(files.get(name) == new.get(name) for name in timeless) else "torn"
        unfinished = {Path(name).name: data for name, data in now.items() if name.startswith("unfinished/")}
        # Killed while the files were moved: the next run into the folder completes that.
        moving = "run.json" in unfinished and is_whole({**files, **unfinished}, others=True)
        return "moving" if moving else "mixed"

    def judge(
        self, command: Command, begin: str, fault: str, status: int, said: str
    ) -> tuple[str, list[str]]:
        """The state after a fault, and all that is wrong with it and after a second start."""
        wrong = []
        killed = "kill" in fault.lower()
        if status not in ((0, 1, -9) if killed else (0, 1)):
            wrong.append(f"status {status}: {said.strip()}")
        if "panicked" in said:
            wrong.append(said.strip())
        states = [self.state(command, name) for name in command.outputs]
        before = "absent" if begin == "empty" else begin
        allowed = {"new", "moving", before, "partial" if status else "new"}
        wrong += [f"{name}: {s}" for name, s in zip(command.outputs, states) if s not in allowed]
        if status == 0 and set(states) != {"new"}:
            wrong.append(f"status 0, but {states}")
        if not killed and fault.split(":")[0] not in CLEANING and self.litter():
            wrong.append(f"left by an error: {self.litter()}")
        if (self.place / "out/unfinished/run.json").exists():
            # The run was complete. This one fails, but not before it has moved the files of that.
            self.run("run ../in/nothing --out out")
            if self.state(command, "out") != "new":
                wrong.append(f"the next run leaves the files {self.state(command, 'out')}")
        checkpoint = self.place / CHECKPOINT
        started = command.name == "train" and checkpoint.exists()
        resume = started and held(checkpoint) != self.results["train", "old"][CHECKPOINT]
        again, said = self.run(command.new + (" --resume" if resume else ""))
        states_again = [self.state(command, name) for name in command.outputs]
        if again != 0 or set(states_again) != {"new"} or not self.same(command):
            wrong.append(f"second start: status {again}, {states_again}: {said.strip()}")
        if self.litter() or (self.place / "out/unfinished").exists():
            wrong.append(f"left after a second start: {self.litter() or 'out/unfinished'}")
        whole = states[0] if len(set(states)) == 1 else "between"
        return whole, wrong

    def same(self, command: Command) -> bool:
        """Whether all outputs are the undisturbed ones; those with times are compared by `state`."""
        return (
            command.timed
            or command.outputs == ("out",)
            or self.outputs(command) == self.results[command.name, "new"]
        )

    def litter(self) -> list[str]:
        found = [*self.place.rglob(f"{TEMPORARY}*"), *self.temporary.iterdir()]
        return [str(path.relative_to(self.work)) for path in found]

    def kill(self, arguments: str, delay: float) -> tuple[int, str]:
        process = self.start(arguments)
        try:
            process.wait(timeout=delay)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        return process.wait(), process.communicate()[1]

    def run_short(self, arguments: str) -> tuple[int, str]:
        """Runs with a library that shortens reads and writes."""
        library, log = self.work / "short_calls.so", self.work / "short"
        if not library.exists():
            source = Path(__file__).with_name("short_calls.c")
            subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True)
        log.write_text("")
        plain = self.environment
        self.environment = {**plain, "LD_PRELOAD": str(library), "SHORT_CALLS": str(log)}
        result = self.run(arguments)
        self.environment = plain
        self.shortened = sum(int(line) for line in log.read_text().split())
        return result

    def trial(self, command: Command, begin: str, fault: str) -> tuple[str, list[str]]:
        """`call:k:EIO`, `call:k:ENOSPC`, `call:k:KILL`, `kill:seconds`, or `short`."""
        self.prepare(command, begin)
        call, *rest = fault.split(":")
        if call == "short":
            status, said = self.run_short(command.new)
            state, wrong = self.judge(command, begin, fault, status, said)
            wrong += [f"status {status}: {said.strip()}"] if status else []
            return state, wrong + ([] if self.shortened else ["no call was shortened"])
        if call == "kill":
            status, said = self.kill(command.new, float(rest[0]))
        else:
            injected = {
                "EIO": f"error=EIO:when={rest[0]}",
                "ENOSPC": f"error=ENOSPC:when={rest[0]}+",
                "KILL": f"signal=KILL:when={rest[0]}",
            }[rest[1]]
            log = self.work / "log"
            options = ("-o", str(log), "-e", f"trace={call}", "-e", f"inject={call}:{injected}")
            fast = () if rest[1] == "KILL" else (FAST,)
            status, said = self.run(command.new, (*STRACE, *fast, *options))
            struck = re.search(r"INJECTED|killed by SIGKILL", log.read_text(errors="replace"))
            self.missed += not struck
        return self.judge(command, begin, fault, status, said)


def is_whole(files: Held, others: bool = False) -> bool:
    """Whether the files are those that run.json lists, and no more of them unless `others` are allowed."""
    try:
        listed = json.loads(files["run.json"])["files"]
    except (KeyError, ValueError):
        return False
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in files.items() if name != "run.json"}
    return all(sums.get(name) == listed[name] for name in listed) and (others or set(sums) == set(listed))


class Tally:
    """Counts what became of the trials of a command, and tells of failures as they come."""

    def __init__(self, name: str) -> None:
        self.name, self.failures, self.began = name, 0, time.monotonic()
        self.states: Counter[str] = Counter()

    def add(self, repeat: str, state: str, wrong: list[str]) -> None:
        self.states[state] += 1
        if wrong:
            self.failures += 1
            print(f'FAILED  --repeat "{repeat}"', *wrong, sep="\n    ", flush=True)

    def show(self) -> None:
        states = ("old", "new", "absent", "between", "moving")
        counted = "".join(f"{self.states[state]:6} {state}" for state in states)
        seconds, tried = time.monotonic() - self.began, sum(self.states.values())
        print(
            f"{self.name:18}{tried:6} tried {counted}{self.failures:6} failures{seconds:6.0f} s", flush=True
        )


def every_call(lab: Lab, command: Command, share: float) -> int:
    tally = Tally(command.name)
    for begin in BEGINS if command.outputs == ("out",) else BEGINS[:2]:
        faults = []
        for call, k in lab.calls(command, begin):
            kinds = ["EIO"] + ["KILL"] * (call in CHANGING) + ["ENOSPC"] * (call in WRITING)
            faults += [f"{call}:{k}:{kind}" for kind in kinds]
        for at in range(round(len(faults) * share)):
            fault = faults[int(at / share)]
            tally.add(f"{command.name} {begin} {fault}", *lab.trial(command, begin, fault))
    tally.show()
    if lab.missed:
        print(f"    {lab.missed} of these faults came too late: the command made fewer calls than at first")
        lab.missed = 0
    return tally.failures


def short_calls(lab: Lab, command: Command) -> int:
    tally, calls = Tally(command.name), 0
    for begin in BEGINS if command.outputs == ("out",) else BEGINS[:2]:
        tally.add(f"{command.name} {begin} short", *lab.trial(command, begin, "short"))
        calls += lab.shortened
    tally.show()
    print(f"    {calls} calls were short")
    return tally.failures


def random_kills(lab: Lab, commands: list[Command], kills: int, chance: random.Random) -> int:
    tallies = {command.name: Tally(command.name) for command in commands}
    for at in range(kills):
        command = commands[at % len(commands)]
        begin = chance.choice(BEGINS if command.outputs == ("out",) else BEGINS[:2])
        fault = f"kill:{chance.uniform(0, 1.1 * lab.seconds[command.name]):.5f}"
        tallies[command.name].add(f"{command.name} {begin} {fault}", *lab.trial(command, begin, fault))
    for tally in tallies.values():
        tally.show()
    return sum(tally.failures for tally in tallies.values())


def resumes(lab: Lab, wanted: int, chance: random.Random) -> int:
    """Kills training, also while it resumes, until as many have resumed; all end with the same bytes."""
    commands = [
        Command(f"resume-{model}", f"train ../in/g {TRAIN} --epochs 30 --model {model}", "", (MODEL,))
        for model in MODELS
    ]
    done: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    for command in commands:
        lab.prepare(command, "empty")
        began = time.monotonic()
        lab.must(command.new)
        lab.seconds[command.name] = time.monotonic() - began
        lab.results[command.name, "new"] = lab.outputs(command)
    trainings: dict[str, int] = defaultdict(int)
    while sum(done.values()) < wanted:
        command = min(commands, key=lambda command: done[command.name])
        lab.prepare(command, "empty")
        kills, ended = [], False
        while not ended:
            resume = (lab.place / CHECKPOINT).exists()
            arguments = command.new + (" --resume" if resume else "")
            if len(kills) < 4:
                kills.append(round(chance.uniform(0.1, 1) * lab.seconds[command.name], 5))
                status, said = lab.kill(arguments, kills[-1])
            else:
                status, said = lab.run(arguments)
            ended = status != -9
            done[command.name] += resume
        trainings[command.name] += 1
        if status != 0 or lab.outputs(command) != lab.results[command.name, "new"] or lab.litter():
            failures[command.name] += 1
            print(f"FAILED  {command.name} killed after {kills} s: {status} {said.strip()} {lab.litter()}")
    for name, count in done.items():
        print(f"{name:18}{count:6} resumes of {trainings[name]} trainings{failures[name]:6} failures")
    return sum(failures.values())


def main() -> int:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=raw)
    parser.add_argument("binary", help="the program to test")
    parser.add_argument("--only", action="append", metavar="COMMAND", help="may be repeated")
    parser.add_argument("--share", type=float, default=1.0, help="of the calls to try, evenly spaced")
    parser.add_argument("--kills", type=int, metavar="N", help="random kills, as many resumes of training")
    parser.add_argument("--short", action="store_true", help="shorten reads and writes; needs a C compiler")
    parser.add_argument("--seed", type=int, default=0, help="of the random kills")
    parser.add_argument("--work", help="where to work [default: the folder for temporary files]")
    parser.add_argument("--repeat", metavar="TRIAL", help="one trial, as a failure prints it")
    asked = parser.parse_args()
    if asked.kills is None and not asked.short and shutil.which("strace") is None:
        raise SystemExit("install strace, or use --kills or --short, which do without")
    commands = [command for command in COMMANDS if not asked.only or command.name in asked.only]
    work = Path(tempfile.mkdtemp(prefix="faults-", dir=asked.work))
    lab = Lab(asked.binary, work)
    if asked.repeat:
        name, begin, fault = asked.repeat.split()
        command = next(command for command in COMMANDS if command.name == name)
        lab.learn(command)
        state, wrong = lab.trial(command, begin, fault)
        print(f"{state}: " + ("; ".join(wrong) or "as it should be"), f"see {work}", sep="\n")
        return 1 if wrong else 0
    for command in commands:
        lab.learn(command)
    if asked.short:
        failures = sum(short_calls(lab, command) for command in commands)
    elif asked.kills is None:
        failures = sum(every_call(lab, command, asked.share) for command in commands)
    else:
        chance = random.Random(asked.seed)
        failures = random_kills(lab, commands, asked.kills, chance)
        failures += 0 if asked.only else resumes(lab, asked.kills, chance)
    shutil.rmtree(work)
    print(f"{failures} failures" if failures else "nothing torn, mixed or left behind")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

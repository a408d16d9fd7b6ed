"""Runs two processes alternately and compares them.

A process prints "ready", then answers each line of input with a line that starts with the seconds of its work.
"""

import os
import pathlib
import statistics
import subprocess
import sys
import threading
import time



def threads(count):
    return {name: str(count) for name in ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")}


SETTINGS = threads(2)


class Side:
    """One of the processes and its measurements."""

    def __init__(self, name, command, settings=SETTINGS):
        self.name = name
        self.process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | settings,
        )
        if self.process.stdout.readline().strip() != "ready":
            sys.exit(f"{name} did not start")
        self.idle = self.anonymous()
        self.seconds, self.processor, self.memory, self.facts = [], [], [], []

    def run(self, line="run"):
        before = self.processor_seconds()
        done, peak = threading.Event(), [0]
        watch = threading.Thread(target=self.watch, args=(done, peak))
        watch.start()
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        done.set()
        watch.join()
        if not answer:
            sys.exit(f"{self.name} failed")
        self.seconds.append(float(answer[0]))
        self.facts = answer[1:]
        self.processor.append(self.processor_seconds() - before)
        self.memory.append(peak[0] - self.idle)

    def watch(self, done, peak):
        while not done.is_set():
            peak[0] = max(peak[0], self.anonymous())
            time.sleep(0.002)

    def anonymous(self):
        """The current anonymous memory in bytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("RssAnon:"))
        return 1024 * int(line.split()[1])

    def processor_seconds(self):
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def peak(self):
        """The peak resident memory in bytes, including mapped files."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in status.splitlines() if line.startswith("VmHWM:"))
        return 1024 * int(line.split()[1])

    def finish(self):
        self.process.stdin.close()
        self.process.wait()


def compare(ours, theirs, rounds):
    """Prints the measurements of both sides and the ratios, theirs divided by ours."""
    sides = Side("ours", ours), Side("theirs", theirs)
    for _ in range(int(os.environ.get("ROUNDS", rounds))):
        for side in sides:
            side.run()
    for side in sides:
        side.finish()
    measures = {
        "best s": lambda side: min(side.seconds),
        "median s": lambda side: statistics.median(side.seconds),
        "processor s": lambda side: min(side.processor),
        "peak MiB": lambda side: max(side.memory) / 2**20,
    }
    print(f"{'':12}" + "".join(f"{side.name:>10}" for side in sides) + f"{'ratio':>10}")
    for name, measure in measures.items():
        a, b = (measure(side) for side in sides)
        print(f"{name:12}{a:10.3f}{b:10.3f}{b / max(a, 1e-9):10.2f}")
    return sides

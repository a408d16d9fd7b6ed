"""How the default embedding behaves when one property of a synthetic graph changes: a figure.

usage: sweep.py OUR_BINARY OUT.svg

Each panel varies one property and leaves the others as they are in `BASE`. Lines are the accuracy of the recipe, of the
best of the nine embeddings without training (another one at every point), and of two of these. Ten random splits, one
seed.
"""

import json
import subprocess
import sys
import tempfile

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

BASE = {"nodes": 3000, "edges": 9000, "classes": 6, "homophily": 0.7, "feature-noise": 0.7, "words": 1000}
PANELS = {
    "share of edges within a class": ("homophily", [0.22, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]),
    "edges per node": ("edges", [3000, 6000, 9000, 15000, 30000, 60000]),
    "share of noise in the features": ("feature-noise", [0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95]),
    "isolated nodes": ("isolated", [0, 300, 600, 900, 1200, 1500]),
    "classes": ("classes", [2, 4, 6, 10, 20, 40]),
    "words (sparsity)": ("words", [100, 300, 1000, 3000, 10000]),
}
LINES = {"recipe": "#0b6e99", "best row": "#222222", "X": "#b8860b", "SSGC-16": "#999999"}


def accuracies(binary, settings):
    """The accuracy of each line on a graph with these settings."""
    with tempfile.TemporaryDirectory() as folder:
        flags = [word for name, value in settings.items() for word in (f"--{name}", str(value))]
        subprocess.run(
            [binary, "generate", "--out", f"{folder}/graph", *flags, "--quiet"],
            check=True,
            capture_output=True,
        )
        run = [binary, "run", f"{folder}/graph", "--runs", "10", "--json", "--quiet"]
        found = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    rows = {name: row["mean"] for name, row in found["untrained"].items() if name != "encoder"}
    return {
        "recipe": found["accuracy"]["mean"],
        "best row": max(rows.values()),
        "X": rows["features"],
        "SSGC-16": rows["ssgc16"],
    }


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    binary, out = sys.argv[1:]
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "sweep", "font.size": 9})
    figure, panels = plt.subplots(2, 3, figsize=(10, 6), sharey=True, layout="constrained")
    for panel, (title, (name, values)) in zip(panels.flat, PANELS.items()):
        found = [accuracies(binary, {**BASE, name: value}) for value in values]
        for line, colour in LINES.items():
            style = {"marker": "o", "markersize": 3, "linewidth": 2 if line == "recipe" else 1}
            panel.plot(values, [point[line] for point in found], color=colour, label=line, **style)
        print(
            title,
            *(
                f"{value}: {point['recipe']:.1f} {point['best row']:.1f}"
                for value, point in zip(values, found)
            ),
        )
        panel.set_title(title)
        if name in ("edges", "words", "classes"):
            panel.set_xscale("log")
            panel.set_xticks(
                values, [f"{value / 3000:g}" if name == "edges" else f"{value:g}" for value in values]
            )
            panel.minorticks_off()
        panel.spines[["top", "right"]].set_visible(False)
    for panel in panels[:, 0]:
        panel.set_ylabel("test accuracy (%)")
    panels.flat[0].legend(frameon=False)
    figure.suptitle("Synthetic graphs of 3,000 nodes, one property changed at a time")
    figure.savefig(out, metadata={"Date": None})


if __name__ == "__main__":
    main()

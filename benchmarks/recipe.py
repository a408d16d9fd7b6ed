"""The default embedding on many graphs, beside the best of the embeddings without training: tables in Markdown.

usage: recipe.py OUR_BINARY OUT GRAPH...

GRAPH is a named dataset, a folder or a file; `chameleon`, `squirrel` and `actor` are judged on Geom-GCN's splits, all
others on 50 random ones. Runs with the seeds 0 to SEEDS - 1 (3). Reports are kept in the folder OUT, and what is there is
not run again.

The first table has the accuracy of the recipe and of the best row on each graph. The second has regrets: how far each
single row, and the recipe, are below the best of all rows of a graph, on average and at worst. "Chosen elsewhere" is the
row with the least mean regret on the other graphs, which is what a choice without looking at the graph would take.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

SEEDS = int(os.environ.get("SEEDS", "3"))
GEOM_GCN = {"chameleon", "squirrel", "actor"}
PARTS = "features", "neighbours", "two hops", "sixteen hops", "positions", "sizes"


def name_of(graph):
    path = pathlib.Path(graph)
    return path.parent.name if path.suffix == ".npz" else path.name


def report(binary, folder, graph, seed):
    """The JSON of a run, which is made unless it is there."""
    file = folder / f"{name_of(graph)}.{seed}.json"
    if not file.exists():
        splits = ["--splits", "geom-gcn"] if name_of(graph) in GEOM_GCN else []
        command = [binary, "run", graph, *splits, "--seed", str(seed), "--json", "--quiet"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{' '.join(command)}: {done.stderr.strip()}")
        file.write_text(done.stdout)
    return json.loads(file.read_text())


def rows_of(runs):
    """The mean accuracy of each row that does not depend on a model."""
    names = [name for name in runs[0]["untrained"] if name != "encoder"]
    return {name: statistics.mean(run["untrained"][name]["mean"] for run in runs) for name in names}


def verdict(run):
    return {True: "better", False: "worse", None: "unclear"}[run["verdict"]["better"]]


def accuracies(graphs):
    print(
        "| graph | weights | recipe | best row | difference | verdict |\n| --- | --- | ---: | --- | ---: | --- |"
    )
    for name, runs in graphs.items():
        mean = statistics.mean(run["accuracy"]["mean"] for run in runs)
        rows = rows_of(runs)
        best = max(rows, key=rows.get)
        weights = dict(runs[0]["train"]["solution"]["weights"])
        said = [verdict(run) for run in runs]
        said = said[:1] if len(set(said)) == 1 else said
        shares = ", ".join(f"{100 * weights[part]:.0f}" for part in PARTS)
        print(
            f"| {name} | {shares} | {mean:.2f} | {rows[best]:.2f}, {best} | {mean - rows[best]:+.2f} | {', '.join(said)} |"
        )


def regrets(graphs):
    """For each choice, how far below the best row it is on each graph; the recipe may be above."""
    every = {name: rows_of(runs) for name, runs in graphs.items()}
    common = [row for row in next(iter(every.values())) if all(row in rows for rows in every.values())]
    below = {row: {name: max(rows.values()) - rows[row] for name, rows in every.items()} for row in common}
    elsewhere = {}
    for name in every:
        others = {
            row: statistics.mean(v for other, v in below[row].items() if other != name) for row in common
        }
        elsewhere[name] = below[min(others, key=others.get)][name]
    recipe = {
        name: max(every[name].values()) - statistics.mean(run["accuracy"]["mean"] for run in runs)
        for name, runs in graphs.items()
    }
    print("\n| always | mean regret | worst regret | on |\n| --- | ---: | ---: | --- |")
    for choice, regret in {**below, "chosen elsewhere": elsewhere, "the recipe": recipe}.items():
        worst = max(regret, key=regret.get)
        print(f"| {choice} | {statistics.mean(regret.values()):.2f} | {regret[worst]:.2f} | {worst} |")


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    binary, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    graphs = {
        name_of(graph): [report(binary, folder, graph, seed) for seed in range(SEEDS)]
        for graph in sys.argv[3:]
    }
    accuracies(graphs)
    regrets(graphs)


if __name__ == "__main__":
    main()

"""`structcomp reproduce` from Python: the same folder, the same cells."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse
from structcomp import reproduce

STAR = dict(only="star", random_state=0)


def files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def outcomes(folder):
    """The outcomes of the cells, without their durations."""
    return [(cell["key"], cell["outcome"]) for cell in json.loads((folder / "results.json").read_text())]


def test_the_star(tmp_path):
    heard = []
    results = reproduce("theory", out=tmp_path, callback=lambda *told: heard.append(told), **STAR)
    assert heard == [("star/linear/structcomp", 1, 1)]
    assert (results["finished"], results["finished_before"], results["failed"]) == (1, 0, {})
    assert not results["stopped"] and results["cells"] == json.loads((tmp_path / "results.json").read_text())
    # 1999 leaves: each is 1998 from the middle by neighbours, and with it by clusters.
    edges = results["cells"][0]["outcome"]
    assert (round(edges["edges_nodes"]), edges["edges_clusters"]) == (1998, 0)
    again = reproduce(["theory"], out=tmp_path, markdown=tmp_path / "docs/star.md", **STAR)
    assert (again["finished"], again["finished_before"]) == (0, 1)
    assert "star (synthetic)" in (tmp_path / "docs/star.md").read_text()
    assert reproduce("theory", out=tmp_path, redo=True, **STAR)["finished"] == 1


def test_the_folder_is_the_command_line_s(cli, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    reproduce("theory", out=ours, **STAR)
    args = [cli, "reproduce", "theory", "--only", "star", "--quiet", "--out", theirs]
    subprocess.run(args, check=True, capture_output=True)
    assert files(ours) == files(theirs) and outcomes(ours) == outcomes(theirs)


def test_accuracy_is_the_command_line_s(cli, data_dir, tmp_path):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    reproduce("small", out=ours, data_dir=data_dir, only="cora/sce/structcomp", seeds=1, runs=2)
    args = "reproduce small --only cora/sce/structcomp --seeds 1 --runs 2 --quiet".split()
    subprocess.run([cli, *args, "--data-dir", data_dir, "--out", theirs], check=True, capture_output=True)
    assert files(ours) == files(theirs) and outcomes(ours) == outcomes(theirs)


def test_time_and_memory_are_measured_without_the_command_line(data_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", "")
    measured = reproduce(
        "time-memory", out=tmp_path, data_dir=data_dir, only="cora/sce/structcomp", n_threads=2
    )
    outcome = measured["cells"][0]["outcome"]
    assert measured["failed"] == {} and outcome["seconds_per_epoch"] > 0 and outcome["threads"] == 2


def test_a_callback_may_stop(data_dir, tmp_path):
    cells = dict(out=tmp_path, data_dir=data_dir, only="cora/sce", seeds=1, runs=2, n_threads=1)
    for before in (0, 1):
        stopped = reproduce("compression", callback=lambda *told: False, **cells)
        assert (stopped["stopped"], stopped["finished"], stopped["finished_before"]) == (True, 1, before)
        assert len(stopped["cells"]) == before + 1


def test_what_a_callback_raises_is_raised(tmp_path):
    with pytest.raises(KeyError):
        reproduce("theory", out=tmp_path, callback=lambda cell, done, total: {}[cell], **STAR)
    assert reproduce("theory", out=tmp_path, **STAR)["finished_before"] == 1


def interrupted(program):
    """What a program says that ends with the numbers that an estimator still gives."""
    after = "\nprint(structcomp.StructComp().fit_transform('demo').shape)\n"
    # Whoever runs the tests in the background has Ctrl-C ignored.
    heard = "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    program = "import os, signal, structcomp\n" + heard + program + after
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert said.stdout == "stopped\n(2708, 256)\n", said


def test_ctrl_c_keeps_what_is_finished(data_dir, tmp_path):
    interrupted(f"""
stop = lambda cell, done, total: os.kill(os.getpid(), signal.SIGINT)
try:
    structcomp.reproduce("compression", out={str(tmp_path)!r}, data_dir={str(data_dir)!r}, only="cora/sce",
        seeds=1, runs=2, callback=stop)
except KeyboardInterrupt: print("stopped")
""")
    finished = json.loads((tmp_path / "results.json").read_text())
    assert 1 <= len(finished) < 9 and (tmp_path / "index.html").exists()


def test_ctrl_c_is_heard_while_a_cell_runs(data_dir, tmp_path):
    # A thousand seeds would take an hour.
    interrupted(f"""
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.alarm(3)
try:
    structcomp.reproduce("small", out={str(tmp_path)!r}, data_dir={str(data_dir)!r}, only="cora/cca-ssg/structcomp",
        seeds=1000, runs=1)
except KeyboardInterrupt: print("stopped")
""")
    assert json.loads((tmp_path / "results.json").read_text()) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="this system does not list threads")
def test_no_thread_is_left():
    program = """
import os, structcomp, tempfile, time
def threads(): return len(os.listdir("/proc/self/task"))
before = threads()
with tempfile.TemporaryDirectory() as folder:
    structcomp.reproduce("theory", out=folder, only="star", n_threads=3)
until = time.monotonic() + 10  # they end by themselves
while threads() > before and time.monotonic() < until: time.sleep(0.01)
print(threads() - before)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "0\n"


def test_verbose(tmp_path, capsys, monkeypatch):
    reproduce("theory", out=tmp_path, verbose=True, **STAR)
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    capsys.readouterr()
    reproduce("theory", out=tmp_path, redo=True, verbose=True, **STAR)
    assert capsys.readouterr().err == "1 of 1 cells, star/linear/structcomp\n"


def test_errors_say_what_is_wrong(tmp_path):
    for experiments in ("tiny", ["theory", "tiny"]):
        with pytest.raises(ValueError, match="unknown experiment 'tiny'; expected small, time-memory"):
            reproduce(experiments, out=tmp_path)
    with pytest.raises(ValueError, match="theory has no cell with 'corra' in its name"):
        reproduce("theory", out=tmp_path, only="corra")
    with pytest.raises(ValueError, match="unknown experiment"):
        reproduce("tiny", out=tmp_path / "new")
    assert tmp_path.is_dir() and not (tmp_path / "new").exists()
    with pytest.raises(ValueError, match="mode must be 'both', 'structcomp' or 'full', not 'half'"):
        reproduce("theory", out=tmp_path, mode="half")
    with pytest.raises(ValueError, match="at least one seed and one split"):
        reproduce("theory", out=tmp_path, seeds=0)
    with pytest.raises(ValueError, match="dataset cora is not in"):
        reproduce("small", out=tmp_path, data_dir=tmp_path, only="cora/sce")
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError):
        reproduce("theory", out=tmp_path / "file" / "r")


def graphsaint(folder, nodes=600, classes=4):
    """A planted partition in GraphSAINT's layout, and which nodes are for training."""
    draw = np.random.default_rng(5)
    labels = draw.integers(0, classes, nodes)
    alike = labels[:, None] == labels[None, :]
    upper = np.triu(draw.random((nodes, nodes)) < np.where(alike, 0.05, 0.005), 1)
    features = np.eye(classes)[labels] @ draw.normal(size=(classes, 16)) + 2 * draw.normal(size=(nodes, 16))
    order = draw.permutation(nodes).tolist()
    roles = {"tr": order[:300], "va": order[300:450], "te": order[450:]}
    folder.mkdir()
    scipy.sparse.save_npz(folder / "adj_full.npz", scipy.sparse.csr_matrix(upper | upper.T))
    np.save(folder / "feats.npy", features)
    (folder / "class_map.json").write_text(json.dumps({str(n): int(c) for n, c in enumerate(labels)}))
    (folder / "role.json").write_text(json.dumps(roles))


def test_flickr_in_graphsaints_layout_uses_its_own_splits(tmp_path):
    graphsaint(tmp_path / "flickr")
    cells = dict(data_dir=tmp_path, only="inductive/flickr/sce", seeds=1)
    found = reproduce("inductive", out=tmp_path / "out", **cells)
    # Flickr has 2,000 clusters; training sees no more than the 300 nodes for training.
    assert "300" in found["failed"]["flickr/sce/structcomp"], found["failed"]
    (whole,) = found["cells"]
    outcome = whole["outcome"]
    assert (whole["cell"]["mode"], found["finished"]) == ("full", 1)
    assert outcome["ours"]["mean"] > 80 > outcome["features"]["mean"], outcome
    markdown = (tmp_path / "out/results.md").read_text()
    assert "| SCE | Flickr | whole graph | 50.6 |" in markdown and "not been run" in markdown

"""Python and the command line give the same bytes and read the same files."""

import json
import subprocess

import numpy as np
import pytest
from structcomp import StructComp, diagnostics, load_dataset

SETTINGS = ["--model", "cca-ssg", "--clusters", "300", "--preset", "none", "--seed", "3", "--quiet"]


def run(cli, *args):
    return subprocess.run([cli, *map(str, args)], capture_output=True, text=True, check=True).stdout


def same_as_the_command_line(cli, data, more, tmp_path, dataset):
    ours, theirs, z_npy = tmp_path / "ours.safetensors", tmp_path / "theirs.safetensors", tmp_path / "z.npy"
    run(cli, "train", data, *SETTINGS, *more, "--out", theirs)
    model = StructComp(model="cca-ssg", n_clusters=300, random_state=3)
    z = model.fit_transform(dataset)
    assert (StructComp.load(theirs).transform(dataset) == z).all()
    model.save(ours)
    for weights in (ours, theirs):
        run(cli, "embed", data, *more, "--seed", 3, "--quiet", "--weights", weights, "--out", z_npy)
        embedded = np.load(z_npy)
        assert embedded.dtype == z.dtype and embedded.tobytes() == z.tobytes()


def test_the_demo_has_the_same_bytes(cli, tmp_path):
    same_as_the_command_line(cli, "demo", [], tmp_path, load_dataset("demo", random_state=3))


def test_cora_has_the_same_bytes(cli, data_dir, tmp_path):
    cora = load_dataset("cora", data_dir=data_dir)
    same_as_the_command_line(cli, "cora", ["--data-dir", data_dir], tmp_path, cora)


def test_cora_in_scipy_s_arrays_has_the_same_bytes(data_dir):
    sparse = pytest.importorskip("scipy.sparse")
    cora = load_dataset("cora", data_dir=data_dir)
    x = sparse.csr_array((cora.X.data, cora.X.indices, cora.X.indptr), cora.X.shape)
    a = sparse.csr_array(
        (np.ones(len(cora.graph.indices)), cora.graph.indices, cora.graph.indptr), (2708, 2708)
    )
    model = StructComp(model="cca-ssg", n_clusters=300, hidden=64, epochs=5, random_state=0)
    assert (model.fit_transform(x, adjacency=a) == model.fit_transform(cora)).all()


def test_cora_is_cora(data_dir):
    cora = load_dataset("cora", data_dir=data_dir)
    assert (cora.graph.n_nodes, cora.graph.n_edges, cora.X.shape) == (2708, 5278, (2708, 1433))
    assert sorted(np.unique(cora.y)) == list(range(7))
    [(train, validation, test)] = cora.splits["public"]
    assert (len(train), len(validation), len(test)) == (140, 500, 1000)


def test_messages_are_the_command_line_s(cli, tmp_path):
    refused = subprocess.run(
        [cli, "run", "demo", "--model", "grace", "--hidden", "0", "--quiet"], capture_output=True, text=True
    )
    with pytest.raises(ValueError) as error:
        StructComp(model="grace", hidden=0).fit("demo")
    assert refused.stderr == f"error: {error.value}\n"


def test_clusters_are_the_command_line_s(cli, tmp_path):
    from structcomp import partition, quality

    said = json.loads(
        run(cli, "partition", "demo", "--clusters", "50", "--json", "--quiet", "--out", tmp_path / "d.part")
    )
    data = load_dataset("demo")
    clusters = partition(data, 50)
    assert clusters.tolist() == [int(line) for line in (tmp_path / "d.part").read_text().split()]
    assert (partition(data, partitioner=str(tmp_path / "d.part")) == clusters).all()
    assert quality(data, clusters)["cut"] == said["partition"]["cut"]


def test_diagnostics_are_the_command_line_s(cli):
    said = json.loads(run(cli, "run", "demo", *SETTINGS, "--diagnostics", "--json"))
    data = load_dataset("demo", random_state=3)
    model = StructComp(model="cca-ssg", n_clusters=300, random_state=3).fit(data)
    assert diagnostics(model.model_, data) == said["diagnostics"]

"""X in any form gives the same embedding, and float32 in C order is not copied."""

import subprocess
import sys

import numpy as np
import pytest
from structcomp import StructComp, compress, propagate, untrained_rows

CLUSTERS = np.arange(300) // 10


@pytest.fixture(scope="module")
def halves(dense):
    """Features that every type of number can hold."""
    return np.round(4 * dense.X) / 4


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ">f4", ">f8", np.longdouble])
def test_any_type_and_order(halves, dtype):
    expected = compress(halves, CLUSTERS)
    x = halves.astype(dtype)
    assert (compress(x, CLUSTERS) == expected).all()
    assert (compress(np.asfortranarray(x), CLUSTERS) == expected).all()
    assert (compress(np.repeat(x, 2, axis=1)[:, ::2], CLUSTERS) == expected).all()
    frozen = x.copy()
    frozen.flags.writeable = False
    assert (compress(frozen, CLUSTERS) == expected).all()


def test_whole_numbers_and_lists():
    x = np.array([[1, 0], [3, 4], [8, 0]])
    for given in (x, x.tolist(), x.astype(np.uint8), x > 0):
        assert compress(given, [0, 0, 1]).shape == (2, 2)
    assert compress(x, [0, 0, 1]).tolist() == [[2, 2], [8, 0]]


def test_unaligned(halves):
    raw = np.zeros(halves.nbytes + 1, np.uint8)
    x = raw[1:].view(np.float32).reshape(halves.shape)
    x[:] = halves
    assert not x.flags.aligned
    assert (compress(x, CLUSTERS) == compress(halves, CLUSTERS)).all()


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "lil"])
def test_scipy(small, layout):
    sparse = pytest.importorskip("scipy.sparse")
    x = sparse.csr_array((small.X.data, small.X.indices, small.X.indptr), small.X.shape)
    fit = StructComp(model="sce", hidden=8, epochs=3, random_state=0).fit_transform
    expected = fit(small)
    assert (fit(x.asformat(layout), adjacency=small.graph) == expected).all()
    assert (fit(sparse.csr_matrix(x), adjacency=small.graph) == expected).all()
    assert (x.toarray() == small.X.toarray()).all()
    assert (np.asarray(small.X) == small.X.toarray()).all()


def test_torch(halves):
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(halves.copy()).requires_grad_()
    assert (compress(x, CLUSTERS) == compress(halves, CLUSTERS)).all()


@pytest.mark.parametrize("kind", ["position", "degree"])
def test_without_features(small, kind):
    model = StructComp(model="grace", stand_in=kind, stand_in_width=8, hidden=4, epochs=2, random_state=3)
    z = model.fit_transform(None, adjacency=small.graph)
    assert z.shape == (300, 4)
    assert (model.transform(None, adjacency=small.graph) == z).all()
    assert (model.transform() == z).all()


def test_an_unknown_feature_norm(dense):
    with pytest.raises(ValueError, match=r"feature_norm must be one of 'none', .*, not .l3"):
        StructComp(feature_norm="l3").fit(dense)


def test_hops_are_those_of_the_formula(dense):
    a = np.eye(300)
    for node in range(300):
        a[node, dense.graph.indices[dense.graph.indptr[node] : dense.graph.indptr[node + 1]]] = 1
    root = 1 / np.sqrt(a.sum(1))
    a_hat = root[:, None] * a * root
    np.testing.assert_allclose(propagate(dense), a_hat @ a_hat @ dense.X, atol=1e-4)


def test_float32_in_c_order_is_not_copied():
    """A copy of X would raise the peak by 400 MB."""
    program = """
import numpy as np, resource, structcomp
n, d = 200_000, 500
x = np.zeros((n, d), np.float32); x[:, 0] = np.arange(n) % 1000
nodes = np.arange(n)
graph = structcomp.as_graph((nodes[:-1], nodes[1:]), n)
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
def fit(x): structcomp.StructComp(model="sce", n_clusters=2000, hidden=2, epochs=1, n_threads=2, random_state=0,
    partitioner="random").fit(x, adjacency=graph)
before = peak(); fit(x); shared = peak() - before
y = x.astype(np.float64)
before = peak(); fit(y); copied = peak() - before
print(x.nbytes / 2**20, shared, copied)
"""
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    size, shared, copied = map(float, said.stdout.split())
    assert shared < size / 4, f"{shared:.0f} MB more for an X of {size:.0f} MB"
    assert copied > size / 2, "the measure would not see a copy"


NAMES = ["features", "hop1", "propagated", "hops_mean", "ssgc4", "ssgc16", "hops_concat", "ggcm", "slimg"]


def test_rows_without_training_are_computed_by_name(small):
    rows = {name: untrained_rows(small, name=name) for name in NAMES}
    for name, values in rows.items():
        assert len(values) == 300 and np.isfinite(values).all(), name
    x = small.X.toarray() if hasattr(small.X, "toarray") else np.asarray(small.X)
    np.testing.assert_allclose(rows["features"], x)
    np.testing.assert_allclose(rows["hop1"], propagate(small, hops=1), atol=1e-5)
    np.testing.assert_allclose(rows["propagated"], propagate(small), atol=1e-5)
    np.testing.assert_allclose(rows["hops_mean"], (x + rows["hop1"] + rows["propagated"]) / 3, atol=1e-4)
    assert (untrained_rows(small.X, small.graph, "ggcm") == rows["ggcm"]).all()
    with pytest.raises(ValueError, match="unknown control 'ssgc'; expected one of features, hop1"):
        untrained_rows(small, name="ssgc")
    with pytest.raises(ValueError, match="'encoder' needs a trained model"):
        untrained_rows(small, name="encoder")

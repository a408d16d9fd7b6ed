"""A fitted model keeps everything that embedding depends on."""

import pickle

import numpy as np
import pytest
import structcomp
from structcomp import Model, StructComp, _native, embed, generate, untrained

SMALL = dict(n_clusters=30, hidden=16, epochs=5, random_state=0)
GRACE = dict(model="grace", **SMALL)
SOLVED = dict(n_clusters=30, random_state=0)
NORMS = ["none", "row-l1", "row-l2", "standardize"]
STAND_INS = ["position", "degree"]


def part_of(data, nodes):
    """The first nodes of a dataset, with the edges between them."""
    sources, targets = edges_of(data)
    inside = (sources < nodes) & (targets < nodes)
    return data.X[:nodes], (sources[inside], targets[inside])


def edges_of(data):
    return np.repeat(np.arange(data.graph.n_nodes), np.diff(data.graph.indptr)), data.graph.indices


def scaled(norm, x, like):
    """The scaling of `like` applied to x, in numpy."""
    if norm == "standardize":
        return (x - like.mean(0)) / like.std(0)
    if norm == "none":
        return x
    return x / np.linalg.norm(x, ord=int(norm[-1]), axis=1, keepdims=True)


@pytest.mark.parametrize("norm", NORMS)
def test_transform_scales_other_nodes_by_the_statistics_of_fit(dense, norm):
    x = (dense.X * [1, 2, 3, 4, 5, 6, 7, 8] + 5).astype(np.float32)
    by_hand = StructComp(**GRACE).fit(scaled(norm, x, x), adjacency=dense.graph)
    model = StructComp(feature_norm=norm, **GRACE).fit(x, adjacency=dense.graph)
    np.testing.assert_allclose(model.embedding_, by_hand.embedding_, rtol=1e-3, atol=1e-3)

    _, edges = part_of(dense, 100)
    shifted = 2 * x[:100] + 1
    expected = by_hand.transform(scaled(norm, shifted, x), adjacency=edges)
    found = model.transform(shifted, adjacency=edges)
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
    if norm == "standardize":
        alone = by_hand.transform(scaled(norm, shifted, shifted), adjacency=edges)
        assert np.abs(found - alone).max() > 0.1, "statistics of the other graph would differ"


def ways(model, path):
    """The model after every way to store it."""
    model.save(path)
    yield StructComp.load(path)
    yield pickle.loads(pickle.dumps(model))


@pytest.mark.parametrize("name", _native.models())
@pytest.mark.parametrize("norm", NORMS)
def test_stored_models_transform_alike(dense, tmp_path, name, norm):
    more = SOLVED if name == "solved" else {**SMALL, "epochs": 2}
    given = dict(model=name, feature_norm=norm, **more)
    model = StructComp(**given).fit(dense)
    part, edges = part_of(dense, 200)
    expected = model.transform(part, adjacency=edges)
    for other in ways(model, tmp_path / "model.safetensors"):
        assert other.transform(dense).tobytes() == model.embedding_.tobytes()
        assert other.transform(part, adjacency=edges).tobytes() == expected.tobytes()
        assert other.get_params() == model.get_params()


@pytest.mark.parametrize("stand_in", STAND_INS)
@pytest.mark.parametrize("norm", NORMS)
def test_stored_models_make_the_same_features_from_the_graph(small, tmp_path, stand_in, norm):
    stored_alike_without_features(small, tmp_path, GRACE, stand_in, norm)


@pytest.mark.parametrize("stand_in", STAND_INS)
def test_the_default_model_makes_the_same_features_from_the_graph(small, tmp_path, stand_in):
    stored_alike_without_features(small, tmp_path, SOLVED, stand_in, "none")


def stored_alike_without_features(small, tmp_path, given, stand_in, norm):
    given = dict(stand_in=stand_in, stand_in_width=8, feature_norm=norm, **given)
    model = StructComp(**given).fit(None, adjacency=small.graph)
    assert model.n_features_in_ is None
    other_graph = generate(nodes=200, edges=500, random_state=1).graph
    for other in (model, *ways(model, tmp_path / "model.safetensors")):
        assert other.transform(None, adjacency=small.graph).tobytes() == model.embedding_.tobytes()
        assert other.get_params()["stand_in_width"] == 8
        if stand_in == "degree":
            expected = model.transform(None, adjacency=other_graph)
            assert other.transform(None, adjacency=other_graph).tobytes() == expected.tobytes()
        else:
            with pytest.raises(ValueError, match="another graph"):
                other.transform(None, adjacency=other_graph)
        with pytest.raises(ValueError, match="fitted on a graph without features"):
            other.transform(small)


def test_a_model_tells_what_it_is(small, tmp_path):
    model = StructComp(model="cca-ssg", lambda_=1e-3, **SMALL).fit(small).model_
    assert repr(model) == f"Model('cca-ssg', n_features={small.X.shape[1]}, n_outputs=16, epochs=5)"
    assert '"lambda":0.001' in model.settings and '"clusters":30' in model.settings
    assert '"nodes":300' in model.trained_on
    copied = pickle.loads(pickle.dumps(model))
    assert (copied.losses == model.losses).all() and (copied.partition == model.partition).all()
    model.save(tmp_path / "model.safetensors")
    loaded = Model.load(tmp_path / "model.safetensors")
    assert loaded.partition is None and len(loaded.losses) == 0
    assert (embed(loaded, small) == embed(model, small)).all()
    assert loaded.to_bytes() == model.to_bytes() == (tmp_path / "model.safetensors").read_bytes()


def test_the_untrained_model_is_that_of_no_epochs(small):
    for name in ("sce", "grace", "bgrl"):
        fitted = StructComp(model=name, **SMALL).fit(small)
        none = StructComp(model=name, **{**SMALL, "epochs": 0}).fit(small)
        control = untrained(fitted.model_, small)
        assert (embed(control, small) == none.embedding_).all()
        assert (embed(control, small) != fitted.embedding_).any()
        assert len(control.losses) == 0


def test_new_nodes_are_embedded_as_in_a_graph_that_has_them(dense):
    for given in (SOLVED, GRACE, {**GRACE, "feature_norm": "standardize"}, {**GRACE, "model": "sce"}):
        known, edges = part_of(dense, 280)
        model = StructComp(**given).fit(known, adjacency=edges)
        sources, targets = edges_of(dense)
        new = np.maximum(sources, targets) >= 280
        expected = model.transform(dense)[280:]
        for added in ((sources[new], targets[new]), np.stack([sources[new], targets[new]])):
            found = model.transform_new(dense.X[280:], added, X=known)
            assert found.tobytes() == expected.tobytes()
    with_data = StructComp(data=structcomp.Dataset(graph=edges, X=known), **GRACE).fit()
    assert with_data.transform_new(dense.X[280:], added).shape == (20, 16)


def test_new_nodes_without_edges_and_in_sparse_rows(small):
    sparse = pytest.importorskip("scipy.sparse")
    model = StructComp(model="sce", **SMALL).fit(small)
    x = sparse.csr_array((small.X.data, small.X.indices, small.X.indptr), small.X.shape)
    alone = model.transform_new(x[[7]], np.zeros((2, 0), int), X=small)
    itself = StructComp.transform(model, x[[7]], adjacency=np.zeros((1, 1)))
    assert alone.tobytes() == itself.tobytes()


def test_bad_new_nodes(dense):
    model = StructComp(**GRACE).fit(dense)
    new = dense.X[:2]
    for edges, what in (
        (([0], [1]), r"the edge \(0, 1\) must have a new node, from 300 to 301"),
        (([0], [302]), "invalid node 302 in an edge: there are 302 nodes"),
        (([0, 300], [300, -1]), "invalid node -1 in an edge"),
        (np.full((302, 302), 0.5), "cannot have weights"),
    ):
        with pytest.raises(ValueError, match=what):
            model.transform_new(new, edges, X=dense)
    with pytest.raises(ValueError, match="the new nodes have 3 features, but those of the graph have 8"):
        model.transform_new(new[:, :3], ([0], [300]), X=dense)
    with pytest.raises(ValueError, match="new nodes need features"):
        model.transform_new(new, ([0], [300]), adjacency=dense.graph)
    with pytest.raises(ValueError, match="X_new must have two dimensions"):
        model.transform_new(new[0], ([0], [300]), X=dense)
    with pytest.raises(ValueError, match="not fitted"):
        StructComp().transform_new(new, ([0], [300]))

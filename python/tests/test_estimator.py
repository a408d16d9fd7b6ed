"""The estimator: what it returns, and how its parameters work."""

import copy
import inspect
import json
import pickle

import numpy as np
import pytest
import structcomp
from structcomp import StructComp, _native

SMALL = dict(n_clusters=30, hidden=16, epochs=5, random_state=0)
GRACE = dict(model="grace", **SMALL)
TRAINED = [name for name in _native.models() if name != "solved"]


@pytest.mark.parametrize("model", TRAINED)
def test_every_trained_model_returns_what_is_documented(small, model):
    fitted = StructComp(model=model, **SMALL).fit(small)
    assert fitted.embedding_.shape == (300, 16) and fitted.embedding_.dtype == np.float32
    assert np.isfinite(fitted.embedding_).all()
    assert fitted.loss_history_.shape == (5,)
    assert fitted.partition_.shape == (300,) and set(fitted.partition_) == set(range(30))
    assert fitted.n_features_in_ == small.X.shape[1]
    assert (fitted.transform(small) == fitted.embedding_).all()
    assert (StructComp(model=model, **SMALL).fit_transform(small) == fitted.embedding_).all()


def test_the_ten_percent_rule(small):
    model = StructComp(**{**GRACE, "n_clusters": None}).fit(small)
    assert model.partition_.max() + 1 == 30


def test_threads_and_order_of_x_change_nothing(small):
    whole = StructComp(**GRACE).fit_transform(small)
    for n_threads in (1, 2, 5):
        assert (StructComp(n_threads=n_threads, **GRACE).fit_transform(small) == whole).all()


def test_seeds(small):
    fit = lambda seed: StructComp(**{**GRACE, "random_state": seed}).fit(small)
    assert (fit(1).embedding_ != fit(2).embedding_).any()
    assert (fit(np.int64(1)).embedding_ == fit(1).embedding_).all()
    drawn = fit(None)
    assert (fit(drawn.seed_).embedding_ == drawn.embedding_).all()
    np.random.seed(5)
    first = fit(None).seed_
    np.random.seed(5)
    assert fit(None).seed_ == first
    assert fit(np.random.default_rng(3)).seed_ == fit(np.random.default_rng(3)).seed_
    assert fit(np.random.RandomState(3)).seed_ == fit(np.random.RandomState(3)).seed_
    assert fit(2**64 - 1).seed_ == 2**64 - 1


def test_the_stages_are_the_estimator(small):
    model = StructComp(model="cca-ssg", **SMALL).fit(small)
    clusters = structcomp.partition(small, 30, random_state=0)
    trained = structcomp.train(small, clusters=clusters, model="cca-ssg", hidden=16, epochs=5, random_state=0)
    assert (clusters == model.partition_).all() and (clusters == trained.partition).all()
    assert (trained.losses == model.loss_history_).all()
    assert (structcomp.embed(trained, small) == model.embedding_).all()


def test_full_graph_training(small):
    model = StructComp(model="grace", mode="full", hidden=8, epochs=3, random_state=0).fit(small)
    assert model.partition_ is None and model.embedding_.shape == (300, 8)
    trained = structcomp.train(small, model="grace", hidden=8, epochs=3)
    assert (structcomp.embed(trained, small) == model.embedding_).all()


@pytest.mark.parametrize(
    "mode, settings",
    [
        ("cluster-gcn", {"n_clusters": 12, "batch_clusters": 4}),
        ("graphsaint", {"sampler": "node", "budget": 90, "coverage": 10}),
        ("graphzoom", {"levels": 1, "fusion_neighbors": 0}),
    ],
)
def test_other_modes(small, tmp_path, mode, settings):
    model = StructComp(model="grace", mode=mode, hidden=8, epochs=3, random_state=0, **settings).fit(small)
    assert model.embedding_.shape == (300, 8) and len(model.loss_history_) == 3
    assert (model.partition_ is None) == (mode == "graphsaint")
    model.save(tmp_path / "model.safetensors")
    loaded = StructComp.load(tmp_path / "model.safetensors")
    assert loaded.get_params()["mode"] == mode and settings.items() <= loaded.get_params().items()
    assert (loaded.transform(small) == model.embedding_).all()
    # `train` gets its clusters.
    given = dict(settings)
    n_clusters = given.pop("n_clusters", None)
    clusters = n_clusters and structcomp.partition(small, n_clusters)
    trained = structcomp.train(
        small, clusters=clusters, model="grace", mode=mode, hidden=8, epochs=3, **given
    )
    assert (structcomp.embed(trained, small) == model.embedding_).all()
    with pytest.raises(ValueError, match="the solved model needs clusters"):
        StructComp(mode=mode).fit(small)


def test_objects_with_both_features_and_graph(dense):
    expected = StructComp(**GRACE).fit_transform(dense.X, adjacency=dense.graph)
    edges = np.array([dense.graph.indices, np.repeat(np.arange(300), np.diff(dense.graph.indptr))])

    class Data:
        x, edge_index, num_nodes = dense.X, edges, 300

    class Dgl:
        ndata = {"feat": dense.X}
        edges = lambda self: (edges[0], edges[1])
        num_nodes = lambda self: 300

    sparse = (dense.graph.indptr, dense.graph.indices, None)
    for z in (
        StructComp(**GRACE).fit_transform(Data()),
        StructComp(**GRACE).fit_transform(Dgl()),
        StructComp(**GRACE).fit_transform(dense.X, adjacency=edges),
        StructComp(**GRACE).fit_transform(dense.X.tolist(), adjacency=sparse),
        StructComp(**GRACE).fit_transform(dense.X, adjacency=Data()),
    ):
        assert (z == expected).all()


def test_new_nodes(dense):
    """A node with the features and neighbours of another is embedded as that one."""
    model = StructComp(**GRACE).fit(dense)
    ends = np.array([dense.graph.indices, np.repeat(np.arange(300), np.diff(dense.graph.indptr))])
    near = dense.graph.indices[dense.graph.indptr[7] : dense.graph.indptr[8]]
    more = np.hstack([ends, [np.full(len(near), 300), near]])
    z = model.transform(np.vstack([dense.X, dense.X[7]]), adjacency=more)
    assert z.shape == (301, 16)
    np.testing.assert_allclose(z[300], z[7], atol=1e-5)
    far = np.setdiff1d(np.arange(300), np.append(near, 7))
    unchanged = [
        v
        for v in far
        if not np.isin(dense.graph.indices[dense.graph.indptr[v] : dense.graph.indptr[v + 1]], near).any()
    ]
    assert (z[unchanged] == model.embedding_[unchanged]).mean() > 0.99


def test_node_numbers_with_the_parameter_data(dense):
    model = StructComp(data=dense, **GRACE)
    z = model.fit_transform(np.array([[5], [7]]))
    assert z.shape == (2, 16) and model.embedding_.shape == (300, 16)
    assert (model.embedding_ == StructComp(**GRACE).fit_transform(dense)).all()
    assert (model.transform([7, 5, 5]) == z[[1, 0, 0]]).all()
    assert (model.transform() == model.embedding_).all()
    for bad, message in (
        ([300], "X has node numbers from 300"),
        ([-1], "X has node numbers from -1"),
        ([0.5], "X must hold node numbers"),
        ([[1, 2]], "X must hold node numbers"),
    ):
        with pytest.raises(ValueError, match=message):
            model.transform(bad)
    with pytest.raises(ValueError, match="leave out adjacency"):
        model.fit([0], adjacency=dense.graph)


def test_save_and_load(small, tmp_path):
    given = dict(model="grace", tau=0.4, layers=2, drop_member="bernoulli", **SMALL)
    model = StructComp(**given).fit(small)
    path = tmp_path / "w.safetensors"
    model.save(path)
    loaded = StructComp.load(path)
    assert (loaded.transform(small) == model.embedding_).all()
    assert loaded.get_params() == model.get_params()
    with pytest.raises(ValueError, match="the graph is missing"):
        loaded.transform(small.X)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies(small, way):
    model = StructComp(**GRACE).fit(small)
    other = way(model)
    assert (other.transform(small) == model.embedding_).all()
    assert (other.transform(small.X) == model.embedding_).all()
    assert (other.embedding_ == model.embedding_).all()
    assert other.get_params() == model.get_params()
    assert other.graph_.repairs["isolated"] == model.graph_.repairs["isolated"]
    data = way(small)
    assert (StructComp(**GRACE).fit_transform(data) == model.embedding_).all()


def test_the_defaults_are_the_library_s():
    library = json.loads(_native.defaults(inspect.signature(StructComp).parameters["model"].default))
    ours = inspect.signature(StructComp).parameters
    # A seed is drawn.
    shared = {name for name in {*ours} & {*library} - {"random_state"} if ours[name].default is not None}
    assert shared >= {"hidden", "layers", "epochs", "partitioner", "mode", "feature_norm"}
    assert {name: ours[name].default for name in shared} == {name: library[name] for name in shared}


def test_parameters_are_kept():
    model = StructComp(tau=0.3, n_clusters=7)
    assert model.get_params()["tau"] == 0.3
    assert repr(model) == "StructComp(n_clusters=7, tau=0.3)"
    assert StructComp().get_params()["tau"] is None
    assert model.set_params(tau=0.2, hidden=9).tau == 0.2
    assert StructComp(**model.get_params()).get_params() == model.get_params()
    assert all(p.kind is p.KEYWORD_ONLY for p in inspect.signature(StructComp).parameters.values())


def test_every_setting_of_the_library_is_a_parameter(small):
    taken = {*GRACE, "model", "max_size", "n_clusters"}
    for model in [*TRAINED, "solved"]:
        for name, value in json.loads(_native.defaults(model)).items():
            if name not in taken:
                taken.add(name)
                given = {"n_clusters": 30} if model == "solved" else {**SMALL, "epochs": 1}
                StructComp(**{**given, "model": model, name: value}).fit(small)
    assert {"width", "directions", "draws", "weights"} <= taken


def test_parameters_do_what_they_say(small):
    plain = StructComp(**GRACE).fit(small)
    for name, value in (
        ("tau", 0.9),
        ("layers", 2),
        ("drop_member", "bernoulli"),
        ("optimizer", "adam-w"),
        ("refine", "objective"),
    ):
        try:
            other = StructComp(**GRACE, **{name: value}).fit(small)
        except ValueError as error:
            assert "must be" not in str(error), error
            raise
        assert (other.embedding_ != plain.embedding_).any(), name


def test_parameters_with_parts(small):
    given = dict(model="coles", coarse={"weights": "count", "self_loops": False}, **SMALL)
    assert (
        StructComp(**given).fit_transform(small) != StructComp(model="coles", **SMALL).fit_transform(small)
    ).any()
    with pytest.raises(ValueError, match="coarse: unknown field `loops`"):
        StructComp(**{**given, "coarse": {"loops": 1}}).fit(small)


def test_models_with_state_of_their_own(small):
    given = dict(model="sp-gcl", layers=2, dropout=0.2, **SMALL)
    trained = StructComp(**given).fit(small)
    renormed = StructComp(**given, renormalize=False).fit(small)
    assert (trained.loss_history_ == renormed.loss_history_).all()
    assert (trained.embedding_ != renormed.embedding_).any()
    again = pickle.loads(pickle.dumps(trained.model_))
    assert (structcomp.embed(again, small) == trained.embedding_).all()
    glorot = StructComp(**given, initial="glorot").fit(small)
    assert (glorot.loss_history_ != trained.loss_history_).any() and glorot.get_params()[
        "initial"
    ] == "glorot"
    with pytest.raises(ValueError, match="initial must be 'linear' or 'glorot', not"):
        StructComp(**given, initial="zeros").fit(small)
    full = StructComp(model="dgi", mode="full", patience=2, hidden=16, epochs=40, random_state=0).fit(small)
    assert full.loss_history_.argmin() in (len(full.loss_history_) - 3, 39)


def test_presets():
    given = structcomp.preset("cca-ssg", "cora", paper=True)
    assert given == {"epochs": 20, "layers": 2, "model": "cca-ssg", "n_clusters": 300}
    assert StructComp(**given).n_clusters == 300
    assert structcomp.preset("sce", "mine") is None
    with pytest.raises(ValueError, match="unknown model 'gcn'"):
        structcomp.preset("gcn", "cora")


def test_evaluate(small):
    z = StructComp(**GRACE).fit_transform(small)
    result = structcomp.evaluate(z, small.y, runs=5, clustering=True)
    assert result["runs"] == 5 and result["per_split"].shape == (5,)
    assert abs(result["per_split"].mean() - result["mean"]) < 1e-9
    assert result["mean"] > 50 and -1 <= result["ari"] <= 1
    train = np.zeros(300, bool)
    train[::2] = True
    names = np.array(["bird", "cat", "dog", "eel", "fox", "gnu", "hen"], object)[small.y]
    for y in (names, names.astype(str), names.tolist()):
        assert structcomp.evaluate(z, y, runs=5)["per_split"].tolist() == result["per_split"].tolist()
    masks = structcomp.evaluate(z, small.y, splits=[(train, ~train)])
    numbers = structcomp.evaluate(z, small.y, splits=[(np.flatnonzero(train), np.flatnonzero(~train))])
    assert masks["mean"] == numbers["mean"]


def test_labels_that_are_missing():
    z = [[-2.0], [2.0], [-1.0], [1.0], [9.0]]
    for missing in (None, float("nan"), ""):
        y = ["b", "a", "b", "a", missing]
        assert structcomp.evaluate(z, y, splits=[([0, 1], [2, 3, 4])])["mean"] == 100.0
    with pytest.raises(ValueError, match="labels must be integers or names of classes"):
        structcomp.evaluate(z, ["a", 1.5, "b", "a", "b"])
    assert structcomp.quality([(0, 1), (1, 2), (2, 3)], [0, 0, 1, 1], ["x", "x", "y", "x"])["purity"] == 0.75


def test_transform_takes_the_x_of_fit_in_any_form(dense):
    """Dense or sparse, it has the same digest; and by name, features may have changed."""
    sparse = pytest.importorskip("scipy.sparse")
    model = StructComp(**GRACE).fit(dense)
    assert (model.transform(sparse.csr_array(dense.X), adjacency=None).shape) == (300, 16)
    assert (model.transform(dense.X.astype(float)) == model.embedding_).all()
    with pytest.raises(ValueError, match="X is not the X of fit"):
        model.transform(dense.X + 1)
    with pytest.raises(ValueError, match="X is not the X of fit"):
        model.transform_new(dense.X[:1], ([300], [0]), X=dense.X + 1)
    pandas = pytest.importorskip("pandas")
    names = [f"node {at}" for at in range(300)]
    sources = np.repeat(np.arange(300), np.diff(dense.graph.indptr))
    edges = [(names[u], names[v]) for u, v in zip(sources, dense.graph.indices)]
    frame = pandas.DataFrame(dense.X, index=names)
    named = StructComp(**GRACE).fit(frame, adjacency=edges)
    assert (named.transform(frame + 1).shape) == (300, 16)


def test_threads_as_in_joblib(small):
    z = StructComp(**GRACE).fit_transform(small)
    for n_threads in (-1, -2, -1000):
        assert (StructComp(n_threads=n_threads, **GRACE).fit_transform(small) == z).all()


def test_quality():
    measures = structcomp.quality(
        [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 3)], [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1]
    )
    assert (measures["cut"], measures["clusters"], measures["largest"]) == (1.0, 2, 3)
    assert measures["purity"] == pytest.approx(5 / 6)


def test_node_weights():
    path = [(0, 1), (1, 2), (2, 3)]
    a, *rest = structcomp.partition(path, 2, node_weights=[3, 1, 1, 1], max_size=3)
    assert a not in rest and len(set(rest)) == 1
    with pytest.raises(ValueError, match="got 3 node weights for 4 nodes"):
        structcomp.partition(path, 2, node_weights=[3, 1, 1])


def test_our_presets_train(small):
    ours = structcomp.preset("cca-ssg", "cora")
    assert ours["encoder"] == "sgc" and ours["activation"] == "none"
    given = {**ours, "hidden": 16, "epochs": 3, "n_clusters": 20}
    assert StructComp(**given, random_state=0).fit_transform(small).shape == (300, 16)

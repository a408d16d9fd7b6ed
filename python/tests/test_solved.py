"""The default model, which is solved and not trained."""

import json
import pickle

import numpy as np
import pytest
import structcomp
from structcomp import StructComp, evaluate, generate, propagate, untrained

SEED = dict(random_state=0)
#: Fewer directions, for speed.
FEW = dict(directions=64, random_state=0)


def part_of(data, nodes):
    """The first nodes of a dataset, with the edges between them."""
    sources = np.repeat(np.arange(data.graph.n_nodes), np.diff(data.graph.indptr))
    inside = (sources < nodes) & (data.graph.indices < nodes)
    return data.X[:nodes], (sources[inside], data.graph.indices[inside])


def test_the_default_is_solved(small):
    model = StructComp(**SEED).fit(small)
    assert model.get_params()["model"] == "solved"
    assert json.loads(model.model_.parameters) == {"model": "solved"}
    z = model.embedding_
    assert z.dtype == np.float32 and np.isfinite(z).all()
    assert z.shape == (300, 256) == (300, model.model_.n_outputs)
    assert len(model.get_feature_names_out()) == 256
    assert model.loss_history_.shape == (0,)
    assert set(model.partition_) == set(range(30))
    assert model.n_features_in_ == small.X.shape[1]
    assert (model.transform(small) == z).all()
    assert (StructComp(**SEED).fit_transform(small.X, adjacency=small.graph) == z).all()


def test_it_is_better_than_the_features():
    data = generate(nodes=1000, edges=3000)
    mean = lambda x: evaluate(x, data.y, runs=5)["mean"]
    z = StructComp(**FEW).fit_transform(data)
    assert mean(z) > mean(data.X) + 5 and mean(z) > mean(propagate(data))


def test_width_is_the_most_that_there_can_be(small, dense):
    assert StructComp(width=40, **FEW).fit_transform(small).shape == (300, 40)
    # Four parts of 8 features, 128 positions, two sizes.
    assert StructComp(**SEED).fit_transform(dense).shape[1] <= 4 * 8 + 128 + 2
    assert StructComp(weights=[1, 0, 1, 1, 0, 0], directions=4, **SEED).fit_transform(dense).shape[1] <= 3 * 4


def test_settings_of_its_own_change_it(small):
    usual = StructComp(width=40, **FEW).fit_transform(small)
    for given in (
        {"weights": [0, 0, 0, 1, 0, 0]},
        {"weights": (0.2, 0, 0.5, 0.3, 0, 0.1)},
        {"directions": 60},
        {"draws": 1},
    ):
        model = StructComp(**{"width": 40, **FEW, **given}).fit(small)
        assert not np.array_equal(model.embedding_, usual), given
        again = pickle.loads(pickle.dumps(model))
        assert (again.transform(small) == model.embedding_).all()


def test_weights_count_relative_to_each_other(small):
    fit = lambda weights: StructComp(weights=weights, **FEW).fit_transform(small)
    assert (fit([1, 1, 2, 1, 0, 1]) == fit(np.array([2.0, 2.0, 4.0, 2.0, 0.0, 2.0]))).all()


def test_features_alone_do_not_see_the_graph(dense):
    model = StructComp(weights=[1, 0, 0, 0, 0, 0], **SEED).fit(dense)
    alone = model.transform(dense.X, adjacency=np.zeros((300, 300)))
    np.testing.assert_allclose(alone, model.embedding_, atol=1e-5)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_threads_change_nothing(small, n_threads):
    expected = StructComp(**FEW).fit_transform(small)
    assert StructComp(n_threads=n_threads, **FEW).fit_transform(small).tobytes() == expected.tobytes()


def test_another_graph_and_new_nodes(dense, tmp_path):
    known, edges = part_of(dense, 280)
    model = StructComp(**SEED).fit(known, adjacency=edges)
    everything = model.transform(dense)
    assert everything.shape == (300, model.embedding_.shape[1])
    sources = np.repeat(np.arange(300), np.diff(dense.graph.indptr))
    new = np.maximum(sources, dense.graph.indices) >= 280
    added = model.transform_new(dense.X[280:], (sources[new], dense.graph.indices[new]), X=known)
    assert added.tobytes() == everything[280:].tobytes()
    model.save(tmp_path / "model.safetensors")
    for other in (StructComp.load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        assert other.transform(dense).tobytes() == everything.tobytes()
        assert other.get_params() == model.get_params()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hidden": 64}, "the solved model is not trained, so hidden would have no effect"),
        ({"epochs": 5, "hidden": 64}, "so epochs, hidden would have no effect; choose another model, or set"),
        ({"learning_rate": 0.1}, "learning_rate would have no effect"),
        ({"dropout": 0.5}, "dropout would have no effect"),
        ({"tau": 0.5}, "the model solved has no parameter 'tau'"),
        ({"mode": "full"}, "the solved model needs clusters"),
        ({"width": 0}, "width must be from 1 to 4096, not 0"),
        ({"directions": 5000}, "directions must be from 1 to 4096, not 5000"),
        ({"draws": 0}, "draws must be from 1 to 1000, not 0"),
        ({"weights": [0] * 6}, "weights must be six numbers of 0 or more, not all 0"),
        ({"weights": [-1, 1, 1, 1, 1, 1]}, "weights must be six numbers of 0 or more"),
        ({"weights": [1, 1]}, "weights must be a list of 6 values, not"),
        ({"weights": "all"}, "weights must be a list of 6 values, not"),
        ({"model": "grace", "width": 64}, "the model grace has no parameter 'width'"),
    ],
)
def test_what_does_not_apply_is_an_error(small, parameters, message):
    with pytest.raises(ValueError, match=message):
        StructComp(**parameters, **SEED).fit(small)


def test_it_has_no_trained_weights(small):
    model = StructComp(**FEW).fit(small).model_
    with pytest.raises(ValueError, match="the solved model has no initial weights"):
        untrained(model, small)
    with pytest.raises(ValueError, match="the model was solved, not trained; it has no layers of weights"):
        structcomp.diagnostics(model, small)


def test_train_needs_its_clusters(small):
    model = StructComp(**FEW).fit(small)
    found = structcomp.train(small, clusters=model.partition_, directions=64)
    assert (structcomp.embed(found, small) == model.embedding_).all()
    with pytest.raises(ValueError, match="the solved model needs clusters; pass clusters, or"):
        structcomp.train(small)


def test_there_are_no_epochs_to_show(small, capsys):
    heard = []
    StructComp(verbose=True, callback=lambda *epoch: heard.append(epoch), **FEW).fit(small)
    assert capsys.readouterr().err == "" and heard == []

"""Inside scikit-learn."""

import warnings

import numpy as np
import pytest
from structcomp import Dataset, StructComp, as_graph

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator
from sklearn.utils.validation import check_is_fitted

GRACE = dict(model="grace", n_clusters=30, hidden=16, epochs=5, random_state=0)


def test_clone_and_fitted():
    model = StructComp(tau=0.3, **GRACE)
    assert clone(model).get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(model)
    with pytest.raises(NotFittedError):
        model.transform(np.eye(3))


def test_a_pipeline_with_the_graph_in_fit(dense):
    pipeline = make_pipeline(StructComp(**GRACE), LogisticRegression(max_iter=1000))
    pipeline.fit(dense.X, dense.y, structcomp__adjacency=dense.graph)
    assert pipeline.score(dense.X, dense.y) > 0.5


def test_a_search_over_node_numbers(dense):
    nodes = np.arange(300).reshape(-1, 1)
    pipeline = make_pipeline(StructComp(data=dense, **GRACE), LogisticRegression(max_iter=1000))
    search = GridSearchCV(pipeline, {"structcomp__n_clusters": [20, 40], "structcomp__tau": [0.3, 0.5]}, cv=3)
    search.fit(nodes, dense.y)
    assert search.best_score_ > 0.5
    assert len(cross_val_score(pipeline, nodes, dense.y, cv=3)) == 3
    assert clone(pipeline)[0].data is dense, "copies share the data"


class OnAPath(StructComp):
    """With the rows of X joined to a path, so that scikit-learn's checks can call it."""

    def fit(self, X, y=None, adjacency=None, ids=None):
        return super().fit(X, adjacency=path_of(X))

    def fit_transform(self, X, y=None):
        return super().fit_transform(X, adjacency=path_of(X))

    def transform(self, X):
        return super().transform(X, adjacency=path_of(X))


def path_of(X):
    shape = (X if hasattr(X, "shape") else np.asarray(X)).shape
    rows = shape[0] if shape else 0
    return as_graph((np.arange(max(rows - 1, 0)), np.arange(1, rows)), rows)


ONE_CLUSTER = "the check uses one cluster, but contrast needs two"

#: Checks of scikit-learn's that do not hold for a graph, as `check_estimator` takes them.
EXPECTED_FAILURES = {
    "check_dont_overwrite_parameters": ONE_CLUSTER,
    "check_dtype_object": "features must be numbers, not objects",
    "check_estimators_empty_data_messages": "the message is about a graph without nodes",
    "check_fit2d_1feature": ONE_CLUSTER,
    "check_fit2d_1sample": ONE_CLUSTER,
    "check_fit2d_predict1d": ONE_CLUSTER,
    "check_methods_sample_order_invariance": "rows in another order are another graph",
    "check_methods_subset_invariance": "a node's embedding depends on its neighbours, which a subset lacks",
}


def test_scikit_learn_s_checks():
    estimator = OnAPath(model="cca-ssg", n_clusters=3, hidden=4, epochs=2, n_threads=1)
    with warnings.catch_warnings():
        # It is not a BaseEstimator, since scikit-learn is not imported.
        warnings.simplefilter("ignore", UserWarning)
        results = check_estimator(
            estimator, on_fail=None, on_skip=None, expected_failed_checks=EXPECTED_FAILURES
        )
    found = {result["check_name"]: result for result in results}
    wrong = {
        name: repr(result["exception"]) for name, result in found.items() if result["status"] == "failed"
    }
    assert wrong == {}
    expected = {name for name, result in found.items() if result["status"] == "xfail"}
    assert expected == {*EXPECTED_FAILURES}, "a check that passes is no exception"
    assert len(found) > 35


def test_tables_as_output(dense):
    pandas = pytest.importorskip("pandas")
    model = StructComp(**GRACE)
    z = model.fit_transform(dense)
    model.set_output(transform="pandas")
    found = model.transform(dense)
    assert isinstance(found, pandas.DataFrame) and (found.to_numpy() == z).all()
    assert found.columns.tolist() == model.get_feature_names_out().tolist()
    names = [f"node {at}" for at in range(300)]
    sources = np.repeat(np.arange(300), np.diff(dense.graph.indptr))
    edges = [(names[u], names[v]) for u, v in zip(sources, dense.graph.indices)]
    named = model.fit_transform(dense.X, adjacency=edges, ids=names)
    assert named.index.tolist() == names and (named.to_numpy() == z).all()
    nodes = StructComp(data=Dataset(graph=edges, X=dense.X, ids=names), **GRACE).set_output(
        transform="pandas"
    )
    assert nodes.fit_transform([7, 3]).index.tolist() == ["node 7", "node 3"]
    polars = pytest.importorskip("polars")
    assert isinstance(model.set_output(transform="polars").transform(dense), polars.DataFrame)
    assert isinstance(clone(model).fit_transform(dense), polars.DataFrame)
    assert isinstance(model.set_output(transform="default").transform(dense), np.ndarray)
    with sklearn.config_context(transform_output="pandas"):
        assert isinstance(StructComp(**GRACE).fit_transform(dense), pandas.DataFrame)
    with pytest.raises(ValueError, match="transform must be 'default', 'pandas' or 'polars', not 'arrow'"):
        model.set_output(transform="arrow")


def test_names_of_features(dense):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(dense.X, columns=list("abcdefgh"))
    model = StructComp(**GRACE).fit(frame, adjacency=dense.graph)
    assert model.feature_names_in_.tolist() == list("abcdefgh")
    model.transform(frame)
    with pytest.raises(ValueError, match="same order as they were in fit"):
        model.transform(frame[list("bacdefgh")], adjacency=dense.graph)
    with pytest.raises(ValueError, match="unseen at fit time:\n- z"):
        model.transform(frame.rename(columns={"a": "z"}), adjacency=dense.graph)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.transform(dense.X, adjacency=dense.graph)
    assert not hasattr(model.fit(dense), "feature_names_in_")


def test_the_graph_is_routed_to_another_graph(dense):
    """Fitted on one graph, a pipeline predicts the nodes of another, which comes with the call."""
    model = StructComp(**GRACE)
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        model.set_fit_request(adjacency=True)
    small = np.flatnonzero(np.arange(300) < 200)
    edges = np.array([np.repeat(np.arange(300), np.diff(dense.graph.indptr)), dense.graph.indices])
    inner = edges[:, (edges < 200).all(0)]
    with sklearn.config_context(enable_metadata_routing=True):
        model.set_fit_request(adjacency=True).set_transform_request(adjacency=True)
        pipeline = make_pipeline(clone(model), LogisticRegression(max_iter=1000))
        pipeline.fit(dense.X[small], dense.y[small], adjacency=as_graph(inner, 200))
        predicted = pipeline.predict(dense.X, adjacency=dense.graph)
        assert predicted.shape == (300,) and (predicted == dense.y).mean() > 0.5
        expected = pipeline[0].transform(dense.X, adjacency=dense.graph)
        assert (pipeline[1].predict(expected) == predicted).all()
        with pytest.raises(ValueError, match="X is not the X of fit"):
            pipeline.predict(dense.X)


def test_data_with_plain_arrays(dense):
    data = Dataset(graph=(dense.graph.indptr, dense.graph.indices, None), X=dense.X, y=dense.y)
    assert (StructComp(**GRACE).fit_transform(data) == StructComp(**GRACE).fit_transform(dense)).all()

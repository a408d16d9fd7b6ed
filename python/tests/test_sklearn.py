"""Inside scikit-learn."""

import warnings

import numpy as np
import pytest
from structcomp import Dataset, StructComp, as_graph

pytest.importorskip("sklearn")
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator
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

    def fit(self, X, y=None):
        return super().fit(X, adjacency=path_of(X))

    def fit_transform(self, X, y=None):
        return self.fit(X, y).embedding_

    def transform(self, X):
        return super().transform(X, adjacency=path_of(X))


def path_of(X):
    shape = (X if hasattr(X, "shape") else np.asarray(X)).shape
    rows = shape[0] if shape else 0
    return as_graph((np.arange(max(rows - 1, 0)), np.arange(1, rows)), rows)


ONE_CLUSTER = "the check uses one cluster, but contrast needs two"

#: Why a check of scikit-learn's does not hold for a graph.
EXCEPTIONS = {
    "check_do_not_raise_errors_in_init_or_set_params": "an unknown parameter is an error at once",
    "check_dont_overwrite_parameters": ONE_CLUSTER,
    "check_dtype_object": "features must be numbers, not objects",
    "check_estimators_empty_data_messages": "the message is about a graph without nodes",
    "check_fit2d_1feature": ONE_CLUSTER,
    "check_fit2d_1sample": ONE_CLUSTER,
    "check_fit2d_predict1d": ONE_CLUSTER,
    "check_methods_sample_order_invariance": "rows in another order are another graph",
    "check_methods_subset_invariance": "a node's embedding depends on its neighbours, which a subset lacks",
}


def estimator():
    return OnAPath(model="cca-ssg", n_clusters=3, hidden=4, epochs=2, n_threads=1)


with warnings.catch_warnings():
    # It is not a BaseEstimator, since scikit-learn is not imported.
    warnings.simplefilter("ignore", UserWarning)
    CHECKS = {
        getattr(check, "func", check).__name__: (model, check)
        for model, check in estimator_checks_generator(estimator())
    }


@pytest.mark.parametrize("name", CHECKS)
def test_scikit_learn_s_checks(name):
    model, check = CHECKS[name]
    if name in EXCEPTIONS:
        try:
            check(model)
        except (Exception, pytest.skip.Exception):
            pytest.skip(EXCEPTIONS[name])
        else:
            pytest.fail(f"{name} passes, so it is not an exception")
    check(model)


def test_data_with_plain_arrays(dense):
    data = Dataset(graph=(dense.graph.indptr, dense.graph.indices, None), X=dense.X, y=dense.y)
    assert (StructComp(**GRACE).fit_transform(data) == StructComp(**GRACE).fit_transform(dense)).all()

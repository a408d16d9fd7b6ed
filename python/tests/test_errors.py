"""Bad input raises an exception with a clear message, and never ends the interpreter."""

import numpy as np
import pytest
import structcomp
from structcomp import Model, StructComp, as_graph, evaluate, load_dataset, partition, quality
from structcomp._features import as_features

X = np.eye(6, dtype=np.float32)
PATH = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def fit(x=X, adjacency=PATH, **parameters):
    given = dict(model="grace", n_clusters=3, hidden=4, epochs=2, random_state=0)
    return StructComp(**{**given, **parameters}).fit(x, adjacency=adjacency)


def changed(value, dtype=np.float32):
    x = X.astype(dtype)
    x[2, 1] = value
    return x


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (changed(np.nan), "row 2, column 1 is NaN"),
        (changed(np.inf), "row 2, column 1 is inf"),
        (changed(1e300, np.float64), "row 2, column 1 is inf"),
        (X[:5], "features have 5 rows but the graph has 6 nodes"),
        (X.astype(object), "X must be numbers, not object"),
        (X.astype(str), "X must be numbers, not <U"),
        (X.astype(complex), "Complex data not supported"),
        (X[0], "Reshape your data"),
        (X[None], "Reshape your data"),
        (np.zeros((6, 0), np.float32), "there are no features to train on"),
        ("X.npy", "no such file"),
    ],
)
def test_features(x, message):
    with pytest.raises(ValueError, match=message):
        fit(x, as_graph(PATH))


def test_sparse_features():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="row 2, column 1 is NaN"):
        fit(sparse.csr_array(changed(np.nan)))
    broken = sparse.csr_array(X)
    broken.indices[3] = 9
    with pytest.raises(ValueError, match="column 9 in a matrix of 6 columns"):
        fit(broken)
    broken.indices[3] = -2
    with pytest.raises(ValueError, match="invalid sparse matrix: negative index -2"):
        fit(broken)


def test_the_graph_is_missing():
    with pytest.raises(ValueError, match=r"fit\(X, adjacency=A\)"):
        StructComp().fit(X)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"model": "gcn"}, "unknown model 'gcn'; models are solved, sce, coles, grace, cca-ssg, dgi, ggd"),
        ({"model": 7}, "an objective must be a function, not 7"),
        ({"model": "own"}, "a custom model needs a loss"),
        ({"hidden": 0}, "hidden must be at least 1"),
        ({"hidden": -1}, "hidden must be an integer of at least 0, not -1"),
        ({"hidden": 2.5}, "hidden must be an integer of at least 0, not 2.5"),
        ({"hidden": "wide"}, 'hidden must be an integer of at least 0, not "wide"'),
        ({"layers": 0}, "layers must be at least 1"),
        ({"learning_rate": 0}, "learning_rate must be above 0"),
        ({"learning_rate": np.nan}, "learning_rate must be a finite number, not nan"),
        ({"weight_decay": -1e-3}, "weight_decay must be 0 or more"),
        ({"model": "grace", "tau": 0}, "tau must be above 0, not 0"),
        ({"model": "sce", "tau": 0.5}, "the model sce has no parameter 'tau'"),
        ({"model": "cca-ssg", "lambda_": -1}, "lambda must be above 0, not -1"),
        ({"model": "ggd", "mask": 1.5}, "mask must be from 0 to below 1, not 1.5"),
        ({"model": "sp-gcl", "batch": 0}, "batch must be from 1 to 1000000, not 0"),
        ({"model": "contrast-reg", "contrast": "xl"}, 'contrast must be .*, not "xl"'),
        ({"model": "dgi", "dropout": 1}, "dropout must be from 0 to below 1"),
        ({"model": "dgi", "renormalize": True}, "renormalize needs batch norm"),
        ({"optimizer": "sgd"}, "optimizer must be 'adam' or 'adam-w', not \"sgd\""),
        ({"activation": object()}, "invalid value for activation: <object"),
        ({"n_clusters": 0}, "the number of clusters must be at least 1"),
        ({"n_clusters": 7}, "cannot split 6 nodes into 7 non-empty clusters"),
        (
            {"n_clusters": 1},
            "contrastive training needs at least 2 rows, clusters or nodes, in a batch, but there is 1; ask for more",
        ),
        ({"n_clusters": "many"}, "n_clusters must be an integer of at least 0, not"),
        ({"partitioner": "magic"}, "'magic' is neither a partitioning method nor a file"),
        ({"imbalance": -0.5}, "imbalance must be at least 0"),
        ({"partitioner": "random", "imbalance": 0.5}, "random does not support an imbalance limit"),
        ({"mode": "half"}, "mode must be .*'structcomp'.*'full'.*, not \"half\""),
        ({"mode": "graphsaint"}, "mode='graphsaint' trains on .* without clusters"),
        ({"mode": "cluster-gcn", "batch_clusters": 4}, "batch_clusters is 4, but there are only 3 clusters"),
        (
            {"batch_clusters": 2},
            "batch_clusters has no effect in the mode structcomp; use the mode cluster-gcn",
        ),
        (
            {"n_clusters": None, "mode": "graphsaint", "budget": 7},
            "a budget of 7 walks is more than the graph's 6",
        ),
        ({"n_clusters": None, "mode": "graphsaint", "walk_length": 0}, "walk_length must be at least 1"),
        (
            {"n_clusters": None, "mode": "graphsaint", "sampler": "tree"},
            "sampler must be .*'node'.*, not \"tree\"",
        ),
        ({"n_clusters": None, "mode": "graphzoom", "levels": 0}, "levels must be from 1 to 30"),
        ({"mode": "full"}, "mode='full' trains on the whole graph without clusters"),
        ({"stand_in": "magic"}, "stand_in must be 'position' or 'degree', not \"magic\""),
        ({"random_state": -1}, "random_state must be from 0"),
        ({"random_state": 0.5}, "random_state must be an integer"),
        ({"n_threads": 0}, "n_threads must be from 1 to 1024, or None or -1 for one per core, not 0"),
        ({"n_threads": 10**6}, "n_threads must be from 1"),
        ({"epochs": 10**30}, "epochs must be an integer of at least 0"),
    ],
)
def test_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        fit(**parameters)


@pytest.mark.parametrize(
    "parameters", [{"hidden": 10**9}, {"hidden": 10**18}, {"hidden": 10**6, "layers": 10**9}]
)
def test_too_much_for_the_memory(parameters):
    with pytest.raises(MemoryError, match="the encoder's weights needs"):
        fit(**parameters)


def test_training_that_diverges():
    with pytest.raises(ValueError, match="diverged in epoch"):
        fit(model="grace", learning_rate=1e30, epochs=50)


def test_clusters_are_given_or_made():
    with pytest.raises(TypeError, match="unexpected keyword argument 'n_clusters'"):
        structcomp.train(X, PATH, [0, 0, 0, 1, 1, 1], n_clusters=2)
    with pytest.raises(ValueError, match="the clusters are of 4 nodes, but the graph has 6"):
        structcomp.train(X, PATH, [0, 0, 1, 1])


def test_names_of_parameters():
    with pytest.raises(TypeError, match="unexpected keyword argument 'clusters'"):
        StructComp(clusters=3)
    with pytest.raises(TypeError):
        StructComp("grace")
    with pytest.raises(ValueError, match="no parameter 'n_cluster'"):
        StructComp().set_params(n_cluster=3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'clusters'"):
        partition(PATH, clusters=3)


def test_transform():
    model = fit()
    with pytest.raises(ValueError, match="X has 5 features, but StructComp is expecting 6"):
        model.transform(X[:, :5])
    for others in (X[:5], X + 1, X[::-1].copy()):
        with pytest.raises(ValueError, match=r"X is not the X of fit.*transform\(X, adjacency=A\)"):
            model.transform(others)
    with pytest.raises(ValueError, match="features have 5 rows but the graph has 6 nodes"):
        model.transform(X[:5], adjacency=as_graph(PATH))
    for what in (
        lambda m: m.transform(X),
        lambda m: m.save("w.safetensors"),
        lambda m: m.get_feature_names_out(),
    ):
        with pytest.raises((ValueError, AttributeError), match="not fitted"):
            what(StructComp())


def test_files(tmp_path):
    with pytest.raises(FileNotFoundError) as error:
        StructComp.load(tmp_path / "none.safetensors")
    assert error.value.filename == str(tmp_path / "none.safetensors")
    damaged = tmp_path / "w.safetensors"
    damaged.write_bytes(b"nonsense")
    with pytest.raises(OSError):
        fit().save(damaged / "w.safetensors")
    with pytest.raises(structcomp.FormatError, match="safetensors") as error:
        Model.load(damaged)
    assert isinstance(error.value, OSError) and isinstance(error.value, ValueError)
    with pytest.raises(structcomp.FormatError):
        Model.from_bytes(b"")
    with pytest.raises(OSError, match="no such file or folder"):
        load_dataset(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="did you mean 'cora'"):
        load_dataset("corra")
    with pytest.raises(ValueError, match=r"dataset cora is not in .* pass as data_dir") as error:
        load_dataset("cora", data_dir=tmp_path)
    assert "structcomp datasets" not in str(error.value)
    edges = tmp_path / "edges.txt"
    edges.write_text("0 1\n1 x\n")
    with pytest.raises(structcomp.FormatError, match=":2: "):
        load_dataset(edges)
    with pytest.raises(ValueError, match="the data needs repairs, and strict=True"):
        edges.write_text("0 1\n1 1\n")
        load_dataset(edges, strict=True)


def test_clusters_labels_and_splits():
    with pytest.raises(ValueError, match="cluster 1 of 3 is empty"):
        quality(PATH, [0, 0, 0, 2, 2, 2])
    with pytest.raises(ValueError, match="invalid clusters: -1 is out of range"):
        quality(PATH, [0, 0, 0, -1, 1, 1])
    with pytest.raises(ValueError, match="clusters must be integers"):
        quality(PATH, [0.0] * 6)
    with pytest.raises(ValueError, match="labels have 2 rows but the graph has 6 nodes"):
        quality(PATH, [0, 0, 0, 1, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="features have 6 rows but the partition has 4 nodes"):
        structcomp.compress(X, [0, 0, 1, 1])
    y = [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="a split contains node 6, but there are only 6 nodes"):
        evaluate(X, y, splits=[([0, 3], [6])])
    with pytest.raises(ValueError, match="splits must not have negative node numbers"):
        evaluate(X, y, splits=[([0, 3], [-1])])
    with pytest.raises(ValueError, match="not 1 parts"):
        evaluate(X, y, splits=[([0, 3],)])
    with pytest.raises(ValueError, match="unknown probe 'svm'"):
        evaluate(X, y, splits=[([0, 3], [1])], probe="svm")
    with pytest.raises(ValueError, match="the embedding has 6 rows, but 2 nodes have labels"):
        evaluate(X, [0, 1], splits=[([0], [1])])
    with pytest.raises(FileNotFoundError):
        evaluate(X, y, splits="none.txt")


def test_diagnostics():
    model = fit()
    with pytest.raises(ValueError, match="the model takes 6 features per node, but these nodes have 5"):
        structcomp.diagnostics(model.model_, X[:, :5], PATH)
    with pytest.raises(ValueError, match="features have 6 rows but the partition has 4 nodes"):
        structcomp.diagnostics(model.model_, X, PATH, clusters=[0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"the graph is missing; use diagnostics\(model, X, adjacency\)"):
        structcomp.diagnostics(model.model_, X)
    with pytest.raises(ValueError, match="the model was not trained on clusters, or they are not known"):
        structcomp.diagnostics(Model.from_bytes(model.model_.to_bytes()), X, PATH)
    with pytest.raises(ValueError, match="a graph without edges has no loss"):
        structcomp.diagnostics(model.model_, X, np.zeros((6, 6)))


def test_generate():
    with pytest.raises(ValueError, match="unknown synthetic graph 'magic'"):
        structcomp.generate("magic")
    with pytest.raises(TypeError, match="unexpected keyword argument 'sides'"):
        structcomp.generate(sides=3)
    with pytest.raises(ValueError):
        structcomp.generate(nodes=-1)


def test_masked_values_are_not_ignored():
    masked = np.ma.masked_array(np.ones((6, 2), np.float32), mask=False)
    assert as_features(masked).n_rows == 6
    masked[0, 1] = np.ma.masked
    with pytest.raises(ValueError, match="1 masked value"):
        as_features(masked)
    with pytest.raises(ValueError, match="masked value"):
        structcomp.evaluate(np.eye(6), np.ma.masked_array([0, 1] * 3, mask=[1, 0, 0, 0, 0, 0]))


def test_more_columns_than_memory():
    scipy_sparse = pytest.importorskip("scipy.sparse")
    for columns in (2**40, 2**62):
        with pytest.raises(MemoryError, match=f"rows of {columns} columns"):
            as_features(scipy_sparse.csr_matrix((200, columns), dtype=np.float32))


def test_more_nodes_than_memory():
    with pytest.raises(MemoryError, match="a graph of 2000000001 nodes"):
        structcomp.as_graph([(0, 2_000_000_000)])


def test_a_folder_is_not_made_by_a_typing_error(small, tmp_path):
    model = structcomp.StructComp(model="sce", epochs=1, hidden=4, random_state=0).fit(small)
    with pytest.raises(FileNotFoundError, match="typo"):
        model.save(tmp_path / "typo" / "m.safetensors")
    assert not (tmp_path / "typo").exists()
    model.save(tmp_path / "m.safetensors")

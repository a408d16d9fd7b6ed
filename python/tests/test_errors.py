"""Bad input is told in the words of the library, and never ends the interpreter."""

import numpy as np
import pytest
import structcomp
from structcomp import Encoder, StructComp, as_graph, evaluate, load_dataset, partition, quality

X = np.eye(6, dtype=np.float32)
PATH = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]


def fit(x=X, adjacency=PATH, **parameters):
    given = dict(n_clusters=3, hidden=4, epochs=2, random_state=0)
    return StructComp(**{**given, **parameters}).fit(x, adjacency=adjacency)


def changed(value, dtype=np.float32):
    x = X.astype(dtype)
    x[2, 1] = value
    return x


@pytest.mark.parametrize(
    ("x", "said"),
    [
        (changed(np.nan), "row 2, column 1 is NaN"),
        (changed(np.inf), "row 2, column 1 is inf"),
        (changed(1e300, np.float64), "row 2, column 1 is inf"),
        (X[:5], "there are features for 5 nodes, but the graph has 6"),
        (X.astype(object), "X must be numbers, not object"),
        (X.astype(str), "X must be numbers, not <U"),
        (X.astype(complex), "Complex data not supported"),
        (X[0], "Reshape your data"),
        (X[None], "Reshape your data"),
        (np.zeros((6, 0), np.float32), "there are no features to train on"),
        ("X.npy", "there is no such file"),
    ],
)
def test_features(x, said):
    with pytest.raises(ValueError, match=said):
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
    with pytest.raises(ValueError, match="not a valid sparse matrix: it has -2"):
        fit(broken)


def test_the_graph_is_missing():
    with pytest.raises(ValueError, match=r"fit\(X, adjacency=A\)"):
        StructComp().fit(X)


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"model": "gcn"}, "'gcn' is no model; models are sce, coles, grace, cca-ssg, dgi, ggd"),
        ({"model": 7}, "an objective is a function, not 7"),
        ({"model": "own"}, "a model of your own needs its objective"),
        ({"hidden": 0}, "the hidden width must be at least 1"),
        ({"hidden": -1}, "hidden: invalid value: integer `-1`"),
        ({"hidden": 2.5}, "hidden: invalid type: floating point `2.5`"),
        ({"hidden": "wide"}, 'hidden: invalid type: string "wide"'),
        ({"layers": 0}, "an encoder needs at least one layer"),
        ({"learning_rate": 0}, "the learning rate must be above 0"),
        ({"learning_rate": np.nan}, "learning_rate must be a finite number, not nan"),
        ({"weight_decay": -1e-3}, "the weight decay must be 0 or more"),
        ({"model": "grace", "tau": 0}, "tau must be above 0, not 0"),
        ({"model": "sce", "tau": 0.5}, "sce has no parameter tau"),
        ({"model": "cca-ssg", "lambda_": -1}, "lambda must be above 0, not -1"),
        ({"model": "ggd", "mask": 1.5}, "mask must be from 0 to below 1, not 1.5"),
        ({"model": "sp-gcl", "batch": 0}, "batch must be from 1 to 1000000, not 0"),
        ({"model": "contrast-reg", "contrast": "xl"}, "contrast: unknown variant `xl`"),
        ({"model": "dgi", "dropout": 1}, "the dropout must be from 0 to below 1"),
        ({"model": "dgi", "renormalize": True}, "no batch norm to renormalize"),
        ({"optimizer": "sgd"}, "optimizer: unknown variant `sgd`"),
        ({"activation": object()}, "activation cannot be <object"),
        ({"n_clusters": 0}, "the number of clusters must be at least 1"),
        ({"n_clusters": 7}, "7 clusters cannot be made of 6 nodes"),
        ({"n_clusters": 1}, "contrast needs at least 2 clusters"),
        ({"n_clusters": "many"}, "clusters: invalid type"),
        ({"partitioner": "magic"}, "'magic' is neither a partitioning method nor a file"),
        ({"imbalance": -0.5}, "imbalance must be at least 0"),
        ({"partitioner": "random", "imbalance": 0.5}, "random does not support an imbalance limit"),
        ({"mode": "half"}, "mode must be 'structcomp' or 'full'"),
        ({"mode": "full"}, "training on the whole graph has no clusters"),
        ({"stand_in": "magic"}, None),
        ({"random_state": -1}, "random_state must be from 0"),
        ({"random_state": 0.5}, "random_state must be a whole number"),
        ({"n_threads": 0}, "n_threads must be from 1"),
        ({"epochs": 10**30}, "epochs: invalid"),
    ],
)
def test_parameters(parameters, said):
    if said is None:
        fit(**parameters)
        return
    with pytest.raises(ValueError, match=said):
        fit(**parameters)


@pytest.mark.parametrize(
    "parameters", [{"hidden": 10**9}, {"hidden": 10**18}, {"hidden": 10**6, "layers": 10**9}]
)
def test_too_much_for_the_memory(parameters):
    with pytest.raises(MemoryError, match="the encoder's weights needs"):
        fit(**parameters)


def test_training_that_diverges():
    with pytest.raises(ValueError, match="beyond all numbers"):
        fit(model="coles", learning_rate=1e30, epochs=50)


def test_names_of_parameters():
    with pytest.raises(TypeError, match="no parameter 'clusters'"):
        StructComp(clusters=3)
    with pytest.raises(TypeError):
        StructComp("grace")
    with pytest.raises(ValueError, match="no parameter 'n_cluster'"):
        StructComp().set_params(n_cluster=3)
    with pytest.raises(ValueError, match="clusters is called n_clusters here"):
        partition(PATH, clusters=3)


def test_transform():
    model = fit()
    with pytest.raises(ValueError, match="X has 5 features, but StructComp is expecting 6"):
        model.transform(X[:, :5])
    with pytest.raises(ValueError, match="there are features for 5 nodes, but the graph has 6"):
        model.transform(X[:5])
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
    with pytest.raises(structcomp.FormatError, match="is no whole safetensors file") as error:
        Encoder.load(damaged)
    assert isinstance(error.value, OSError) and isinstance(error.value, ValueError)
    with pytest.raises(structcomp.FormatError):
        Encoder.from_bytes(b"")
    with pytest.raises(OSError, match="there is no such file or folder"):
        load_dataset(tmp_path / "none.csv")
    with pytest.raises(ValueError, match="did you mean 'cora'"):
        load_dataset("corra")
    with pytest.raises(ValueError, match="the dataset cora is not in"):
        load_dataset("cora", data_dir=tmp_path)
    edges = tmp_path / "edges.txt"
    edges.write_text("0 1\n1 x\n")
    with pytest.raises(structcomp.FormatError, match=":2: "):
        load_dataset(edges)
    with pytest.raises(ValueError, match="not clean and --strict was given"):
        edges.write_text("0 1\n1 1\n")
        load_dataset(edges, strict=True)


def test_clusters_labels_and_splits():
    with pytest.raises(ValueError, match="cluster 1 of 3 is empty"):
        quality(PATH, [0, 0, 0, 2, 2, 2])
    with pytest.raises(ValueError, match="clusters hold -1, which is out of range"):
        quality(PATH, [0, 0, 0, -1, 1, 1])
    with pytest.raises(ValueError, match="clusters must be whole numbers"):
        quality(PATH, [0.0] * 6)
    with pytest.raises(ValueError, match="labels have 2 rows but the graph has 6 nodes"):
        quality(PATH, [0, 0, 0, 1, 1, 1], [0, 1])
    with pytest.raises(ValueError, match="features have 6 rows but the partition has 4 nodes"):
        structcomp.compress(X, [0, 0, 1, 1])
    y = [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="a split names node 6 of 6"):
        evaluate(X, y, splits=[([0, 3], [6])])
    with pytest.raises(ValueError, match="a split names a negative node"):
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
    given = dict(clusters=[0, 0, 0, 1, 1, 1])
    with pytest.raises(ValueError, match="the encoder takes 6 features, but the nodes have 5"):
        structcomp.diagnostics(model.encoder_, X[:, :5], PATH, **given)
    with pytest.raises(ValueError, match="features have 6 rows but the partition has 4 nodes"):
        structcomp.diagnostics(model.encoder_, X, PATH, clusters=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="diagnostics look at features and the graph"):
        structcomp.diagnostics(model.encoder_, X, **given)
    with pytest.raises(ValueError, match="a graph without edges has no loss"):
        structcomp.diagnostics(model.encoder_, X, np.zeros((6, 6)), **given)


def test_generate():
    with pytest.raises(ValueError, match="there is no synthetic graph 'magic'"):
        structcomp.generate("magic")
    with pytest.raises(ValueError, match="unknown field `sides`"):
        structcomp.generate(sides=3)
    with pytest.raises(ValueError):
        structcomp.generate(nodes=-1)

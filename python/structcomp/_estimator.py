"""The estimator, with scikit-learn's manners and without scikit-learn."""

from __future__ import annotations

import inspect
import json
import os
from functools import lru_cache
from typing import Any, Callable, Optional, Union

import numpy as np

from . import _native
from ._arrays import array, seed_of, settings
from ._datasets import graph_and_features
from ._errors import not_fitted
from ._features import as_features, stand_in
from ._native import Encoder, Features, Graph
from ._objective import Objective
from ._stages import Callback, of_model, of_partitioning, progress

MODELS = tuple(_native.models())


class StructComp:
    """Node embeddings by graph contrastive learning without message passing in training.

    The graph is split into clusters and the features of each are averaged. A contrastive model is trained on
    those few rows by a plain network, whose weights then run as a graph neural network on the whole graph.

    Parameters
    ----------
    model : str, Objective or callable
        ``"sce"``, ``"coles"``, ``"grace"``, ``"cca-ssg"``, ``"dgi"``, ``"ggd"``, ``"blockgcl"``,
        ``"contrast-reg"``, ``"mvgrl"``, ``"bgrl"``, ``"sp-gcl"``, or a loss of your own; see `Objective`
        and `autograd`.
    n_clusters : int, optional
        How many clusters; a tenth of the nodes by default, as in the paper.
    partitioner : str
        How clusters are made, or the path of a ``.part`` file; see `partition`.
    hidden : int
        Numbers a row of the embedding has.
    layers : int
        Layers of the encoder.
    epochs : int
        Steps of the optimiser; each sees all clusters.
    learning_rate : float
        The learning rate.
    weight_decay : float
        The weight decay.
    mode : str
        ``"structcomp"``, or ``"full"`` for training on the whole graph with messages in every step, which
        is what StructComp is compared with.
    feature_norm : str, optional
        ``"none"``, ``"row-l1"``, ``"row-l2"`` or ``"standardize"``.
    stand_in : str
        What is made from the graph where there are no features: ``"random-projection"``, ``"spectral"``
        or ``"degree"``. Of these only ``"degree"`` means the same on another graph.
    stand_in_width : int
        How many features that makes.
    data : object, optional
        A graph with features, such as a `Dataset` or a PyG ``Data``. Then the X of `fit` and `transform`
        are numbers of its nodes, which is what scikit-learn's pipelines and searches can split.
    callback : callable, optional
        Called with the number of each epoch, counted from 1, and its loss; ends training by returning
        False.
    verbose : bool
        Whether progress is shown, by tqdm where it is installed.
    random_state : int, RandomState, Generator or None
        The seed. The same seed gives the same bytes, whatever the number of threads; None draws one.
    n_threads : int, optional
        Threads to use; one a core by default.
    **parameters
        All other parameters of the model (``tau``, ``lambda_``, ``alpha``, ``negatives``,
        ``projection``, ``reach``, …), of training (``drop_member``, ``optimizer``, ``hops``,
        ``activation``, ``inner_activation``, ``batch_norm``, ``renormalize``, ``initial``, ``dropout``,
        ``patience``, …) and of partitioning (``imbalance``, ``max_size``, ``refine``, …), by the
        names that they have in Rust.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, hidden)
        The embedding of the nodes of `fit`.
    encoder_ : Encoder
        The trained weights.
    graph_ : Graph
        The graph of `fit`.
    loss_history_ : ndarray of shape (epochs,)
        The loss of every epoch.
    n_features_in_ : int
        How many features a node has.
    partition_ : ndarray of shape (n,), or None
        The cluster of each node; None in training on the whole graph.
    seed_ : int
        The seed that was used.
    untrained_ : Encoder
        The same encoder with its initial weights: the control.

    Examples
    --------
    >>> from structcomp import StructComp, generate
    >>> data = generate(nodes=500, edges=1500)
    >>> model = StructComp(model="cca-ssg", n_clusters=50, hidden=32, epochs=10, random_state=0)
    >>> model.fit_transform(data.X, adjacency=data.graph).shape
    (500, 32)
    """

    def __init__(
        self,
        *,
        model: Union[str, Objective, Callable[..., Any]] = "grace",
        n_clusters: Optional[int] = None,
        partitioner: str = "multilevel",
        hidden: int = 512,
        layers: int = 1,
        epochs: int = 50,
        learning_rate: float = 1e-3,
        weight_decay: float = 5e-4,
        mode: str = "structcomp",
        feature_norm: Optional[str] = None,
        stand_in: str = "random-projection",
        stand_in_width: int = 64,
        data: Any = None,
        callback: Optional[Callback] = None,
        verbose: bool = False,
        random_state: Any = None,
        n_threads: Optional[int] = None,
        **parameters: Any,
    ) -> None:
        self.model = model
        self.n_clusters = n_clusters
        self.partitioner = partitioner
        self.hidden = hidden
        self.layers = layers
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.mode = mode
        self.feature_norm = feature_norm
        self.stand_in = stand_in
        self.stand_in_width = stand_in_width
        self.data = data
        self.callback = callback
        self.verbose = verbose
        self.random_state = random_state
        self.n_threads = n_threads
        for name, value in parameters.items():
            if name not in _more_parameters():
                raise TypeError(f"{type(self).__name__} has no parameter {name!r}")
            setattr(self, name, value)

    def fit(self, X: Any = None, y: Any = None, *, adjacency: Any = None) -> StructComp:
        """Partitions the graph, trains, and embeds the nodes.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
            The features, one row a node: of any type, dense ones without a copy where they are float32 in C
            order; they must not be changed during the call. Or all at once: a `Dataset`, a PyG ``Data``, a
            DGL graph with ``ndata["feat"]``, a networkx graph, a dataset's name or a path. None where
            there are no features. With the parameter `data`: numbers of nodes.
        y : ignored
            For scikit-learn.
        adjacency : object, optional
            The graph, unless X has it; see `as_graph`.

        Returns
        -------
        self : StructComp
        """
        graph, x, _, name = self._inputs(X, adjacency)
        if graph is None:
            raise ValueError(
                "the graph is missing: fit(X, adjacency=A), or fit(data) with data that has both"
            )
        seed = seed_of(self.random_state)
        features = self._features(x, graph, seed)
        objective, given = of_model(self.model, self._training())
        if self.mode not in ("structcomp", "full"):
            raise ValueError(f"mode must be 'structcomp' or 'full', not {self.mode!r}")
        clusters = None
        if self.mode == "structcomp":
            text = settings(of_partitioning(self.partitioner, self.n_clusters, given))
            clusters = _native.partition(graph, text, seed, n_threads=self.n_threads)
        elif self.n_clusters is not None or self.partitioner != "multilevel":
            raise ValueError(
                "training on the whole graph has no clusters; leave out n_clusters and partitioner"
            )
        with progress(self.callback, self.verbose, given) as on_epoch:
            encoder, untrained, losses = _native.train(
                features,
                graph,
                None if clusters is None else clusters.view(np.int32),
                settings(given),
                seed,
                objective=objective,
                on_epoch=on_epoch,
                data=name,
                n_threads=self.n_threads,
            )
        self.embedding_ = encoder.embed(features, graph, n_threads=self.n_threads)
        self.encoder_, self.untrained_ = encoder, untrained
        self.graph_ = graph
        self.loss_history_ = np.array(losses)
        self.n_features_in_ = features.n_cols
        self.partition_ = clusters
        self.seed_ = seed
        return self

    def transform(self, X: Any = None, *, adjacency: Any = None) -> np.ndarray:
        """Embeds the nodes of a graph, also of one that was not trained on.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
            As in `fit`.
        adjacency : object, optional
            The graph, unless X has it; by default that of `fit`, whose nodes X must then be about.

        Returns
        -------
        embedding : ndarray of shape (n, hidden)
        """
        if not hasattr(self, "encoder_"):
            raise not_fitted(self)
        graph, x, nodes, _ = self._inputs(X, adjacency)
        if graph is None:
            graph = getattr(self, "graph_", None)
            if graph is None:
                raise ValueError("the graph is missing: transform(X, adjacency=A)")
        features = self._features(x, graph, getattr(self, "seed_", 0))
        if features.n_cols != self.n_features_in_:
            raise ValueError(
                f"X has {features.n_cols} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        embedding = self.encoder_.embed(features, graph, n_threads=self.n_threads)
        return embedding if nodes is None else np.take(embedding, nodes, axis=0)

    def fit_transform(self, X: Any = None, y: Any = None, *, adjacency: Any = None) -> np.ndarray:
        """As `fit`, and gives the embedding.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
            As in `fit`.
        y : ignored
            For scikit-learn.
        adjacency : object, optional
            The graph, unless X has it; see `as_graph`.

        Returns
        -------
        embedding : ndarray of shape (n, hidden)
        """
        self.fit(X, y, adjacency=adjacency)
        embedding: np.ndarray = self.embedding_
        return (
            embedding
            if self.data is None or X is None
            else np.take(embedding, _nodes(X, self.graph_), axis=0)
        )

    def save(self, path: Union[str, os.PathLike[str]]) -> None:
        """Writes the weights as a safetensors file, which `load` and ``structcomp embed`` read.

        Parameters
        ----------
        path : str or path
            The file to write.
        """
        if not hasattr(self, "encoder_"):
            raise not_fitted(self)
        self.encoder_.save(os.fspath(path))

    @classmethod
    def load(cls, path: Union[str, os.PathLike[str]]) -> StructComp:
        """Reads weights that `save` or ``structcomp train`` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        model : StructComp
            Ready to `transform`. The embedding, the clusters and the graph are not in the file.
        """
        encoder = Encoder.load(os.fspath(path))
        given = json.loads(encoder.parameters)
        if given["model"] == "own":
            given.pop("two_views", None), given.pop("projection", None)
        origin = json.loads(encoder.origin)
        model = cls(**given, random_state=origin["seed"])
        model.encoder_ = encoder
        model.n_features_in_ = encoder.n_features
        model.seed_ = origin["seed"]
        return model

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters by name; those of `**parameters` only where they were given.

        Parameters
        ----------
        deep : bool
            For scikit-learn.

        Returns
        -------
        params : dict
        """
        more = (name for name in _more_parameters() if name in vars(self))
        return {name: getattr(self, name) for name in sorted([*_own_parameters(), *more])}

    def set_params(self, **params: Any) -> StructComp:
        """Sets parameters by name.

        Parameters
        ----------
        **params
            As in the constructor.

        Returns
        -------
        self : StructComp
        """
        for name, value in params.items():
            if name not in _own_parameters() and name not in _more_parameters():
                raise ValueError(f"{type(self).__name__} has no parameter {name!r}")
            setattr(self, name, value)
        return self

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the columns of the embedding: ``structcomp0`` and so on.

        Parameters
        ----------
        input_features : ignored
            For scikit-learn.

        Returns
        -------
        names : ndarray of shape (hidden,)
        """
        if not hasattr(self, "encoder_"):
            raise not_fitted(self)
        name = type(self).__name__.lower()
        return np.array([f"{name}{at}" for at in range(self.encoder_.n_outputs)], dtype=object)

    def __repr__(self) -> str:
        usual = inspect.signature(StructComp.__init__).parameters
        given = self.get_params().items()
        told = [
            f"{name}={value!r}"
            for name, value in given
            if name not in usual or value is not usual[name].default
        ]
        return f"{type(self).__name__}({', '.join(told)})"

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "encoder_")

    def __sklearn_tags__(self) -> Any:
        # Only scikit-learn calls this, so it is there.
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=["float32"]),
            input_tags=InputTags(sparse=True),
        )

    def _inputs(self, X: Any, adjacency: Any) -> tuple[Optional[Graph], Any, Optional[np.ndarray], str]:
        """The graph, the features, which nodes are asked for, and the data's name."""
        if self.data is None:
            graph, x, name = graph_and_features(X, adjacency, self.n_threads)
            return graph, x, None, name
        if adjacency is not None:
            raise ValueError("the parameter data has the graph, so adjacency cannot be given too")
        graph, x, name = graph_and_features(self.data, None, self.n_threads)
        if graph is None:
            raise ValueError("the parameter data has no graph; give a Dataset, a PyG Data or the like")
        return graph, x, None if X is None else _nodes(X, graph), name

    def _features(self, x: Any, graph: Graph, seed: int) -> Features:
        if x is None:
            return stand_in(graph, self.stand_in, self.stand_in_width, seed, self.n_threads)
        features = as_features(x, norm=self.feature_norm, n_threads=self.n_threads)
        if features.n_rows != graph.n_nodes:
            raise ValueError(
                f"there are features for {features.n_rows} nodes, but the graph has {graph.n_nodes}"
            )
        return features

    def _training(self) -> dict[str, Any]:
        """The parameters that the library has under the same names."""
        names = ("hidden", "layers", "epochs", "learning_rate", "weight_decay")
        more = (name for name in _more_parameters() if name in vars(self))
        return {name: getattr(self, name) for name in (*names, *more)}


def _nodes(X: Any, graph: Graph) -> np.ndarray:
    nodes = array(X)
    if nodes.ndim == 2 and nodes.shape[1] == 1:
        nodes = nodes[:, 0]
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise ValueError(
            "with the parameter data, X holds numbers of nodes: whole numbers of shape (k,) or (k, 1), "
            f"not {nodes.dtype} of shape {np.shape(X)}"
        )
    if len(nodes) and not 0 <= nodes.min() <= nodes.max() < graph.n_nodes:
        raise ValueError(f"X names nodes from {nodes.min()} to {nodes.max()}, but there are {graph.n_nodes}")
    return nodes


@lru_cache
def _own_parameters() -> tuple[str, ...]:
    kinds = inspect.signature(StructComp.__init__).parameters.values()
    return tuple(p.name for p in kinds if p.kind is p.KEYWORD_ONLY)


@lru_cache
def _more_parameters() -> tuple[str, ...]:
    """Everything else that the library has a field for."""
    known = {name for model in MODELS for name in json.loads(_native.defaults(model))}
    return tuple(sorted(known - {*_own_parameters(), "method", "clusters"}))


def preset(model: str, dataset: str, *, paper: bool = False) -> Optional[dict[str, Any]]:
    """Parameters for a model on a dataset of the paper.

    Parameters
    ----------
    model : str
        A model's name, as in `StructComp`.
    dataset : str
        The dataset's name, such as ``"cora"``.
    paper : bool
        The paper's own parameters, also where ours are other ones.

    Returns
    -------
    parameters : dict, or None
        For ``StructComp(**parameters)``; None where the paper has none.

    Examples
    --------
    >>> from structcomp import preset
    >>> preset("cca-ssg", "cora", paper=True)
    {'epochs': 20, 'layers': 2, 'model': 'cca-ssg', 'n_clusters': 300}
    """
    found = _native.preset(model, dataset, paper)
    return None if found is None else dict(sorted(json.loads(found).items()))


def recipe(
    X: Any, adjacency: Any = None, *, random_state: Any = None, n_threads: Optional[int] = None
) -> dict[str, Any]:
    """Parameters for data of which nothing is known: those of the command line when no model is named.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or an object with a graph
        The features.
    adjacency : object, optional
        The graph; see `as_graph`.
    random_state : int, optional
        Seed of the sample of nodes that are looked at.
    n_threads : int, optional
        Threads to use; one a core by default.

    Returns
    -------
    parameters : dict
        For ``StructComp(**parameters)``.

    Examples
    --------
    >>> from structcomp import StructComp, load_dataset, recipe
    >>> data = load_dataset("demo")
    >>> model = StructComp(**recipe(data), random_state=0)
    >>> model.get_params()["model"], model.get_params()["stop"]
    ('cca-ssg', 'auto')
    """
    graph, X, _ = graph_and_features(X, adjacency, n_threads)
    if graph is None or X is None:
        raise ValueError("a recipe looks at features and the graph: recipe(X, adjacency)")
    given = _native.recipe(as_features(X, n_threads=n_threads), graph, seed_of(random_state))
    return dict(sorted(json.loads(given).items()))

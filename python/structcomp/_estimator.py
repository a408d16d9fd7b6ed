"""The estimator."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from . import _native
from ._arrays import as_json, seed_of
from ._fitted import Fitted, Path
from ._inputs import inputs, node_numbers
from ._names import ids_of
from ._native import Model
from ._objective import with_model
from ._parameters import Parameters
from ._progress import progress


class StructComp(Parameters, Fitted):
    """Node embeddings by graph contrastive learning without message passing in training.

    The graph is split into clusters. By default nothing is trained: the directions of feature space in which
    the two halves of a cluster agree are computed. The other models average the features of each cluster and
    train a network on these few rows; its weights then run as a graph neural network on the whole graph.

    Parameters
    ----------
    model : str, Objective or callable
        ``"solved"``, the default, which is not trained; ``"sce"``, ``"coles"``, ``"grace"``, ``"cca-ssg"``,
        ``"dgi"``, ``"ggd"``, ``"blockgcl"``, ``"contrast-reg"``, ``"mvgrl"``, ``"bgrl"``, ``"sp-gcl"``; or a
        loss of your own, see `Objective` and `autograd`.
    n_clusters : int, optional
        Number of clusters. By default a tenth of the number of nodes, as in the paper, or one per 113 nodes
        with ``mode="cluster-gcn"``.
    partitioner : str
        Partitioning method, or the path of a ``.part`` file; see `partition`.
    hidden : int
        Embedding dimension of trained models; the default model has `width`.
    layers : int
        Trained models: layers of the encoder.
    epochs : int
        Trained models: number of epochs. Every epoch is one step on all clusters, or on each batch.
    learning_rate, weight_decay : float
        Trained models: learning rate and weight decay of the optimiser.
    mode : str
        ``"structcomp"`` uses clusters. The others are baselines with message passing, which the default model
        cannot: ``"full"`` trains on the whole graph, ``"cluster-gcn"`` on batches of clusters,
        ``"graphsaint"`` on samples of the graph, and ``"graphzoom"`` on a coarsened graph.
    feature_norm : str
        Scaling of the features: ``"none"``, ``"row-l1"``, ``"row-l2"`` or ``"standardize"``. The statistics
        of `fit` are kept and used in `transform`.
    stand_in : str
        Features for a graph without any: ``"position"``, where a node is in the graph, or ``"degree"``. Only
        ``"degree"`` works on another graph in `transform`.
    stand_in_width : int
        Number of these features.
    data : object, optional
        A graph with features, such as a `Dataset` or a PyG ``Data``. X in `fit` and `transform` then holds
        node numbers, which scikit-learn can split.
    callback : callable, optional
        Trained models: called with the number (from 1) and the loss of every epoch. Training ends if it
        returns False.
    verbose : bool
        Trained models: whether to show progress, with tqdm if it is installed.
    random_state : int, RandomState, Generator or None
        Seed. The same seed gives the same bytes for any number of threads. None draws a seed.
    n_threads : int, optional
        Number of threads. None and -1 mean one per core, -2 one less, and so on.
    device : str
        Where to train and embed: ``"cpu"``; ``"cuda"``, an NVIDIA GPU, or an error; or ``"auto"``, the GPU
        where there is one and it pays.
    precision : str
        Precision of matrix products on the GPU: ``"f32"``, ``"tf32"`` or ``"bf16"``.
    width, directions, draws, weights : optional
        Of the default model: the most columns of the embedding (256), the most principal axes (512), random
        halves (4), and how much each part counts.
    imbalance, max_size, refine, per_component : optional
        Of the partition; see `partition`.
    encoder, hops, ssgc_alpha, activation, inner_activation, batch_norm, renormalize, initial, dropout :
        Trained models: the encoder.
    optimizer, drop_member, drop_edges, mask_features, patience : optional
        Trained models: how they are trained.
    batch_clusters, sampler, budget, walk_length, batches, coverage, levels, fusion_neighbors : optional
        Of modes: the first of Cluster-GCN, the last two of GraphZoom, the others of GraphSAINT.
    alpha, lambda_, tau, negatives, positives, batch, roots, reach, laplacian, coarse, projection,
    projections, projection_activation, mask, contrast, nearest, ratio, iterations, decay :
        Settings of single models. None stands for the model's default; a setting that the model does not
        have is an error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, hidden), or (n, at most width) with the default model
        The embedding of the nodes of `fit`.
    model_ : Model
        The fitted model: scaling of the features, weights and settings.
    graph_ : Graph
        The graph of `fit`.
    ids_ : ndarray of shape (n,)
        The ids of the nodes of `fit`, in the order of `embedding_`: names, or numbers.
    loss_history_ : ndarray of shape (epochs,)
        The loss of every epoch; empty with the default model.
    n_features_in_ : int or None
        Number of features per node; None if they were made from the graph.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns of X, if it was a table whose columns have strings as names.
    partition_ : ndarray of shape (n,), or None
        The cluster of every node, or its coarse node with ``mode="graphzoom"``; None if there are none.
    seed_ : int
        The seed that was used.
    module_ : torch.nn.Module
        The trained copy of the module, if the loss is one; see `autograd`.

    Examples
    --------
    >>> from structcomp import StructComp, evaluate, load_dataset
    >>> data = load_dataset("demo")
    >>> z = StructComp(random_state=0).fit_transform(data.X, adjacency=data.graph)
    >>> z.shape
    (2708, 256)
    >>> evaluate(z, data.y, runs=5)["mean"] > 85
    True
    """

    def fit(self, X: Any = None, y: Any = None, *, adjacency: Any = None, ids: Any = None) -> StructComp:
        """Fit the model to a graph and embed its nodes.

        Parameters
        ----------
        X : array, sparse matrix or table of shape (n, d), or an object with a graph, or None
            Features, one row per node. C-contiguous float32 arrays are not copied and must not change during
            the call. Or an object with graph and features: a `Dataset`, a PyG ``Data``, a DGL graph with
            ``ndata["feat"]``, a networkx graph, a dataset's name or a path. None if there are no features.
            With the parameter `data`: node numbers. If a pandas table has the ids of the nodes as its index,
            the graph is joined by them, in the order of X.
        y : ignored
            For scikit-learn.
        adjacency : object, optional
            The graph, unless X has it; see `as_graph`.
        ids : sequence of str or int, optional
            The ids of the rows of X, by which edges are joined; or of all nodes, if there is no X.

        Returns
        -------
        self : StructComp
        """
        graph, features, _, name = inputs(X, adjacency, self.n_threads, self.data, ids)
        if graph is None:
            raise ValueError("the graph is missing; use fit(X, adjacency=A), or fit(data) with both")
        self._remember_names(None if self.data is not None else X)
        loss, given = with_model(self._settings(), self.model)
        settings = as_json({**given, "random_state": seed_of(self.random_state)})
        with progress(self.callback, self.verbose and self.model != "solved", self.epochs) as on_epoch:
            hooks: dict[str, Any] = {"loss": loss, "on_epoch": on_epoch}
            model = _native.fit(features, graph, settings, data=name, n_threads=self.n_threads, **hooks)
        self.embedding_ = model.embed(features, graph, n_threads=self.n_threads)
        self.graph_, self.loss_history_, self.partition_ = graph, model.losses, model.partition
        self.ids_ = ids_of(graph)
        self._rows = None if features is None else features.digest(n_threads=self.n_threads)
        if loss is not None and loss._module is not None:
            self.module_ = loss._module
        return self._fitted(model)

    def fit_transform(self, X: Any = None, y: Any = None, *, adjacency: Any = None, ids: Any = None) -> Any:
        """Fit the model to a graph and return the embedding of its nodes; parameters as in `fit`."""
        self.fit(X, y, adjacency=adjacency, ids=ids)
        if self.data is None or X is None:
            return self._contained(self.embedding_, X, self.graph_, None)
        nodes = node_numbers(X, self.graph_)
        return self._contained(np.take(self.embedding_, nodes, axis=0), X, self.graph_, nodes)

    @classmethod
    def load(cls, path: Path) -> StructComp:
        """Read a model that `save` or ``structcomp train`` wrote. It has no embedding, graph or clusters."""
        model = Model.load(os.fspath(path))
        return cls(**json.loads(model.parameters), random_state=model.seed)._fitted(model)

"""Embed a PyG `Data` and classify its nodes with scikit-learn.

If torch_geometric is not installed, a small class with the same attributes replaces `Data`.
"""

import numpy as np
import structcomp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline

try:
    import torch
    from torch_geometric.data import Data

    tensor = torch.from_numpy
except ImportError:
    print("torch_geometric is not installed; using a class with the same attributes")

    class Data:
        def __init__(self, x, edge_index, y):
            self.x, self.edge_index, self.y = x, edge_index, y

    tensor = np.asarray

demo = structcomp.generate(nodes=1000, edges=3000, features={"kind": "gaussian", "width": 32})
sources = np.repeat(np.arange(1000), np.diff(demo.graph.indptr))
edge_index = np.stack([sources, demo.graph.indices.astype(np.int64)])
data = Data(x=tensor(demo.X), edge_index=tensor(edge_index), y=tensor(demo.y))

# Embed the whole graph once, then train a classifier on some of the nodes.
embedding = structcomp.StructComp(random_state=0).fit_transform(data)
y = np.asarray(data.y)
train, test = train_test_split(np.arange(1000), train_size=200, stratify=y, random_state=0)
classifier = LogisticRegression(max_iter=2000).fit(embedding[train], y[train])
print(f"test accuracy: {100 * classifier.score(embedding[test], y[test]):.1f} %")

# In a pipeline and a search, X holds node numbers, which can be split.
pipeline = make_pipeline(structcomp.StructComp(data=data, random_state=0), LogisticRegression(max_iter=2000))
search = GridSearchCV(pipeline, {"structcomp__n_clusters": [50, 100]}, cv=3)
search.fit(train.reshape(-1, 1), y[train])
accuracy = search.score(test.reshape(-1, 1), y[test])
print(f"test accuracy: {100 * accuracy:.1f} % with {search.best_params_}")

"""Embed nodes that were not there when the model was fitted."""

import tempfile
from pathlib import Path

import numpy as np
import structcomp

data = structcomp.generate(nodes=1000, edges=3000, features={"kind": "gaussian", "width": 32})
sources = np.repeat(np.arange(1000), np.diff(data.graph.indptr))
edges = np.stack([sources, data.graph.indices])

# Only the first 900 nodes are known at first.
known = edges[:, (edges < 900).all(axis=0)]
model = structcomp.StructComp(feature_norm="standardize", random_state=0)
before = model.fit_transform(data.X[:900], adjacency=known)
file = Path(tempfile.mkdtemp()) / "model.safetensors"
model.save(file)

# Later 100 nodes join, with their edges. The file and the known graph are all that is needed.
model = structcomp.StructComp.load(file)
new = edges[:, (edges >= 900).any(axis=0)]
after = model.transform_new(data.X[900:], new, X=data.X[:900], adjacency=known)
print(f"embedded {len(after)} new nodes")

# A classifier that was trained on known nodes works for the new ones.
split = (np.arange(900), np.arange(900, 1000))
accuracy = structcomp.evaluate(np.vstack([before, after]), data.y, splits=[split])
print(f"test accuracy on the new nodes: {accuracy['mean']:.1f} %")

"""Embed nodes that did not exist when the model was trained."""

import tempfile
from pathlib import Path

import numpy as np
import structcomp

whole = structcomp.generate(nodes=1000, edges=3000, features={"kind": "gaussian", "width": 32})
sources = np.repeat(np.arange(1000), np.diff(whole.graph.indptr))
edges = np.stack([sources, whole.graph.indices])

# The model is trained on the first 900 of 1000 nodes.
known = edges[:, (edges < 900).all(axis=0)]
model = structcomp.StructComp(hidden=64, epochs=20, random_state=0)
before = model.fit_transform(whole.X[:900], adjacency=known)

file = Path(tempfile.mkdtemp()) / "model.safetensors"
model.save(file)

# Later, all nodes are there. The file is all that is needed; `structcomp embed` reads it too.
after = structcomp.StructComp.load(file).transform(whole.X, adjacency=edges)
moved = np.linalg.norm(after[:900] - before, axis=1) / np.linalg.norm(before, axis=1)
print(f"{len(after) - len(before)} new nodes")
print(f"the embeddings of the other nodes moved by {100 * np.median(moved):.1f} % (median)")
print(f"test accuracy over all nodes: {structcomp.evaluate(after, whole.y, runs=10)['mean']:.1f} %")

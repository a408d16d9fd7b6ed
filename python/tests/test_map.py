"""Maps of embeddings."""

import numpy as np
import pytest
from structcomp import load_dataset, map_2d, propagate


def kept(space, places, k=10):
    """The share of each row's k nearest in space that are among its k nearest on the map, by scikit-learn."""
    neighbors = pytest.importorskip("sklearn.neighbors")

    def nearest(rows):
        return neighbors.NearestNeighbors(n_neighbors=k).fit(rows).kneighbors(return_distance=False)

    pairs = zip(nearest(space), nearest(places))
    return np.mean([len(np.intersect1d(a, b)) / k for a, b in pairs])


def test_neighbors_stay_together_and_more_than_on_two_principal_axes(data_dir):
    manifold = pytest.importorskip("sklearn.manifold")
    cora = load_dataset("cora", data_dir=data_dir)
    z = propagate(cora)
    z = z / np.maximum(np.linalg.norm(z, axis=1, keepdims=True), 1e-12)
    places = map_2d(z)
    centred = z - z.mean(axis=0)
    plane = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
    assert kept(z, places) > 0.4 > 4 * kept(z, plane)
    trust = [manifold.trustworthiness(z, rows, n_neighbors=10) for rows in (places, plane)]
    assert trust[0] > 0.95 > trust[1] + 0.05


def test_threads_change_nothing():
    z = np.random.default_rng(0).normal(size=(800, 70)).astype(np.float32)
    maps = [map_2d(z, n_threads=threads) for threads in (1, 2, 3)]
    assert maps[0].tobytes() == maps[1].tobytes() == maps[2].tobytes()
    assert (maps[0].shape, maps[0].dtype) == ((800, 2), np.float32)


def test_odd_rows_have_places_or_an_error():
    assert map_2d([[1.0, 2.0]]).tolist() == [[0.0, 0.0]]
    assert np.isfinite(map_2d(np.ones((50, 3)))).all()
    assert map_2d(np.zeros((0, 3))).shape == (0, 2)
    with pytest.raises(ValueError, match="NaN"):
        map_2d([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="choose at most 131072 of them"):
        map_2d(np.ones((131_073, 1), np.float32))

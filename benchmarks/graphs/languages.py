"""Languages of the world, their neighbours, what is known of their grammar and sounds, and their families.

Nodes are the languages of which at least ten features are known. Edges join each to the 6 nearest by place. Features are 289 real
numbers, such as the share of the sources that say that the verb comes before the object, less the mean over the languages where it
is known; a gap is 0. What the package predicts for gaps is not used, as the predictions know the family. The label is the largest
family that the language belongs to.

usage: languages.py FOLDER [PACKAGE]    PACKAGE is lang2vec==1.1.2 unless given
"""

import sys

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from folder import write
from package import from_pypi


def table(files, name):
    """Names of the columns, and the rows in the order of the codes of the languages."""
    found = np.load(files / f"lang2vec/data/{name}.npz")
    order = np.argsort(found["langs"])
    return found["feats"], found["langs"][order], found["data"][order, :, 0]


def main(out, package="lang2vec==1.1.2"):
    with from_pypi(package) as files:
        _, codes, known = table(files, "feature_averages")
        _, others, places = table(files, "geocoord_features")
        of_family, more, families = table(files, "family_features")
    assert (codes == others).all() and (codes == more).all()
    kept = np.flatnonzero(((known >= 0).sum(axis=1) >= 10) & (places.min(axis=1) >= 0))
    known, places, families = known[kept], places[kept], families[kept]
    mean = np.nanmean(np.where(known >= 0, known, np.nan), axis=0)
    x = sp.csr_matrix(np.where(known >= 0, known - mean, 0))
    # Places are given as distances to points all over the earth.
    nearest = NearestNeighbors(n_neighbors=7).fit(places).kneighbors(places, return_distance=False)
    edges = [(min(k, other), max(k, other)) for k, row in enumerate(nearest.tolist()) for other in row]
    largest = (families * (families.sum(axis=0) + np.linspace(0.5, 0, families.shape[1]))).argmax(axis=1)
    labels = [of_family[family].removeprefix("F_") if row.any() else "" for family, row in zip(largest, families)]
    write(out, package, ("language", "near"), codes[kept].tolist(), edges, x, labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

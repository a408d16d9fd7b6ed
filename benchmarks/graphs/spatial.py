"""Two graphs of places with numbers as features: houses sold in Lucas County and the counties of the USA, from spData.

houses: nodes are houses, edges join each to its 6 nearest. Features are size, age, rooms, garage, storeys, walls and year of the
sale, standardised. The label is the fifth of the prices that the house is in.
counties: nodes are counties, edges join each to its 6 nearest. Features are turnout, education, home ownership and income in 1980,
standardised. The label is the state.
Coordinates are no features.

usage: spatial.py houses|counties FOLDER [PACKAGE]    PACKAGE is r-cran-spdata=2.2.1-1 unless given
"""

import sys

import numpy as np
import pandas
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

import rdataset
from folder import write
from package import unpacked

DROPPED = ["price", "avalue", "syear", "sdate", "long", "lat", "rooms.1"]


def main(which, out, package="r-cran-spdata=2.2.1-1"):
    with unpacked(package) as (files, version):
        found = rdataset.read(files, "spData", {"houses": "house", "counties": "elect80"}[which])
    table, places = found.data, np.asarray(found.coords)
    if which == "houses":
        labels = [f"fifth {k + 1}" for k in pandas.qcut(table["price"], 5, labels=False)]
        table = table.drop(columns=DROPPED, errors="ignore")
        smallest = 60
    else:
        # On a sphere, near enough: longitudes shrink with the latitude.
        places = np.column_stack([places[:, 0] * np.cos(np.radians(places[:, 1])), places[:, 1]])
        labels = [str(code)[:2] for code in table.pop("FIPS")]
        smallest = 20
    table = pandas.get_dummies(table, dtype=float).astype(float)
    table = table.fillna(table.mean())
    table = (table - table.mean()) / table.std()
    nearest = NearestNeighbors(n_neighbors=7).fit(places).kneighbors(places, return_distance=False)
    edges = [(min(k, other), max(k, other)) for k, row in enumerate(nearest.tolist()) for other in row if other != k]
    names = [f"{which} {k + 1}" for k in range(len(labels))]
    write(out, f"r-cran-spdata {version} {which}", ("place", "near"), names, edges, sp.csr_matrix(table), labels, smallest)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (3, 4) else sys.exit(__doc__)

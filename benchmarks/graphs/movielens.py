"""MovieLens 100K: people and the films they like, what is known of both, and the genres of the films.

Nodes are 943 people and the films that somebody gave four or five stars of five; these ratings are the edges. Features of a person
are age in steps of five years, sex and occupation; of a film the year and the words of the title. The label of a film is
its genre, or the first of a list of them from narrow to wide; people have no label. The graph is bipartite: nodes with a label are
never neighbours.

usage: movielens.py FOLDER [PACKAGE]    PACKAGE is recbole==1.2.1 unless given
"""

import csv
import re
import sys

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import from_pypi

GENRES = (
    "Documentary Children's Animation Horror Western Film-Noir Musical Sci-Fi War Mystery Crime Action Adventure Thriller Romance "
    "Comedy Drama"
).split()


def table(path):
    with open(path, newline="") as file:
        rows = csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        header = [name.partition(":")[0] for name in next(rows)]
        return [dict(zip(header, row)) for row in rows]


def main(out, package="recbole==1.2.1"):
    with from_pypi(package) as files:
        base = files / "recbole/dataset_example/ml-100k"
        users, films, ratings = (table(base / f"ml-100k.{end}") for end in ("user", "item", "inter"))
    liked = [(f"person {row['user_id']}", f"film {row['item_id']}") for row in ratings if float(row["rating"]) >= 4]
    about = {f"person {row['user_id']}": [f"age {int(row['age']) // 5}", row["gender"], row["occupation"]] for row in users}
    genre = {}
    for row in films:
        name = f"film {row['item_id']}"
        about[name] = [f"year {row['release_year']}", *re.findall("[a-z]{2,}", row["movie_title"].lower())]
        genre[name] = next((one for one in GENRES if one in row["class"].split()), "")
    names = [name for name in about if name in {end for pair in liked for end in pair}]
    number = {name: k for k, name in enumerate(names)}
    x = TfidfVectorizer(analyzer=lambda one: one, min_df=3).fit_transform(about[name] for name in names)
    edges = [(number[person], number[film]) for person, film in liked]
    write(out, package, ("person", "likes"), names, edges, x, [genre.get(name, "") for name in names], smallest=20)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

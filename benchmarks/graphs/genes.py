"""Human genes, which of them the same publications are about, the words of what they do, and where in the cell they do it.

Nodes are the genes for proteins of which a molecular function is known. Edges join genes that are in a publication about two to
four genes. Features are the words in the names of the gene's functions and of the gene, TF-IDF, without words for parts of the
cell. The label is the part of the cell that most of its annotations with cellular components lie in.

usage: genes.py FOLDER [PACKAGES]    PACKAGES are r-bioc-org.hs.eg.db=3.16.0-1 and r-bioc-go.db=3.16.0-1 unless given
"""

import sqlite3
import sys
from collections import Counter, defaultdict
from contextlib import closing
from itertools import combinations

from sklearn.feature_extraction.text import TfidfVectorizer

from folder import write
from package import unpacked

ABOUT = range(2, 5)
PARTS = (
    "nucleus, mitochondrion, plasma membrane, extracellular region, cytosol, endoplasmic reticulum, Golgi apparatus, cytoskeleton, "
    "endosome, lysosome, peroxisome, cilium, cell junction, synapse, ribosome, chromosome, lipid droplet, secretory granule"
).split(", ")
# Beginnings of words that name a part of the cell.
PLACES = (
    "nucle mitochond membran extracell intracell cytosol cytopl endoplasm reticul golgi cytoskel endosom lysosom peroxisom cili "
    "junction plasma synap ribosom chromosom chromat centromer centrosom vesic granul secret lipid droplet cellular compartment"
).split()


def rows(files, name, query, *values):
    (path,) = files.rglob(f"{name}.sqlite")
    with closing(sqlite3.connect(path)) as base:
        yield from base.execute(query, values).fetchall()


def places(genes, ontology):
    """The part of the cell with most annotations of each gene, if there is one such part."""
    within = defaultdict(set)
    query = """select low.go_id, high.term from go_term high join go_cc_offspring on high._id = go_cc_offspring._id
        join go_term low on low._id = _offspring_id where high.term = ? union select go_id, term from go_term where term = ?"""
    for part in PARTS:
        for number, name in rows(ontology, "GO", query, part, part):
            within[number].add(name)
    counts = defaultdict(Counter)
    for gene, number in rows(genes, "org.Hs.eg", "select distinct _id, go_id from go_cc order by _id, go_id"):
        counts[gene].update(sorted(within[number]))
    found = {}
    for gene, count in counts.items():
        (part, most), (_, second) = [*count.most_common(2), ("", 0), ("", 0)][:2]
        found[gene] = part if most > second else ""
    return found


def words(text):
    found = "".join(letter if letter.isalpha() else " " for letter in text.lower()).split()
    return [word for word in found if len(word) > 2 and not word.startswith(tuple(PLACES))]


def main(out, *packages):
    packages = packages or ("r-bioc-org.hs.eg.db=3.16.0-1", "r-bioc-go.db=3.16.0-1")
    with unpacked(packages[0]) as (genes, version), unpacked(packages[1]) as (ontology, _):
        term = dict(rows(ontology, "GO", "select go_id, term from go_term"))
        place = places(genes, ontology)
        query = "select _id, gene_name, symbol from gene_info join genetype using (_id) where gene_type = 'protein-coding'"
        info = {gene: rest for gene, *rest in rows(genes, "org.Hs.eg", query)}
        does = defaultdict(list)
        # The root of the functions stands for "nothing known", "protein binding" for very little.
        query = "select distinct _id, go_id from go_mf where go_id not in ('GO:0003674', 'GO:0005515') order by _id, go_id"
        for gene, number in rows(genes, "org.Hs.eg", query):
            if gene in info:
                does[gene].append(term.get(number, ""))
        numbers = {gene: k for k, gene in enumerate(sorted(does))}
        about = defaultdict(set)
        for gene, publication in rows(genes, "org.Hs.eg", "select _id, pubmed_id from pubmed"):
            about[publication].add(gene)
    pairs = {pair for found in about.values() if len(found) in ABOUT for pair in combinations(sorted(found), 2)}
    edges = [(numbers[u], numbers[v]) for u, v in pairs if u in numbers and v in numbers]
    names = [f"{info[gene][1]} {gene}" for gene in numbers]
    texts = [" ".join([info[gene][0], *does[gene]]) for gene in numbers]
    x = TfidfVectorizer(analyzer=words, min_df=5).fit_transform(texts)
    labels = [place.get(gene, "") for gene in numbers]
    write(out, f"r-bioc-org.hs.eg.db {version}", ("gene", "published_with"), names, edges, x, labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 4) else sys.exit(__doc__)

"""The running text of the Hebrew Bible from Genesis to Kings, word vectors from the other books, and parts of speech.

Nodes are the words of the text. Edges join a word to the next and to the one after it. Features are 100 real numbers for the
written form, the mean of the vectors of its groups of one to four letters and of the whole. The label is the kind of word, such as
a verb in the perfect or a noun before a genitive. Neighbours are mostly of different kinds.

The vectors come from the other books only, by co-occurrence: positive pointwise mutual information of groups of letters with the
words up to two places away, and its singular vectors.

usage: hebrew.py FOLDER [PACKAGE]    PACKAGE is morphhb@2.0.2 unless given
"""

import json
import sys

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.extmath import randomized_svd
from threadpoolctl import threadpool_limits

from folder import write
from package import from_npm

TEXT = "Genesis,Exodus,Leviticus,Numbers,Deuteronomy,Joshua,Judges,I Samuel,II Samuel,I Kings,II Kings".split(",")
WINDOW, SIZE = 2, 100


def kind(lemma, parts):
    """The kind of the main part of a word: the first that is neither a prefix nor, like pronouns behind a word, a suffix."""
    before = [part for part in lemma.removeprefix("H").split("/") if not any(letter.isdigit() for letter in part)]
    parts = parts.split("/")
    main = parts[min(len(before), len(parts) - 1)]
    if main.startswith("S"):
        main = [part for part in parts if not part.startswith("S")][-1]
    if main.startswith("V"):
        return f"verb {main[2:3]}"
    if main[:2] == "Nc":
        return f"noun {main[-1]}"
    return main[:1] if main[:1] in "ACDR" else main[:2]


def words(files):
    """Place, written form and kind of each word, book by book."""
    text = (files / "index.js").read_text()
    books, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
    for book in [*TEXT, *sorted(books.keys() - set(TEXT))]:
        for c, chapter in enumerate(books[book], 1):
            for v, verse in enumerate(chapter, 1):
                for w, (form, lemma, parts) in enumerate(verse, 1):
                    yield book, f"{book} {c}:{v} {w}", form.replace("/", ""), kind(lemma, parts)


@threadpool_limits.wrap(limits=1)
def vectors(text, of):
    """A vector for each form in `of`, learned from the words of `text`. One thread, so that sums have one order."""
    groups = CountVectorizer(analyzer=pieces, min_df=3, binary=True).fit(sorted(set(text)))
    near = CountVectorizer(analyzer=lambda form: [form], min_df=5).fit(text)
    a, b = groups.transform(text), near.transform(text)
    counts = sum(a[step:].T @ b[:-step] + a[:-step].T @ b[step:] for step in range(1, WINDOW + 1)).tocoo()
    sums = np.asarray(counts.sum(axis=1)).ravel()[counts.row] * np.asarray(counts.sum(axis=0)).ravel()[counts.col]
    information = np.maximum(np.log(counts.data * (counts.data.sum() / sums)), 0)
    information = sp.csr_matrix((information, (counts.row, counts.col)), counts.shape)
    u, s, _ = randomized_svd(information, SIZE, n_iter=4, random_state=0)
    holds = groups.transform(of)
    return np.asarray(holds @ (u * np.sqrt(s))) / np.maximum(holds.getnnz(axis=1), 1)[:, None]


def pieces(form):
    """The groups of one to four letters of a form between marks, and the whole."""
    yield form
    marked = f"<{form}>"
    for size in range(1, 5):
        for start in range(len(marked) - size + 1):
            yield marked[start : start + size]


def main(out, package="morphhb@2.0.2"):
    with from_npm(package) as files:
        found = list(words(files))
    text = [one for one in found if one[0] in TEXT]
    forms = sorted({form for _, _, form, _ in text})
    row = {form: k for k, form in enumerate(forms)}
    numbers = vectors([form for book, _, form, _ in found if book not in TEXT], forms)
    x = sp.csr_matrix(numbers[[row[form] for _, _, form, _ in text]].astype(np.float32))
    edges = [(k, k + step) for step in (1, 2) for k in range(len(text) - step)]
    names, labels = [name for _, name, _, _ in text], [label for *_, label in text]
    write(out, package, ("word", "near"), names, edges, x, labels, smallest=100)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

"""Nearest rows."""

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from scipy import sparse
from structcomp import StructComp, generate, neighbors

RNG = np.random.default_rng(0)
Z = RNG.integers(-2, 3, (300, 5)).astype(np.float32)


def naive(z, queries, metric, own=True):
    z, queries = z.astype(np.float64), queries.astype(np.float64)
    if metric == "euclidean":
        scores = -np.sqrt(((queries[:, None] - z) ** 2).sum(2))
    else:
        scores = queries @ z.T
    if metric == "cosine":
        lengths = np.linalg.norm(queries, axis=1)[:, None] * np.linalg.norm(z, axis=1)
        scores = scores / np.where(lengths > 0, lengths, 1)
    if own:
        np.fill_diagonal(scores, -np.inf)
    found = np.argsort(-scores.astype(np.float32), axis=1, kind="stable")
    return found, np.take_along_axis(scores, found, axis=1)


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_they_are_those_of_a_full_sort(metric):
    expected, scores = naive(Z, Z, metric)
    for k in (1, 10, 1000):
        found = neighbors(Z, k=k, metric=metric)
        assert found[0].shape == (300, min(k, 299)) and found[0].dtype == np.int64
        np.testing.assert_array_equal(found[0], expected[:, : min(k, 299)])
        np.testing.assert_allclose(found[1], scores[:, : min(k, 299)], rtol=1e-6, atol=1e-6)
    rows = RNG.random((7, 5), np.float32)
    np.testing.assert_array_equal(
        neighbors(Z, rows, 3, metric)[0], naive(Z, rows, metric, own=False)[0][:, :3]
    )


def test_queries_are_ids_or_row_numbers():
    ids = [f"n{row}" for row in range(300)]
    table = pd.DataFrame(Z, index=ids)
    numbers, scores = neighbors(Z, 7, k=4)
    assert numbers.shape == scores.shape == (4,)
    names = [f"n{row}" for row in numbers]
    assert neighbors(Z, "n7", 4, ids=ids)[0].tolist() == names
    assert neighbors(table, ["n7"], 4)[0].tolist() == [names]
    assert neighbors(pd.DataFrame(Z), 7, 4)[0].tolist() == numbers.tolist()
    assert neighbors(sparse.csr_array(Z), [7], 4)[0].tolist() == [numbers.tolist()]
    large = np.arange(300) + 1000
    assert neighbors(Z, 1007, 4, ids=large)[0].tolist() == (numbers + 1000).tolist()
    assert neighbors(Z, [], 4)[0].shape == (0, 4)


def test_threads_change_nothing():
    z = RNG.standard_normal((3000, 9), np.float32)
    one = neighbors(z, n_threads=1)
    for threads in (2, 3):
        other = neighbors(z, n_threads=threads)
        assert all((a == b).all() for a, b in zip(one, other))


def test_an_estimator_knows_what_is_like_a_node():
    data = generate(nodes=300, edges=900)
    model = StructComp(random_state=0).fit(data)
    found, scores = neighbors(model.embedding_, 7, 3)
    assert model.most_similar(7, k=3) == list(zip(found.tolist(), scores.tolist()))
    model.ids_ = np.array([f"n{row}" for row in range(300)])
    named = [(f"n{row}", score) for row, score in zip(found, scores)]
    assert model.most_similar("n7", 3) == model.most_similar(7, 3) == named
    with pytest.raises(ValueError, match="not fitted"):
        StructComp().most_similar(7)


def test_a_loaded_estimator_says_what_to_do(tmp_path):
    StructComp(random_state=0).fit(generate(nodes=300, edges=900)).save(tmp_path / "m.safetensors")
    with pytest.raises(ValueError, match="no embedding; use neighbors"):
        StructComp.load(tmp_path / "m.safetensors").most_similar(7)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: neighbors(Z, k=0), "k must be at least 1"),
        (lambda: neighbors(Z, 300), "no row 300; there are 300"),
        (lambda: neighbors(Z, -1), "no row -1"),
        (lambda: neighbors(Z, "a"), "the rows have no ids"),
        (
            lambda: neighbors(Z[:2], "ripgerp", ids=["ripgrep", "vlc"]),
            "no node 'ripgerp'; the closest are 'ripgrep'",
        ),
        (lambda: neighbors(Z[:2], "a", ids=["a", "a"]), "not all different"),
        (lambda: neighbors(Z[:2], "a", ids=["a"]), "1 ids for 2 rows"),
        (lambda: neighbors(Z, metric="cosinus"), "metric must be one of"),
        (lambda: neighbors(Z, Z[:, :2]), "queries have 2 columns, the rows 5"),
        (lambda: neighbors([[np.nan], [1.0]]), "row 0, column 0 is NaN"),
        (lambda: neighbors(np.zeros((3, 0), np.float32)), "no columns"),
        (lambda: neighbors([[1e30], [1.0]]), "row 0 has length"),
    ],
)
def test_wrong_calls_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_exported_embeddings_are_vectors_of_fixed_size(tmp_path):
    """What vector databases load as it is: ids, and float32 lists of one length."""
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    program = os.environ.get("STRUCTCOMP_CLI")
    if not program:
        pytest.skip("STRUCTCOMP_CLI is not set")
    pd.DataFrame(Z, index=[f"n{row}" for row in range(300)]).to_csv(tmp_path / "z.csv", index_label="id")
    out = tmp_path / "z.parquet"
    subprocess.run([program, "convert", tmp_path / "z.csv", out, "--part", "features"], check=True)
    table = parquet.read_table(out)
    vectors = table.schema.field(table.column_names[1]).type
    assert table.schema.field("id").type == arrow.string()
    assert arrow.types.is_fixed_size_list(vectors) and vectors.list_size == 5
    assert vectors.value_type == arrow.float32()
    rows = table.column(1).combine_chunks().flatten().to_numpy().reshape(-1, vectors.list_size)
    np.testing.assert_array_equal(rows, Z)
    pytest.importorskip("faiss")
    page = (ROOT / "docs/how-to/find-similar-nodes.md").read_text()
    example = re.findall(r"```python\n(.*?)```", page, re.DOTALL)[-1]
    said = subprocess.run([sys.executable, "-c", example], capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stderr
    assert "n0" in said.stdout

"""Checks the files written by the test `python_reads_what_we_write` with NumPy, pandas and pyarrow.

Usage: python outputs.py FOLDER
"""

import pathlib
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

VALUES = ((np.arange(3000, dtype=np.float32) - 1500) / np.float32(7)).reshape(1000, 3)
IDS = {
    "implicit": np.arange(1000),
    "numbers": np.arange(1000) * 3 + 7,
    "huge": np.uint64(2**64 - 1) - np.arange(1000, dtype=np.uint64),
    "names": np.array([f'n, "{i}"' for i in range(1000)]),
}
ID_TYPES = {"implicit": pa.int64(), "numbers": pa.int64(), "huge": pa.uint64(), "names": pa.string()}
LABELS = np.where(np.arange(1000) % 5 == 0, np.nan, np.arange(1000) % 5 - 1)


def check_table(frame: pd.DataFrame, ids: np.ndarray, name: str) -> None:
    assert (frame.pop("id").to_numpy() == ids).all(), name
    if name == "numbers":
        assert np.array_equal(frame.pop("label").to_numpy(float), LABELS, equal_nan=True), name
    assert list(frame.columns) == ["0", "1", "2"], name
    assert np.array_equal(frame.to_numpy(np.float32), VALUES), name


def check_parquet(path: pathlib.Path, ids: np.ndarray, name: str) -> None:
    table = pq.read_table(path)
    assert table.schema.field("id").type == ID_TYPES[name], table.schema
    kind = table.schema.field("embedding").type
    assert pa.types.is_fixed_size_list(kind) and kind.list_size == 3, table.schema
    assert kind.value_type == pa.float32(), table.schema
    frame = pd.read_parquet(path)
    assert (frame["id"].to_numpy() == ids).all(), name
    assert np.array_equal(np.stack(frame["embedding"]), VALUES), name
    if name == "numbers":
        assert np.array_equal(frame["label"].to_numpy(float), LABELS, equal_nan=True)


def check_edges(frame: pd.DataFrame, ids: np.ndarray, name: str) -> None:
    assert list(frame.columns) == ["source", "target"], name
    assert (frame["source"].to_numpy() == ids[:-1]).all() and (frame["target"].to_numpy() == ids[1:]).all(), name


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    for name, ids in IDS.items():
        array = np.load(folder / f"{name}.npy")
        assert array.dtype == np.float32 and array.flags.c_contiguous and np.array_equal(array, VALUES)
        check_table(pd.read_csv(folder / f"{name}.csv"), ids, name)
        check_table(pd.read_csv(folder / f"{name}.csv.gz"), ids, name)
        check_table(pd.read_csv(folder / f"{name}.tsv", sep="\t"), ids, name)
        check_parquet(folder / f"{name}.parquet", ids, name)
        check_edges(pd.read_csv(folder / f"{name}-edges.csv"), ids, name)
        check_edges(pd.read_csv(folder / f"{name}-edges.tsv.gz", sep="\t"), ids, name)
        check_edges(pd.read_parquet(folder / f"{name}-edges.parquet"), ids, name)
    snap = np.loadtxt(folder / "implicit-edges.txt", dtype=int)
    assert np.array_equal(snap, np.stack([np.arange(999), np.arange(1, 1000)], axis=1))


if __name__ == "__main__":
    main()

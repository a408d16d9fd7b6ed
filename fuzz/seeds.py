"""Writes small valid files of every kind to fuzz/corpus, as a starting corpus.

Usage: python fuzz/seeds.py. Needs numpy, scipy and the program (target/release/structcomp or STRUCTCOMP_CLI); Parquet
files are written if pyarrow is installed.
"""

import gzip
import hashlib
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

import numpy as np
import scipy.io
import scipy.sparse as sp

HERE = pathlib.Path(__file__).resolve().parent
NAMES = (HERE / "names.txt").read_text().split()

# 0 - 1 - 2 - 3, 1 - 3; node 4 is isolated. Two features and two classes.
PAIRS = [(0, 1), (1, 2), (2, 3), (1, 3)]
ADJACENCY = sp.csr_matrix(([1.0] * 4, tuple(zip(*PAIRS))), shape=(5, 5), dtype=np.float32)
FEATURES = np.arange(10, dtype=np.float32).reshape(5, 2)
LABELS = np.array([0, 1, 1, 0, -1])


def keep(target: str, *files: bytes) -> None:
    """Adds files to the corpus of a target, named by a hash of their contents."""
    folder = HERE / "corpus" / target
    folder.mkdir(parents=True, exist_ok=True)
    for file in files:
        (folder / hashlib.sha256(file).hexdigest()[:16]).write_bytes(file)


def dataset(target: str, *files: bytes) -> None:
    """Adds single files in the form that `structcomp::fuzz::read` expects."""
    for kind in (target, "recognize"):
        keep(kind, *[b"\0" + file for file in files])


def folder(target: str, files: dict) -> None:
    packed = b"\1" + b"".join(
        bytes([NAMES.index(name)]) + struct.pack("<H", len(data)) + data for name, data in files.items()
    )
    for kind in (target, "recognize"):
        keep(kind, packed)


def written(save, *args, **kwargs) -> bytes:
    file = io.BytesIO()
    save(file, *args, **kwargs)
    return file.getvalue()


def npz(pack=np.savez, **arrays) -> bytes:
    return written(pack, **arrays)


def text(pickled: str) -> bytes:
    return b"U" + bytes([len(pickled)]) + pickled.encode()


def pickled_array(array: np.ndarray) -> bytes:
    """An array as pickled by Python 2; Python 3 pickles differently."""
    shape = b"(" + b"".join(b"K" + bytes([size]) for size in array.shape) + b"t"
    return (
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\nK\x00\x85U\x01btR(K\x01" + shape
        + b"cnumpy\ndtype\n(" + text(array.dtype.str[1:]) + b"K\x00K\x01tR(K\x03U\x01<NNN"
        + b"J\xff\xff\xff\xff" * 2 + b"K\x00tb\x89T" + struct.pack("<I", array.nbytes) + array.tobytes() + b"tb"
    )


def pickled_matrix(matrix) -> bytes:
    matrix = sp.csr_matrix(matrix)
    parts = b"".join(text(name) + pickled_array(getattr(matrix, name)) for name in ("indptr", "indices", "data"))
    shape = text("_shape") + b"".join(b"K" + bytes([size]) for size in matrix.shape) + b"\x86"
    return b"\x80\x02cscipy.sparse.csr\ncsr_matrix\nq\x01)\x81q\x02}q\x03(" + shape + parts + b"ub."


def planetoid() -> None:
    one_hot = np.eye(2, dtype=np.int32)[[0, 1, 1, 0, 0]]
    rows = {"x": slice(0, 1), "allx": slice(0, 3), "tx": slice(3, 5)}
    graph = b"".join(
        b"K" + bytes([u]) + b"](" + b"".join(b"K" + bytes([b]) for a, b in PAIRS if a == u) + b"e" for u in range(5)
    )
    files = {f"ind.a.{name}": pickled_matrix(FEATURES[row]) for name, row in rows.items()}
    files |= {
        f"ind.a.{name.replace('x', 'y')}": b"\x80\x02" + pickled_array(one_hot[row]) + b"." for name, row in rows.items()
    }
    files["ind.a.graph"] = b"\x80\x02ccollections\ndefaultdict\nc__builtin__\nlist\n\x85R(" + graph + b"u."
    keep("pickle", *files.values())
    files["ind.a.test.index"] = b"4\n3\n"
    folder("planetoid", files)
    folder("planetoid", files | {"a_split_0.6_0.2_0.npz": masks(), "a_split_train_50.txt": b"0,1\n2\n"})


def masks() -> bytes:
    return npz(train_mask=LABELS == 0, val_mask=LABELS == -1, test_mask=np.array([0, 1, 1, 0, 0], dtype=np.uint8))


def geom_gcn() -> None:
    edges = b"id\tid\n" + b"".join(b"%d\t%d\n" % pair for pair in PAIRS)
    for first, features in ((b"", b"0,1"), (b"n\tf\tl\n", b"7,3,12")):
        rows = first + b"".join(b"%d\t%s\t%d\n" % (node, features, node % 2) for node in (1, 0, 2, 4, 3))
        files = {"out1_graph_edges.txt": edges, "out1_node_feature_label.txt": rows}
        folder("geom-gcn", files)
        folder("geom-gcn", files | {"a_split_0.6_0.2_0.npz": masks()})


def graphsaint() -> None:
    folder("graphsaint", {
        "adj_full.npz": written(sp.save_npz, ADJACENCY, compressed=False),
        "adj_train.npz": written(sp.save_npz, ADJACENCY),
        "feats.npy": written(np.save, FEATURES.astype(np.float64)),
        "class_map.json": json.dumps({str(node): int(label) for node, label in enumerate(LABELS) if label >= 0}).encode(),
        "role.json": b'{"tr": [0, 4], "va": [1], "te": [3, 2]}',
    })


def ogb() -> None:
    split = {f"split/time/{name}.csv": b"%d\n" % node for node, name in enumerate(("train", "valid", "test"))}
    edges = b"".join(b"%d,%d\n" % pair for pair in PAIRS)
    texts = {
        "raw/num-node-list.csv": b"5\n",
        "raw/num-edge-list.csv": b"4\n",
        "raw/node-feat.csv": b"0.5,1\n-2e-1,0\n3,4\n5,6\n7,8\n",
        "raw/node-label.csv": b'1\n0.0\nnan\n""\n2\n',
        "mapping/nodeidx2paperid.csv": b"node idx,paper id\n0,9\n",
    }
    folder("ogb", texts | split | {"raw/edge.csv": edges})
    folder("ogb", texts | split | {"raw/edge.csv.gz": gzip.compress(edges, mtime=0)})
    data = npz(num_nodes_list=[5], num_edges_list=[4], edge_index=np.array(PAIRS).T, node_feat=FEATURES.astype(np.float16))
    labels = npz(node_label=np.array([[0.0], [1], [np.nan], [1], [0]]))
    folder("ogb", split | {"raw/data.npz": data, "raw/node-label.npz": labels})


def archives() -> None:
    for pack in (np.savez, np.savez_compressed):
        parts = {"adj": ADJACENCY, "attr": sp.csr_matrix(FEATURES)}
        arrays = {f"{name}_{part}": getattr(m, part) for name, m in parts.items() for part in ("data", "indices", "indptr", "shape")}
        whole = npz(pack, **arrays, labels=LABELS, class_names=np.array(["a", "b"]))
        keep("npz", whole)
        dataset("gnn-benchmark", whole)
        folder("gnn-benchmark", {"graph.npz": whole})
        adjacency = {name: part for name, part in arrays.items() if name.startswith("adj")}
        dataset("gnn-benchmark", npz(pack, **adjacency, attr_matrix=FEATURES))
        masks = {f"{part}_masks": np.arange(5)[None] % 3 == at for at, part in enumerate(("train", "val", "test"))}
        dataset("heterophilous-graphs", npz(pack, node_features=FEATURES, node_labels=LABELS, edges=np.array(PAIRS), **masks))
    for matrix in (ADJACENCY, ADJACENCY.tocsc(), ADJACENCY.tocoo(), sp.coo_array(ADJACENCY)):
        files = [written(sp.save_npz, matrix, compressed=packed) for packed in (False, True)]
        dataset("scipy-npz", *files)
        keep("matrix", *files)
        keep("npz", *files)


def arrays() -> None:
    for code in "? i1 u1 <i2 >i4 <u4 <i8 <u8 <f2 >f4 <f4 <f8 S2 <U1".split():
        array = FEATURES.astype(int).astype(code)
        keep("npy", written(np.save, array), written(np.save, np.asfortranarray(array)), written(np.save, array[0]))
        keep("npz", npz(a=array))
    pairs = np.array(PAIRS)
    dataset("edge-index", *(written(np.save, array) for array in (pairs, pairs.T, pairs.astype(np.float32), pairs.astype("u1"))))


def texts() -> None:
    for matrix in (ADJACENCY, ADJACENCY.toarray(), ADJACENCY + ADJACENCY.T, np.array(ADJACENCY.toarray(), dtype=int)):
        for symmetry in ("general", "symmetric") if (matrix != matrix.T).sum() == 0 else ("general",):
            file = written(scipy.io.mmwrite, matrix, symmetry=symmetry)
            dataset("matrix-market", file)
            keep("matrix", file)
    pattern = b"%%MatrixMarket matrix coordinate pattern general\n% c\n3 3 2\n1 2\n3 1\n"
    dataset("matrix-market", pattern, gzip.compress(pattern, mtime=0))
    dataset("metis", b"4 4\n2\n1 3 4\n2 4\n2 3\n", b"% c\n3 2 011 2\n5 6 2 7\n1 1 1 7 3 9\n0 0 2 9\n", b"2 1 100\n9 2\n9 1\n")
    plain = b"".join(b"%d %d\n" % pair for pair in PAIRS)
    dataset(
        "edge-list", plain, b"# c\n" + plain.replace(b" ", b"\t"), b"source,target,weight\n0,1,2.5\n1,2,0\n",
        b'"ann","bob"\n"b,c",ann\n', b"1 99999999999 3\n1 2 3\n", b"\xef\xbb\xbf1;2\r\n", gzip.compress(plain, mtime=0),
    )
    keep("splits", b"0,1\n2, 3\n", b"0 1\n2\n\x004\n5,6\n")


def tables() -> None:
    edges, nodes = b"src,dst,weight\na,b,1\nb,c,2\n", b"id,f0,f1,label\na,1,2,x\nb,3,4,y\nc,5,6,x\n"
    folder("tables", {"edges.csv": edges, "nodes.csv": nodes})
    folder("tables", {"edges.csv": b"0,1\n1,2\n", "features.npy": written(np.save, FEATURES[:3]), "labels.txt": b"0\n1\n0\n"})
    folder("tables", {"edges.csv": edges, "features.csv": nodes[:-1], "labels.json": b'{"a": 0, "b": 1}'})
    folder("tables", {"edges.npy": written(np.save, np.array(PAIRS)), "labels.csv": b"id,label\n0,a\n1,b\n"})
    folder("tables", {"edges.txt": b"0 1\n", "features.npz": written(sp.save_npz, sp.csr_matrix(FEATURES[:2]))})
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    dataset("edge-list", pa.compress(b"0 1\n1 2\n", codec="zstd", asbytes=True))
    columns = {"src": [u for u, _ in PAIRS], "dst": [v for _, v in PAIRS], "weight": [0.5, 1.0, 2.0, 1.0]}
    delta = {"src": "DELTA_BINARY_PACKED", "dst": "PLAIN", "weight": "BYTE_STREAM_SPLIT"}
    for more in ({"data_page_version": "2.0"}, {"use_dictionary": False, "column_encoding": delta}):
        dataset("parquet", written(lambda out: pq.write_table(pa.table(columns), out, compression="none", **more)))
    listed = pa.table({"id": list("abc"), "label": ["x", None, "y"], "f": [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]})
    for codec in ("none", "snappy", "zstd", "gzip", "lz4"):
        dataset("parquet", *(written(lambda out: pq.write_table(table, out, compression=codec)) for table in (
            pa.table(columns), pa.table({"u": list("ab"), "v": list("ba")}),
        )))
        folder("tables", {
            "edges.csv": edges, "nodes.parquet": written(lambda out: pq.write_table(listed, out, compression=codec)),
        })


def graph_files() -> None:
    """Handwritten graph files. Their checksums may be zero, as the fuzz target corrects them."""
    symmetric = sp.csr_matrix(ADJACENCY + ADJACENCY.T)
    for weights in (False, True):
        arrays = [symmetric.indptr.astype("<u8"), symmetric.indices.astype("<u4"), symmetric.data.astype("<f4")]
        places, body = [], b""
        for array in arrays[: 2 + weights]:
            places.append(128 + len(body))
            body += array.tobytes().ljust(-(-array.nbytes // 64) * 64, b"\0")
        header = b"SCGRAPH\0" + struct.pack("<II7Q", 1, weights, 5, len(arrays[1]), *(places + [0] * 2)[:3], 0, 0)
        graph = header.ljust(128, b"\0") + body
        keep("scg", graph)
        own_folders(graph)


def own_folders(graph: bytes) -> None:
    about = {"format": "structcomp", "version": 1, "name": "toy", "synthetic": False, "nodes": 5, "edges": 4, "notes": []}
    about |= {"labels": {"classes": 2, "names": ["a", "b"]}, "splits": True}
    splits = [{"name": "s", "splits": [{"train": [0], "validation": [1], "test": [2, 3]}], "small_classes": [[0, 1]]}]
    common = {"graph.scg": graph, "labels.npy": written(np.save, LABELS), "splits.json": json.dumps(splits).encode()}
    sparse = sp.csr_matrix(FEATURES)
    parts = {f"features.{part}.npy": written(np.save, getattr(sparse, part)) for part in ("indptr", "indices", "data")}
    for kind, ids, files in (
        ("dense", "names", {"features.npy": written(np.save, FEATURES), "ids.txt": b"a\nb\n\\\\\nd\n\n"}),
        ("sparse", "numbers", parts | {"ids.txt": b"9\n8\n7\n6\n5\n"}),
    ):
        manifest = json.dumps(about | {"features": {"kind": kind, "width": 2}, "ids": ids})
        folder("structcomp", {"dataset.json": manifest.encode()} | common | files)


def edge_lists() -> None:
    for separator in " ", "\t", ",":
        for weight in "", separator + "0.5":
            lines = [f"{u}{separator}{v}{weight}" for u, v in PAIRS]
            keep("edge-lists", "\n".join(lines).encode(), "\n".join(["# by hand", *lines, ""]).encode())


def settings() -> None:
    """Our presets, and settings of every kind."""
    for preset in sorted((HERE.parent / "crates/structcomp/presets").glob("*.toml")):
        keep("settings", preset.read_bytes())
    training = {"hidden": 8, "epochs": 3, "learning-rate": 0.01, "activation": "relu", "optimizer": "adam"}
    for model in ({"name": "sce", "alpha": 2.0}, {"name": "grace", "temperature": 0.5}, {"name": "solved"}):
        keep("settings", json.dumps(training | {"model": model}).encode())
    keep("settings", b'hidden = 8\nlearning-rate = 1e-3\n\n[model]\nname = "coles"\n')


def datasets() -> None:
    """Any bytes are a dataset: numbers of nodes, kinds of ids, and so on."""
    for kind in range(3):
        for contents in range(16):
            keep("datasets", bytes([5, kind, contents, *(at * 37 % 256 for at in range(150))]))


def models() -> None:
    """Models and checkpoints by the program itself."""
    program = pathlib.Path(os.environ.get("STRUCTCOMP_CLI", HERE.parent / "target/release/structcomp"))
    if not program.exists():
        sys.exit("there are no models in the corpus: build the program, or set STRUCTCOMP_CLI to its path")
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        (place / "edges.csv").write_text("".join(f"{node},{node + 1}\n" for node in range(7)))
        (place / "x.csv").write_text("".join(f"{node * 10 % 7},{(node * 10 + 5) % 7}\n" for node in range(8)))
        data = ["--edges", place / "edges.csv", "--features", place / "x.csv", "--clusters", "3"]
        trained = ["--hidden", "2", "--epochs", "2", "--checkpoint-every", "1", "--preset", "none"]
        settings = {
            "solved": [],
            "sce": ["--model", "sce", *trained],
            "grace": ["--model", "grace", "--activation", "relu", *trained],
            "bgrl": ["--model", "bgrl", "--set", "batch-norm=true", *trained],
            "cca-ssg": ["--model", "cca-ssg", "--feature-norm", "standardize", *trained],
        }
        for name, options in settings.items():
            out = place / f"{name}.safetensors"
            subprocess.run([program, "train", *data, *options, "--out", out], check=True, stdout=subprocess.DEVNULL)
            keep("model", out.read_bytes())
        for file in place.glob("*.checkpoint.safetensors"):
            keep("checkpoint", file.read_bytes())


for write in (
    planetoid, geom_gcn, graphsaint, ogb, archives, arrays, texts, tables, graph_files, edge_lists, settings, datasets,
    models,
):
    write()

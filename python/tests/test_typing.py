"""Type checkers and completion know every parameter."""

import inspect
import json
import subprocess
import sys

import pytest
import structcomp
from structcomp import StructComp, _native

RIGHT = """
from structcomp import StructComp, generate, partition, train
data = generate(nodes=300, edges=900)
model = StructComp(model="grace", hidden=3, tau=0.4, drop_edges=[0.1, 0.2]).fit(data)
model.set_output(transform="pandas").set_params(tau=0.5)
loaded: StructComp = StructComp.load("model.safetensors")
train(data, clusters=partition(data, 30, max_size=20), model="sce", hidden=8, alpha=2.0)
"""
WRONG = """
from structcomp import StructComp, generate, partition, train
StructComp(hiden=3)
StructComp(hidden="wide")
train([[1.0]], hiden=3)
partition([(0, 1)], refin="cut")
generate(node=3)
"""


def mypy(tmp_path, code):
    pytest.importorskip("mypy")
    (tmp_path / "code.py").write_text(code)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "code.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    return sorted({int(line.split(":")[1]) for line in done.stdout.splitlines() if ": error:" in line}), done


def test_misspelt_parameters_are_type_errors(tmp_path):
    lines, done = mypy(tmp_path, RIGHT + WRONG)
    first = RIGHT.count("\n") + 3
    assert lines == list(range(first, first + 5)), done.stdout + done.stderr


def test_every_setting_of_the_library_is_in_the_signatures():
    known = {name for model in _native.models() for name in json.loads(_native.defaults(model))}
    assert known <= {*inspect.signature(StructComp).parameters}
    # `train` gets its clusters.
    of_partitions = {"n_clusters", "partitioner", "imbalance", "max_size", "refine", "per_component"}
    assert known - of_partitions <= {*inspect.signature(structcomp.train).parameters}
    assert of_partitions <= {*inspect.signature(structcomp.partition).parameters}


def test_no_signature_hides_parameters():
    functions = [each for name in structcomp.__all__ if inspect.isfunction(each := getattr(structcomp, name))]
    for each in [StructComp, structcomp.Objective, structcomp.Dataset, *functions]:
        assert all(p.kind is not p.VAR_KEYWORD for p in inspect.signature(each).parameters.values()), each

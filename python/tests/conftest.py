"""Shared fixtures: small synthetic datasets, the published ones, and the command line."""

import os
import shutil
from pathlib import Path

import pytest
import structcomp

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def small():
    """300 nodes with sparse features, synthetic."""
    return structcomp.generate(nodes=300, edges=900, classes=3)


@pytest.fixture(scope="session")
def dense():
    """300 nodes with 8 dense features, synthetic."""
    return structcomp.generate(nodes=300, edges=900, classes=3, features={"kind": "gaussian", "width": 8})


@pytest.fixture(scope="session")
def data_dir():
    folder = Path(os.environ.get("STRUCTCOMP_DATA") or ROOT.parent / "shared/data")
    if not (folder / "cora").is_dir():
        pytest.skip(f"the published datasets are not in {folder}")
    return folder


@pytest.fixture(scope="session")
def cli():
    """The command line program of the same build."""
    program = os.environ.get("STRUCTCOMP_CLI") or shutil.which("structcomp")
    if not program:
        pytest.skip("STRUCTCOMP_CLI is not set, and structcomp is not on the path")
    return program

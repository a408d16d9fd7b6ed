"""The examples run, and so does the README's."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT


@pytest.mark.parametrize("script", sorted((ROOT / "examples").glob("*.py")), ids=lambda script: script.stem)
def test_example(script):
    said = subprocess.run([sys.executable, script], capture_output=True, text=True)
    assert said.returncode == 0, said.stderr
    assert said.stdout


def blocks(page):
    """The Python in a page of documentation."""
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


PAGES = [(page, at) for page in ("README.md", "docs/reference/python.md") for at in range(len(blocks(page)))]


@pytest.mark.parametrize(("page", "at"), PAGES)
def test_documentation(page, at, tmp_path):
    program = blocks(page)[at]
    if "autograd" in program:
        pytest.importorskip("torch", reason="PyTorch is not installed, so losses by autograd are not tested")
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=tmp_path)
    assert said.returncode == 0, said.stderr

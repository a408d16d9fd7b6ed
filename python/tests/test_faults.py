"""A small share of the faults that `scripts/faults.py` tries: random kills, and resumed trainings."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts/faults.py"


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_killed_commands_leave_nothing_torn_mixed_or_behind(cli, tmp_path):
    command = [sys.executable, SCRIPT, cli, "--kills", "11", "--work", tmp_path]
    tried = subprocess.run(command, capture_output=True, text=True)
    assert tried.returncode == 0, tried.stdout + tried.stderr


@pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="needs Linux and a C compiler"
)
def test_reads_and_writes_may_be_short(cli, tmp_path):
    command = [sys.executable, SCRIPT, cli, "--short", "--work", tmp_path]
    tried = subprocess.run(command, capture_output=True, text=True)
    assert tried.returncode == 0, tried.stdout + tried.stderr

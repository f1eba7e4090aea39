"""Ids and weights of every dtype, in every kind of frame: the right answer, or our error at once.

    python tests/fuzz/ids.py --count 10000 --seed 1 --jobs 16
    python tests/fuzz/ids.py --seed 1 --only 4711
    python tests/fuzz/ids.py --count 10000 --cudf

A case is a small random multigraph whose ids are values of one kind or several, in one to three columns,
written down as one library has them.  A few algorithms run on it and are compared with plain Python, down
to the dtypes of the ids that come back.  A kind says whether it must work ("yes"), must be refused
("no"), or may be either ("maybe").  Frames of cuDF are emulated, unless `--cudf` asks for the library.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime as dt
import decimal
import importlib.util
import math
import multiprocessing
import os
import random
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd
import pyarrow as pa

sys.path.insert(0, str(Path(__file__).parents[1]))

import stand_in_cudf
from emulator.device import emulated

import cugraph_ws as ws

__all__ = ["LIBRARIES", "Case", "check", "main"]

BITS = (8, 16, 32, 64)
INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in BITS]
MOMENT = dt.datetime(2024, 2, 28, 23, 59, 58)
UNITS = ("s", "ms", "us", "ns")


# ------------------------------------------------------------------------------------- kinds


@dataclass(frozen=True)
class Kind:
    """How values are written down in one library.

    Attributes
    ----------
    name : str
    pool : str
        Which values; see `pool_of`.
    make : callable
        Makes a column of a list of values, None among them for null.
    status : {"yes", "no", "maybe"}
    nulls : bool
        Whether it can have nulls.
    """

    name: str
    pool: str
    make: object
    status: str = "yes"
    nulls: bool = True


def pool_of(pool: str, rng: random.Random) -> list:
    """Return distinct values, in no order."""
    count = rng.randint(2, 9)
    if pool in INTEGERS:
        limits = np.iinfo(pool)
        choices = [
            range(count),
            range(5, 5 + count),
            [int(limits.min), int(limits.max), int(limits.max) - 1, 0, 1, 7],
            [rng.randint(int(limits.min), int(limits.max)) for _ in range(count)],
        ]
        values = sorted(set(rng.choice(choices)))
    elif pool == "text":
        values = sorted(
            {rng.choice(["", "a", "b", "ß", "é", "漢字", "a\0b", "A"]) for _ in range(9)}
        )
        values.append(f"v{rng.randint(0, 10**6)}")
    elif pool == "bytes":
        values = [b"", b"\0", b"\xff", b"a", b"ab"][:count]
    elif pool == "byte":
        values = [b"\0", b"\xff", b"a", b"b"][:count]
    elif pool == "day":
        values = [dt.date(1969, 12, 28) + dt.timedelta(days=9 * i) for i in range(count)]
    elif pool == "midnight":
        values = [dt.datetime(1969, 12, 28) + dt.timedelta(days=9 * i) for i in range(count)]
    elif pool == "time":
        values = [dt.time(i, 59 - i, 7) for i in range(count)]
    elif pool == "span":
        values = [dt.timedelta(seconds=(i - 2) * 90061) for i in range(count)]
    elif pool.startswith("moment"):
        fine = 0 if pool == "moment" else 123 * int(pool[-1])
        values = [
            MOMENT + dt.timedelta(seconds=(i - 3) * 9_999_991, microseconds=fine * i)
            for i in range(count)
        ]
    elif pool == "zoned":
        values = [(MOMENT + dt.timedelta(hours=i)).replace(tzinfo=dt.UTC) for i in range(count)]
    elif pool == "decimal":
        values = [decimal.Decimal(i) / 4 for i in range(count)]
    elif pool == "truth":
        values = [False, True]
    else:
        assert pool == "fraction"
        values = [i / 8 for i in range(count)]
    rng.shuffle(values)
    return values


def plain(dtype):
    """Make a NumPy array, which has no nulls."""
    return lambda values: np.array(values, dtype)


def series(dtype):
    """Make a Series of pandas."""
    return lambda values: pd.Series(values, dtype=dtype)


def arrow(kind):
    """Make an Arrow array."""
    return lambda values: pa.array(values, kind)


def arrow_series(kind):
    """Make a Series of pandas that Arrow backs."""
    return lambda values: pd.Series(pa.array(values, kind), dtype=pd.ArrowDtype(kind))


def dictionary(index, kind):
    """Make an Arrow dictionary, with values that no row has."""

    def make(values):
        encoded = pa.array(values, kind).dictionary_encode()
        return pa.DictionaryArray.from_arrays(encoded.indices.cast(index), encoded.dictionary)

    return make


def times(dtype):
    """Make a Series of times of pandas, of whose dtype there are several."""

    def make(values):
        made = pd.to_datetime(pd.Series(values, dtype=object), utc="UTC" in dtype or "/" in dtype)
        return made.astype(dtype)

    return make


def chunked(make, rng):
    """Cut a column of Arrow in two."""

    def halves(values):
        cut = rng.randint(0, len(values))
        parts = [make(values[:cut]), make(values[cut:])]
        return pa.chunked_array(parts, parts[0].type)

    return halves


@lru_cache
def pandas_kinds() -> list[Kind]:
    """Return what pandas has, backed by NumPy for the most part."""
    narrow = [Kind(name, name, series(name), nulls=False) for name in INTEGERS]
    swapped = [
        Kind(f">{c}{size}", f"{sign}int{8 * size}", plain(f">{c}{size}"), nulls=False)
        for c, sign in (("i", ""), ("u", "u"))
        for size in (2, 4, 8)
    ]
    nullable = [
        Kind(name, name.lower(), series(name))
        for name in (one.replace("i", "I").replace("u", "U") for one in INTEGERS)
    ]
    return [
        *narrow,
        *swapped,
        *nullable,
        Kind("object of int", "int64", series(object)),
        Kind("object of text", "text", series(object)),
        Kind("object of bytes", "bytes", series(object)),
        Kind("object of days", "day", series(object)),
        Kind("str", "text", series("str")),
        Kind("string", "text", series("string")),
        Kind("category of text", "text", lambda values: pd.Series(values, dtype="category")),
        Kind("category of int64", "int64", lambda values: pd.Series(values, dtype="category")),
        Kind("category of int16", "int16", _category_of_int16),
        *[Kind(f"datetime64[{u}]", "moment", times(f"datetime64[{u}]")) for u in UNITS],
        Kind("fine datetime64[us]", "moment 1", times("datetime64[us]")),
        Kind("datetime64[us, UTC]", "zoned", times("datetime64[us, UTC]")),
        Kind("datetime64[ms, Berlin]", "zoned", times("datetime64[ms, Europe/Berlin]")),
        Kind("timedelta64[ms]", "span", lambda v: pd.Series(v, dtype="timedelta64[ms]")),
        Kind("bool", "truth", series("bool"), "no", nulls=False),
        Kind("float64", "fraction", series("float64"), "no"),
        Kind("float32", "fraction", series("float32"), "no"),
        Kind("Float64", "fraction", series("Float64"), "no"),
        Kind("object of decimals", "decimal", series(object), "no"),
    ]


def _category_of_int16(values):
    present = sorted({one for one in values if one is not None})
    return pd.Series(pd.Categorical(values, categories=pd.Index(present, dtype="int16")))


@lru_cache
def arrow_kinds() -> list[Kind]:
    """Return what Arrow has."""
    text = [pa.string(), pa.large_string()]
    stamps = [pa.timestamp(unit) for unit in UNITS]
    return [
        *[Kind(f"arrow {name}", name, getattr(pa, name)()) for name in INTEGERS],
        *[Kind(f"arrow {kind}", "text", kind) for kind in text],
        Kind("arrow string_view", "text", pa.string_view()),
        Kind("arrow binary", "bytes", pa.binary()),
        Kind("arrow large_binary", "bytes", pa.large_binary()),
        Kind("arrow fixed binary", "byte", pa.binary(1)),
        *[Kind(f"arrow {kind}", "moment", kind) for kind in stamps],
        Kind("arrow timestamp[us, Berlin]", "zoned", pa.timestamp("us", "Europe/Berlin")),
        Kind("arrow date32", "day", pa.date32()),
        Kind("arrow date64", "day", pa.date64()),
        Kind("arrow time32", "time", pa.time32("s")),
        Kind("arrow time64", "time", pa.time64("us")),
        Kind("arrow duration", "span", pa.duration("s")),
        Kind("arrow decimal", "decimal", pa.decimal128(9, 2), "no"),
        Kind("arrow bool", "truth", pa.bool_(), "no"),
        Kind("arrow float", "fraction", pa.float32(), "no"),
        Kind("arrow double", "fraction", pa.float64(), "no"),
    ]


def table_kinds() -> list[Kind]:
    """Return what a PyArrow table has."""
    simple = [
        Kind(one.name, one.pool, arrow(one.make), one.status, one.nulls) for one in arrow_kinds()
    ]
    return [
        *simple,
        Kind("dictionary of text", "text", dictionary(pa.int8(), pa.string())),
        Kind("dictionary of int64", "int64", dictionary(pa.int32(), pa.int64())),
        Kind("dictionary of uint8", "uint8", dictionary(pa.int16(), pa.uint8())),
    ]


def arrow_backed_kinds() -> list[Kind]:
    """Return what pandas has, backed by Arrow."""
    return [
        Kind(one.name, one.pool, arrow_series(one.make), one.status, one.nulls)
        for one in arrow_kinds()
    ]


def polars_kinds() -> list[Kind]:
    """Return what Polars has."""
    import polars as pl

    def made(dtype):
        return lambda values: pl.Series("", values, dtype=dtype)

    def enum(values):
        return pl.Series("", values, dtype=pl.Enum(sorted({v for v in values if v is not None})))

    names = [name.replace("i", "I").replace("u", "U") for name in INTEGERS]
    return [
        *[Kind(f"pl.{name}", name.lower(), made(getattr(pl, name))) for name in names],
        Kind("pl.String", "text", made(pl.String)),
        Kind("pl.Categorical", "text", made(pl.Categorical)),
        Kind("pl.Enum", "text", enum, "maybe"),
        Kind("pl.Binary", "bytes", made(pl.Binary)),
        Kind("pl.Date", "day", made(pl.Date)),
        Kind("pl.Time", "time", made(pl.Time)),
        *[Kind(f"pl.Datetime {u}", "moment", made(pl.Datetime(u))) for u in ("ms", "us", "ns")],
        Kind("pl.Datetime zoned", "zoned", made(pl.Datetime("us", "Europe/Berlin"))),
        Kind("pl.Duration", "span", made(pl.Duration("ms"))),
        Kind("pl.Decimal", "decimal", made(pl.Decimal(9, 2)), "no"),
        Kind("pl.Boolean", "truth", made(pl.Boolean), "no"),
        Kind("pl.Float32", "fraction", made(pl.Float32), "no"),
    ]


def array_kinds() -> list[Kind]:
    """Return what NumPy has, and lists."""
    kept = [
        Kind(one.name, one.pool, plain(one.name), nulls=False)
        for one in pandas_kinds()
        if one.name in INTEGERS or one.name.startswith(">")
    ]
    return [
        *kept,
        Kind("list of int", "int64", list),
        Kind("list of text", "text", list),
        Kind("U", "text", lambda values: np.array(values), "maybe", nulls=False),
        Kind("M8[D]", "midnight", plain("M8[D]"), nulls=False),
        Kind(">M8[s]", "moment", plain(">M8[s]"), nulls=False),
        Kind("m8[m]", "span", lambda v: np.array(v, "m8[s]").astype("m8[us]"), nulls=False),
        Kind("bool array", "truth", plain("bool"), "no", nulls=False),
        Kind("float16 array", "fraction", plain("float16"), "no", nulls=False),
    ]


def cudf_kinds() -> list[Kind]:
    """Return what cuDF has, as pandas writes it down."""
    names = [
        *INTEGERS, "str", "category of text", "category of int64", "datetime64[s]", "datetime64[ms]",
        "datetime64[us]", "datetime64[ns]", "timedelta64[ms]", "float64", "bool",
    ]  # fmt: skip
    return [one for one in pandas_kinds() if one.name in names]


LIBRARIES = {
    "pandas": pandas_kinds,
    "pandas-arrow": arrow_backed_kinds,
    "polars": polars_kinds,
    "pyarrow": table_kinds,
    "arrays": array_kinds,
    "cudf": cudf_kinds,
}

FLOATS = {"float16", "float32", "float64", ">f2", ">f4", ">f8"}
WEIGHTS = [*INTEGERS, ">i2", ">i8", ">u4", *sorted(FLOATS), "bool"]


# ------------------------------------------------------------------------------------- cases


class Case:
    """One random frame, and what is to be said of it."""

    def __init__(self, seed: int, number: int, libraries: list[str]) -> None:
        rng = self.rng = random.Random(f"{seed}/{number}")
        self.library = rng.choice(libraries)
        kinds = LIBRARIES[self.library]()
        width = 1 if self.library == "arrays" else rng.choice([1, 1, 1, 2, 3])
        chosen = [rng.choice(kinds) for _ in range(width)]
        if rng.random() < 0.85:  # most cases are to work
            good = [one for one in kinds if one.status != "no"]
            chosen = [rng.choice(good) for _ in range(width)]
        self.kinds = chosen
        pools = [pool_of(one.pool, rng) for one in chosen]
        self.others = [
            rng.choice(like(kinds, kind, pool)) if rng.random() < 0.15 else kind
            for kind, pool in zip(chosen, pools, strict=True)
        ]
        rows = rng.choice([1, 2, 5, 12, 30])
        points = list({tuple(rng.choice(pool) for pool in pools) for _ in range(rng.randint(2, 9))})
        self.edges = [(rng.choice(points), rng.choice(points)) for _ in range(rows)]
        self.directed = rng.random() < 0.6
        self.more = points if rng.random() < 0.3 else None
        self.weight = rng.choice([None, *WEIGHTS]) if self.library != "polars" else None
        top = 1 if self.weight == "bool" else 8
        self.weights = [rng.randint(0, top) for _ in self.edges]
        if self.weight in FLOATS:
            self.weights = [one / 8 for one in self.weights]
        self.null = None
        ends = zip(chosen, self.others, strict=True)
        with_nulls = [place for place, pair in enumerate(ends) if all(one.nulls for one in pair)]
        if with_nulls and rng.random() < 0.1:
            self.null = rng.choice(with_nulls), rng.randrange(rows), rng.randrange(2)

    def __str__(self) -> str:
        return (
            f"{self.library}, {[one.name for one in self.kinds]}, "
            f"{[one.name for one in self.others]}, directed={self.directed}, "
            f"weight={self.weight}, vertices={self.more is not None}, null={self.null}, "
            f"edges={self.edges}"
        )

    @property
    def status(self) -> str:
        """Whether the frame must be taken, refused, or either."""
        if self.null is not None or any(one.status == "no" for one in self.kinds):
            return "no"
        if any(one.status == "maybe" for one in [*self.kinds, *self.others]):
            return "maybe"
        # a column of uint64 beside a signed one
        return "maybe" if any(max_of(self, i) > 2**63 - 1 for i in self.mixed()) else "yes"

    def mixed(self) -> list[int]:
        """Return the parts of ids that are of two kinds."""
        return [i for i, kind in enumerate(self.kinds) if kind is not self.others[i]]

    def columns(self) -> dict:
        """Return the columns of the edges."""
        made = {}
        for place, pair in enumerate(zip(self.kinds, self.others, strict=True)):
            for end, (side, kind) in enumerate(zip("sd", pair, strict=True)):
                values = [edge[end][place] for edge in self.edges]
                if self.null is not None and (place, end) == self.null[::2]:
                    values[self.null[1]] = None
                make = kind.make
                if self.library == "pyarrow":
                    make = chunked(make, self.rng)
                made[f"{side}{place}"] = make(values)
        if self.weight is not None:
            made["w"] = np.array(self.weights, self.weight)
            if self.library == "pyarrow":
                made["w"] = pa.array(made["w"].astype(made["w"].dtype.newbyteorder("=")))
            if self.library == "cudf":
                name = made["w"].dtype.newbyteorder("=").name
                made["w"] = made["w"].astype("float32" if name == "float16" else name)
        return made

    def frame(self, columns: dict):
        """Return columns as a frame of the library."""
        if self.library == "pyarrow":
            return pa.table(columns)
        if self.library == "polars":
            import polars as pl

            return pl.DataFrame(columns)
        frame = pd.DataFrame(columns)
        if self.library == "cudf":
            import cudf

            return cudf.DataFrame(frame)
        return frame

    def graph(self):
        """Make the graph; return the dtypes of its ids too, as results should have them."""
        columns = self.columns()
        weight = columns.get("w")
        vertices = None
        if self.more is not None:
            parts = zip(*self.more, strict=True)
            named = {
                f"s{place}": kind.make(list(part))
                for place, (kind, part) in enumerate(zip(self.kinds, parts, strict=True))
            }
            vertices = pd.DataFrame(named) if self.library == "arrays" else self.frame(named)
        if self.library == "arrays":
            if vertices is not None:
                vertices.columns = ["vertex"]
            made = ws.Graph.from_arrays(
                columns["s0"], columns["d0"], weight, directed=self.directed, vertices=vertices
            )
            return made, None
        frame = self.frame(columns)
        names = [[f"{side}{place}" for place in range(len(self.kinds))] for side in "sd"]
        made = ws.Graph(
            frame,
            *names,
            weight=None if weight is None else "w",
            directed=self.directed,
            vertices=vertices,
        )
        dtypes = [
            None if place in self.mixed() else dtype_of(frame, name)
            for place, name in enumerate(names[0])
        ]
        return made, dtypes


def like(kinds: list[Kind], kind: Kind, values: list) -> list[Kind]:
    """Return the kinds that the same values may be written down as."""
    if kind.pool not in INTEGERS:
        return [one for one in kinds if one.pool == kind.pool]
    wide = [one for one in kinds if one.pool in INTEGERS]
    limits = [(one, np.iinfo(one.pool)) for one in wide]
    return [one for one, ends in limits if ends.min <= min(values) and max(values) <= ends.max]


def max_of(case: Case, place: int) -> int:
    """Return the greatest integer in a part of the ids; 0 where there are others."""
    values = [one[place] for edge in case.edges for one in edge]
    values += [one[place] for one in case.more or ()]
    return max((one for one in values if type(one) is int), default=0)


def dtype_of(frame, name):
    """Return a column's dtype, in the machine's byte order."""
    dtype = frame.schema.field(name).type if isinstance(frame, pa.Table) else frame[name].dtype
    return dtype.newbyteorder("=") if isinstance(dtype, np.dtype) else dtype


def values_of(frame, name) -> list:
    """Return a column of a result as Python's values, None for null."""
    column = frame[name]
    if isinstance(column, pd.Series):  # the stand-in for cuDF is one, too
        plain_series = pd.Series(column)
        if isinstance(plain_series.dtype, np.dtype) and plain_series.dtype.kind == "f":
            return [None if math.isnan(one) else one for one in plain_series.tolist()]
        column = pa.array(plain_series, from_pandas=True)
    elif hasattr(column, "to_arrow"):
        with warnings.catch_warnings():  # cuDF casts the greatest code, also where all are null
            warnings.simplefilter("ignore", RuntimeWarning)
            column = column.to_arrow()
    return column.to_pylist()


def ids_of(frame, names) -> list[tuple]:
    """Return ids of a result as tuples; None where a part is null."""
    rows = zip(*(values_of(frame, name) for name in names), strict=True)
    return [None if any(part is None for part in row) else row for row in rows]


# ------------------------------------------------------------------------------------- answers


class Answers:
    """What plain Python says."""

    def __init__(self, case: Case) -> None:
        edges = list(zip(case.edges, case.weights, strict=True))
        self.points = sorted({*(one for edge in case.edges for one in edge), *(case.more or ())})
        arcs = [(u, v, w) for (u, v), w in edges]
        if not case.directed:
            arcs += [(v, u, w) for (u, v), w in edges if u != v]
        self.arcs = arcs
        self.ends = [edge for edge, _ in edges if edge[0] != edge[1]]

    def distances(self, start, length) -> dict:
        """Relax until nothing changes."""
        found = {start: 0}
        changed = True
        while changed:
            changed = False
            for u, v, w in self.arcs:
                if u in found and found[u] + length(w) < found.get(v, math.inf):
                    found[v], changed = found[u] + length(w), True
        return found

    def components(self) -> dict:
        """Give every vertex the least one that it is joined to."""
        label = {point: point for point in self.points}
        changed = True
        while changed:
            changed = False
            for u, v in self.ends:
                least = min(label[u], label[v])
                if label[u] != least or label[v] != least:
                    label[u] = label[v] = least
                    changed = True
        return label

    def cores(self) -> dict:
        """Peel the vertices of least degree, over and over."""
        left, core, level = set(self.points), {}, 0
        while left:
            degree = Counter(u for edge in self.ends if left.issuperset(edge) for u in edge)
            least = min(degree[point] for point in left)
            level = max(level, least)
            gone = {point for point in left if degree[point] <= level}
            core.update(dict.fromkeys(gone, level))
            left -= gone
        return core

    def ranks(self, weighted: bool) -> dict:
        """Iterate far beyond the tolerance that is asked for."""
        n = len(self.points)
        weigh = (lambda w: float(w)) if weighted else (lambda w: 1.0)
        out = Counter()
        for u, _, w in self.arcs:
            out[u] += weigh(w)
        rank = dict.fromkeys(self.points, 1 / n)
        for _ in range(200):
            lost = sum(rank[point] for point in self.points if not out[point])
            new = dict.fromkeys(self.points, 0.15 / n + 0.85 * lost / n)
            for u, v, w in self.arcs:
                if out[u]:
                    new[v] += 0.85 * rank[u] * weigh(w) / out[u]
            rank = new
        return rank


def start_of(case: Case, rng: random.Random):
    """Return a start, and how it is given: as a value, in a list, or in a column of its kind."""
    start = rng.choice(case.edges)[0]
    if len(case.kinds) > 1:
        return start, [start]
    ways = [[start[0]], start[0]]
    with contextlib.suppress(TypeError, ValueError, pa.ArrowException):
        ways.append(case.kinds[0].make([start[0]]))
    return start, rng.choice(ways)


def check(case: Case) -> str:
    """Run a case; return "yes" or "no" as it was taken or refused.

    Raises
    ------
    AssertionError
        If an answer is wrong, or the frame should have been refused, or taken.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ws.GraphWarning)  # edges both ways are welcome
        try:
            graph, dtypes = case.graph()
        except ws.InputError as error:
            if case.status == "yes":
                raise AssertionError(f"refused: {error}") from error
            return "no"
        assert case.status != "no", "should have been refused"
        compare(case, graph, dtypes)
    return "yes"


def compare(case: Case, graph, dtypes) -> None:
    """Compare a few algorithms' results with plain Python's."""
    answers, rng = Answers(case), case.rng
    names = ["vertex"] if len(case.kinds) == 1 else [f"s{i}" for i in range(len(case.kinds))]

    def parts(name):
        return [name] if len(case.kinds) == 1 else [f"{name}_{part}" for part in names]

    def rows(frame):
        assert ids_of(frame, names) == answers.points, "ids"
        for name, dtype in zip(names, dtypes or [], strict=False):
            found = dtype_of(frame, name)
            assert dtype is None or same_dtype(found, dtype), (name, found, dtype)
        return frame

    start, given = start_of(case, rng)
    chosen = rng.sample(["bfs", "sssp", "components", "core", "pagerank"], 2)
    if "bfs" in chosen:
        found = rows(ws.bfs(graph, given))
        hops = answers.distances(start, lambda w: 1)
        assert values_of(found, "distance") == [hops.get(one) for one in answers.points], "hops"
        before = {
            v: min((u for u, t, _ in answers.arcs if t == v and hops.get(u) == hops[v] - 1))
            for v in hops
            if v != start
        }
        told = ids_of(found, parts("predecessor"))
        assert told == [before.get(one) for one in answers.points], "predecessors"
    if "sssp" in chosen:
        found = rows(ws.sssp(graph, given))
        weighted = case.weight is not None
        lengths = answers.distances(start, lambda w: w if weighted else 1)
        told = values_of(found, "distance")
        assert told == [lengths.get(one) for one in answers.points], "lengths"
    if "components" in chosen:
        found = rows(ws.weakly_connected_components(graph))
        label = answers.components()
        assert ids_of(found, parts("labels")) == [label[one] for one in answers.points], "labels"
    if "core" in chosen:
        found = rows(ws.core_number(graph))
        core = answers.cores()
        assert values_of(found, "core_number") == [core[one] for one in answers.points], "cores"
    if "pagerank" in chosen:
        found = rows(ws.pagerank(graph, tol=1e-9, max_iter=1000))
        ranks = answers.ranks(case.weight is not None)
        told = values_of(found, "pagerank")
        assert np.allclose(told, [ranks[one] for one in answers.points], atol=1e-6), "ranks"


def same_dtype(found, wanted) -> bool:
    """Tell whether ids came back in their own dtype.

    A dictionary's codes may be wider, and where two columns' categories differ those of both count; of
    two enumerations of Polars, strings are made.
    """
    if str(wanted).startswith("Enum("):
        return str(found) == "String" or str(found).startswith("Enum(")
    if isinstance(wanted, pa.DictionaryType):
        return isinstance(found, pa.DictionaryType) and found.value_type == wanted.value_type
    if hasattr(wanted, "categories"):  # those of both ends are joined
        return type(found) is type(wanted) or hasattr(found, "categories")
    return found == wanted


# ------------------------------------------------------------------------------------- running


def libraries_here(*, cudf: bool | None) -> list[str]:
    """Return the libraries that are installed; cuDF emulated, real, or (None) left out."""
    here = [name for name in LIBRARIES if name != "cudf"]
    if importlib.util.find_spec("polars") is None:
        here.remove("polars")
    return here if cudf is None else [*here, "cudf"]


@contextlib.contextmanager
def prepared(*, cudf: bool):
    """Let cuDF's frames be emulated, unless it is there."""
    if cudf:
        yield
        return
    with emulated(), stand_in_cudf.installed():
        yield


def run(seed: int, numbers: list[int], libraries: list[str], real: bool) -> tuple[Counter, list]:
    """Run cases by number; return how many were taken and refused, and what failed."""
    counts, failures = Counter(), []
    with prepared(cudf=real):
        for number in numbers:
            case = Case(seed, number, libraries)
            try:
                counts[check(case)] += 1
            except Exception as error:
                failures.append((number, str(case), f"{type(error).__name__}: {error}"))
    return counts, failures


def main(arguments: list[str] | None = None) -> None:
    """Run many cases, on several processes."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, help="number of a case, to run it alone")
    parser.add_argument("--cudf", action="store_true", help="run cuDF's frames on a GPU")
    parser.add_argument("--library", choices=[*LIBRARIES], help="frames of this library only")
    told = parser.parse_args(arguments)
    libraries = [told.library] if told.library else libraries_here(cudf=told.cudf)
    if told.only is not None:
        with prepared(cudf=told.cudf):
            case = Case(told.seed, told.only, libraries)
            print(case)
            print(check(case))
        return
    if told.jobs == 1:
        report(told.seed, *run(told.seed, list(range(told.count)), libraries, told.cudf))
    counts, failures = Counter(), []
    lots = [list(range(first, told.count, 64 * told.jobs)) for first in range(64 * told.jobs)]
    context = multiprocessing.get_context("fork")
    try:
        with ProcessPoolExecutor(told.jobs, mp_context=context) as pool:
            jobs = [pool.submit(run, told.seed, lot, libraries, told.cudf) for lot in lots if lot]
            for job in jobs:
                some, wrong = job.result()
                counts += some
                failures += wrong
    except BrokenProcessPool:
        sys.exit("a process was killed by a signal; run fewer cases, to find which")
    report(told.seed, counts, failures)


def report(seed: int, counts: Counter, failures: list) -> NoReturn:
    """Print what came out, and exit."""
    for number, case, error in sorted(failures)[:20]:
        print(f"--seed {seed} --only {number}: {error}\n    {case}")
    print(f"{counts['yes']:,} taken, {counts['no']:,} refused, {len(failures):,} wrong")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()

"""Several GPUs of one host: builds, functions, exchange, scaling, memory, Parquet; cuGraph for comparison.

All GPUs of the host take part; there must be two.  Only in `ways` may two workers share a single GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from bench.cluster.large import large
from bench.cluster.pieces import cluster
from bench.cluster.scaling import Scaling
from bench.cluster.ways import ways
from bench.gpu.cases import cases
from bench.graphs import GENERATED, SCALING
from bench.parts import Part, parser, read, sweep

__all__ = ["PARTS", "main"]

ALL = "cluster"
USUAL = ("RM33V335E",)


def parts(peers: bool = False) -> dict[str, Part]:
    """Return all parts by their names in records.

    Parameters
    ----------
    peers : bool
        Whether cuGraph is measured in all of them.
    """

    def piece(*pieces: str, hub: bool = False) -> Part:
        return Part(partial(cluster, pieces=pieces, peers=peers, hub=hub), USUAL, by_name=True)

    return {
        ALL: piece("build", "functions", "exchange", "memory"),
        "cluster-build": piece("build", "memory"),
        "cluster-functions": piece("functions"),
        "cluster-exchange": piece("exchange"),
        "cluster-hub": piece("exchange", hub=True),
        "cluster-linked": piece("linked"),
        "cluster-ways": Part(ways, ("RM22",), by_name=True),
        "cluster-scaling": Part(Scaling(), tuple(SCALING), by_name=True),
        "cluster-peers": piece("peers"),
        "cluster-large": Part(large, ("RM54V704E",), by_name=True),
    }


PARTS = parts()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; return 1 if anything failed."""
    names = [one.removeprefix(f"{ALL}-") for one in PARTS if one != ALL]
    text = f"{(__doc__ or '').splitlines()[0]}  Without PART: build, functions, exchange, memory."
    reader = parser("cluster", text, names, [])
    reader.add_argument("--peers", action="store_true",
                        help="also measure cuGraph on several GPUs")  # fmt: skip
    asked = read(reader, arguments, GENERATED.__contains__)
    wanted = [f"{ALL}-{one}" for one in asked.parts] or [ALL]
    return sweep(parts(asked.peers), wanted, asked, cases)

"""Parquet in, Parquet out: rank Debian's packages and keep the dense core of their dependencies.

    python examples/etl.py [EDGES.parquet] [OUTPUT FOLDER]

Arrow tables go in and Arrow tables come out; neither pandas nor Polars is needed.
"""

import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import cugraph_ws as ws

EDGES = Path(__file__).with_name("data") / "debian-dependencies.parquet"


def main(edges: Path = EDGES, output: Path = Path("etl-output")) -> pa.Table:
    """Read edges, write `ranks.parquet` and `core.parquet`, return the ranks."""
    output.mkdir(parents=True, exist_ok=True)
    table = pq.read_table(edges)

    with ws.Graph(table, source="package", destination="depends_on") as graph:
        print(graph.report)
        ranks = ws.pagerank(graph)
    pq.write_table(ranks.sort_by([("pagerank", "descending")]), output / "ranks.parquet")

    # Core numbers ask for undirected edges; two packages that need each other are one edge.
    with ws.Graph(
        table, "package", "depends_on", directed=False, duplicates="first", self_loops="drop"
    ) as graph:
        core = ws.k_core(graph, k=10)
    pq.write_table(core, output / "core.parquet")
    print(f"{len(ranks):,} ranks and {len(core):,} edges of the 10-core written to {output}")
    return ranks


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))

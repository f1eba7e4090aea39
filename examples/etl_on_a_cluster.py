"""An ETL job on a Dask cluster: Parquet edges in, one table of vertices with two results out.

    python examples/etl_on_a_cluster.py [--edges FOLDER] [--out FOLDER] [--scheduler tcp://…]

Without arguments it generates edges, and starts a cluster of two workers on this machine.  It reads
the columns source and destination.  The tables stay partitioned across the workers.  With your own
scheduler, the workers and this script must see the same folders.
"""

import argparse
from contextlib import contextmanager
from pathlib import Path

import dask.dataframe as dd
from distributed import Client

import cugraph_ws as ws
from cugraph_ws.graph.generators import chunks


@ws.vertex_program
class Upstream:
    """The greatest in-degree of any vertex from which a vertex can be reached."""

    greatest: ws.int64
    degree: ws.in_degree

    def init(vertex, p, own):
        return own.degree

    def compute(src):
        return src.greatest

    combine = max

    def apply(old, gathered):
        return max(old.greatest, gathered)


@contextmanager
def cluster(scheduler=None):
    """Connect to a scheduler, or start two workers here."""
    if scheduler is None:
        with ws.local_cluster(2) as client:
            yield client
    else:
        with Client(scheduler) as client:
            yield client


def make_edges(folder: Path) -> None:
    """Write the edges of a small web in four files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    for place, chunk in enumerate(chunks("rmat", size=8_192, scale=11)):
        pq.write_table(pa.table(chunk), folder / f"{place:02}.parquet")


def main(edges=None, out="etl-output", scheduler=None) -> Path:
    """Read edges, write `vertices/`, a Parquet file for each worker; return that folder."""
    out = Path(out)
    if edges is None:
        edges = out / "edges"
        make_edges(edges)
    with cluster(scheduler):
        frame = dd.read_parquet(edges, columns=["source", "destination"])
        with ws.Graph(frame) as graph:
            print(graph)
            ranks = ws.pagerank(graph)
            upstream = ws.run(Upstream, graph).frame
        # Both are sorted by vertex and partitioned at the same vertices, so partitions join in place.
        vertices = ranks.map_partitions(
            lambda one, other: one.merge(other, on="vertex"), upstream, align_dataframes=False
        )
        vertices.to_parquet(out / "vertices", write_index=False, overwrite=True)
        print(vertices.nlargest(5, "pagerank").compute().to_string(index=False))
    return out / "vertices"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", help="folder of Parquet files")
    parser.add_argument("--out", default="etl-output", help="folder for the results")
    parser.add_argument("--scheduler", help="address of a Dask scheduler")
    main(**vars(parser.parse_args()))

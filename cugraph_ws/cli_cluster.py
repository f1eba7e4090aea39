"""`--workers` and `--scheduler`: the same commands on a cluster, folders of Parquet in and out."""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cugraph_ws.cli_output import ranked
from cugraph_ws.errors import EngineError, FileError

if TYPE_CHECKING:
    import pyarrow as pa
    from distributed import Client

    from cugraph_ws.cli_options import Job

__all__ = ["check_folder", "cluster_graph", "cluster_options", "top_rows", "write_folder"]

PATIENCE = 20  # seconds for a scheduler to answer


def cluster_options(job: Job) -> bool:
    """Tell whether a job is for a cluster, and make sure that its options agree.

    Parameters
    ----------
    job : Job

    Returns
    -------
    bool

    Raises
    ------
    click.UsageError
        If they do not.
    """
    tls = {"--tls-ca": job.tls_ca, "--tls-cert": job.tls_cert, "--tls-key": job.tls_key}
    given = [name for name, path in tls.items() if path is not None]
    if job.workers is not None and job.scheduler is not None:
        raise click.UsageError("give --workers for a local cluster or --scheduler, not both")
    if given and job.scheduler is None:
        raise click.UsageError(f"{given[0]} is for --scheduler; give its address")
    if given and len(given) < len(tls):
        missing = ", ".join(name for name in tls if name not in given)
        raise click.UsageError(f"{given[0]} is not enough; give {missing} too")
    return job.workers is not None or job.scheduler is not None


@contextmanager
def cluster_graph(job: Job, attributes: Sequence[str], *, weighted: Any) -> Iterator[Any]:
    """Join a cluster, have it read the edges, and build the graph.

    Parameters
    ----------
    job : Job
    attributes : sequence of str
        Edge columns to keep beside the weight, where the files have them.
    weighted : bool or callable
        Whether the command reads weights, or what tells it of the files' columns.

    Yields
    ------
    ClusterGraph
        Closed when the `with` ends, as is the connection and a local cluster.

    Raises
    ------
    EngineError
        If Dask is not installed, or no scheduler answers.
    FileError
        If the edges are no Parquet.
    """
    from cugraph_ws.cluster.local import need_dask

    need_dask("pandas")
    schema = _schema(job)
    names = {*job.source, *job.destination, *attributes}
    weight = job.weight_column(schema.names, weighted)
    names |= set() if weight is None else {weight}
    job.id_types = [_plain(schema, name) for name in job.source if name in schema.names]
    with ExitStack() as stack:
        client = stack.enter_context(_client(job))
        from cugraph_ws.cluster.graph import ClusterGraph

        have = [name for name in schema.names if name in names]
        edges = _reader(job).read_parquet(
            job.edges, columns=have, split_row_groups=True if job.edges.is_file() else "infer"
        )
        graph = ClusterGraph(
            edges,
            _one_or_list(job.source),
            _one_or_list(job.destination),
            weight,
            directed=not job.undirected,
            vertices=_vertices(job),
            attributes=[name for name in job.wanted(attributes, weight) if name in have],
            duplicates=job.duplicates,
            self_loops=job.self_loops,
            client=client,
        )
        with graph:
            yield graph


@contextmanager
def _client(job: Job) -> Iterator[Client]:
    """Start a local cluster, or connect to a scheduler."""
    from distributed import Client
    from distributed.security import Security

    from cugraph_ws.cluster.local import local_cluster
    from cugraph_ws.engines.threads import number_of_threads

    if job.workers is not None:
        threads = max(1, number_of_threads() // job.workers)
        with local_cluster(job.workers, threads_per_worker=threads, silence_logs="CRITICAL") as own:
            yield own
        return
    assert job.scheduler is not None
    security = None
    if job.tls_ca is not None:
        security = Security(
            tls_ca_file=str(job.tls_ca),
            tls_client_cert=str(job.tls_cert),
            tls_client_key=str(job.tls_key),
            require_encryption=True,
        )
    is_file = job.scheduler.endswith(".json")
    if is_file and not Path(job.scheduler).is_file():
        raise FileError(f"{job.scheduler}: there is no such file; check the path")
    where = {"scheduler_file" if is_file else "address": job.scheduler}
    try:
        client = Client(**where, security=security, timeout=PATIENCE)
    except (OSError, ValueError, TypeError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise EngineError(
            f"--scheduler {job.scheduler}: no scheduler can be reached ({reason}); check the address, and "
            "--tls-ca, --tls-cert and --tls-key if it is a tls:// one"
        ) from error
    with client:
        yield client


def _schema(job: Job) -> pa.Schema:
    """Return the columns of the edge files, by the first of them."""
    import pyarrow as pa
    from pyarrow import parquet

    path = job.edges
    if not path.exists():
        raise FileError(f"{path}: there is no such file; check the path")
    first = min(path.rglob("*.parquet"), default=None) if path.is_dir() else path
    if first is None:
        raise FileError(f"{path}: the folder has no .parquet files; give another one")
    if job.format not in (None, "parquet"):
        raise FileError(f"{path}: a cluster reads Parquet alone; leave --format out")
    try:
        return parquet.read_schema(first)
    except (OSError, pa.ArrowException) as error:
        raise FileError(
            f"{first}: is not a Parquet file; a cluster reads Parquet alone: a folder of files, or one"
        ) from error


def _plain(schema: pa.Schema, name: str) -> Any:
    kind = schema.field(name).type
    return getattr(kind, "value_type", kind)


def _reader(job: Job) -> Any:
    """Return what reads Parquet into frames: cuDF's where the GPUs are asked for."""
    import importlib

    gpu = job.options.engine == "cuda" and importlib.util.find_spec("dask_cudf") is not None
    return importlib.import_module("dask_cudf" if gpu else "dask.dataframe")


def _vertices(job: Job) -> Any:
    """Return the vertex frame: spread as well if it is a folder."""
    from cugraph_ws.readers import read_frame

    if job.vertices is None:
        return None
    if job.vertices.is_dir():
        return _reader(job).read_parquet(job.vertices)
    return read_frame(job.vertices).to_pandas()


def _one_or_list(names: tuple[str, ...]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)


# ------------------------------------------------------------------------------------- results


def check_folder(path: Path) -> Path:
    """Make sure, before any work is done, that a folder of results can be written.

    Parameters
    ----------
    path : Path
        May be there if it holds nothing but Parquet files: it is replaced.

    Returns
    -------
    Path
        Without links.

    Raises
    ------
    FileError
        If it holds anything else, is a file, or its folder is missing or not to be written to.
    """
    path = path.resolve()
    if path.suffix.lower() in (".csv", ".tsv", ".gz"):
        raise FileError(f"{path}: a cluster writes folders of Parquet files; name one, as ranks/")
    if path.exists() and not path.is_dir():
        raise FileError(f"{path}: is a file, and a cluster writes folders; give another path")
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}; make it first")
    if path.is_dir() and any(_is_foreign(one) for one in path.iterdir()):
        raise FileError(f"{path}: the folder holds other files than Parquet; give another path")
    temporary = _beside(path)
    try:
        temporary.mkdir()
        temporary.rmdir()
    except OSError as error:
        raise FileError(
            f"{path}: cannot be written ({error.strerror or error}); give another path"
        ) from error
    return path


def _is_foreign(path: Path) -> bool:
    return path.suffix != ".parquet" or not path.is_file()


def _beside(path: Path) -> Path:
    return path.with_name(f".{uuid.uuid4().hex}.part")


def write_folder(frame: Any, path: Path) -> int:
    """Have the workers write a Dask frame's partitions, a Parquet file each.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    path : Path
        Of a folder that all workers see; it appears, or is replaced, when all files are there.

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    FileError
        If a worker cannot write there, or writes where this process does not look.
    """
    from distributed import get_client

    path = check_folder(path)
    temporary = _beside(path)
    temporary.mkdir()
    try:
        client = get_client()
        parts = client.compute(frame.to_delayed())
        names = [temporary / f"part-{place:05}.parquet" for place in range(len(parts))]
        rows = client.gather(client.map(_write, parts, names, pure=False))
        missing = [name for name in names if not name.is_file()]
        if missing:
            raise FileError(
                f"{path}: workers have written files that are not here; give a folder on a disk that all "
                "workers and this process share"
            )
        _replace(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return sum(rows)


def _replace(temporary: Path, path: Path) -> None:
    """Put a folder in the place of one that may be there."""
    old = _beside(path)
    try:
        if path.exists():
            os.rename(path, old)
        try:
            os.rename(temporary, path)
        except OSError:
            if old.exists():
                os.rename(old, path)
            raise
    except OSError as error:
        raise FileError(
            f"{path}: cannot be written ({error.strerror or error}); give another path"
        ) from error
    shutil.rmtree(old, ignore_errors=True)


def _write(part: Any, path: Path) -> int:
    """Write a partition, on the worker that holds it; return its rows."""
    from cugraph_ws.writers import write_frame

    if not path.parent.is_dir():
        raise FileError(
            f"{path.parent.parent}: a worker does not see this folder; give one on a disk that all share"
        )
    write_frame(part, path)
    return len(part)


def top_rows(frame: Any, rows: int, rank_by: str | None) -> tuple[pa.Table, int]:
    """Return the first rows of a Dask frame, and how many there are.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
    rows : int
        The most to return.
    rank_by : str, optional
        Column whose greatest values come first; default: order of vertices.

    Returns
    -------
    pyarrow.Table
    int
    """
    import pyarrow as pa
    from distributed import get_client

    client = get_client()
    parts = client.compute(frame.to_delayed())
    found = client.gather(client.map(_top, parts, rows=rows, rank_by=rank_by, pure=False))
    tables = [table for table, _ in found]
    whole = pa.concat_tables(tables, promote_options="permissive")
    return ranked(whole, rank_by).slice(0, rows), sum(number for _, number in found)


def _top(part: Any, rows: int, rank_by: str | None) -> tuple[pa.Table, int]:
    """Return the same of a partition, on the worker that holds it."""
    import narwhals as nw

    table = nw.from_native(part, eager_only=True).to_arrow()
    return ranked(table, rank_by).slice(0, rows), table.num_rows

"""`--workers` and `--scheduler`: commands on a cluster, reading and writing Parquet folders."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cugraph_ws.errors import EngineError, FileError, InputError
from cugraph_ws.frames.base import no_such_column

if TYPE_CHECKING:
    import pyarrow as pa
    from distributed import Client

    from cugraph_ws.cli.options import Job
    from cugraph_ws.frames.arrow_files import Folder

__all__ = ["cluster_graph", "cluster_options"]

PATIENCE = 20  # seconds for a scheduler to answer


def cluster_options(job: Job) -> bool:
    """Return whether a job runs on a cluster, and check that its options agree.

    Parameters
    ----------
    job : Job

    Returns
    -------
    bool

    Raises
    ------
    click.UsageError
        If they do not agree.
    """
    tls = {"--tls-ca": job.tls_ca, "--tls-cert": job.tls_cert, "--tls-key": job.tls_key}
    named = [name for name, path in tls.items() if path is not None]
    if job.workers is not None and job.scheduler is not None:
        raise click.UsageError("give --workers for a local cluster or --scheduler, not both")
    if named and job.scheduler is None:
        raise click.UsageError(f"{named[0]} needs --scheduler; give the scheduler's address")
    if named and len(named) < len(tls):
        missing = ", ".join(name for name in tls if name not in named)
        raise click.UsageError(f"{named[0]} is not enough; give {missing} too")
    return job.workers is not None or job.scheduler is not None


@contextmanager
def cluster_graph(job: Job, attributes: Sequence[str], *, weighted: Any) -> Iterator[Any]:
    """Connect to a cluster, read the edges on its workers, and build the graph.

    Parameters
    ----------
    job : Job
    attributes : sequence of str
        Edge columns to keep besides the weight, if the files have them.
    weighted : bool or callable
        Whether the command reads weights, or a function of the files' columns that returns it.

    Yields
    ------
    ClusterGraph
        The end of the `with` block closes it, the connection, and a local cluster.

    Raises
    ------
    EngineError
        If Dask is not installed, or no scheduler answers.
    FileError
        If the edges are not Parquet.
    """
    from cugraph_ws.dask.local import need_dask

    need_dask("pandas")
    folder = _folder(job)
    schema = folder.schema
    names = {*job.source, *job.destination, *attributes}
    weight = job.weight_column(schema.names, weighted)
    names |= set() if weight is None else {weight}
    weights = [] if weight is None else [weight]
    for option, wanted in (
        ("source", job.source),
        ("destination", job.destination),
        ("weight", weights),
    ):
        for name in wanted:
            if name not in schema.names:
                raise InputError(no_such_column(name, option, "edges", schema.names))
    job.id_types = [_plain(schema, name) for name in job.source if name in schema.names]
    with ExitStack() as stack:
        client = stack.enter_context(_client(job))
        from cugraph_ws.dask.graph import ClusterGraph

        have = [name for name in schema.names if name in names]
        folder.refuse_incomplete(have)
        edges = _read_parquet(job, folder, have)
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

    from cugraph_ws.dask.local import local_cluster
    from cugraph_ws.runtime.threads import number_of_threads

    if job.workers is not None:
        threads = max(1, number_of_threads() // job.workers)
        with local_cluster(
            job.workers, threads_per_worker=threads, silence_logs="CRITICAL"
        ) as started:
            yield started
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


def _folder(job: Job) -> Folder:
    """Return the edge files, with the columns of all."""
    import pyarrow as pa

    from cugraph_ws.frames.arrow_files import open_folder

    path = job.edges
    if not os.path.exists(path):  # false also for a name that is too long
        raise FileError(f"{path}: there is no such file; check the path")
    misplaced = {"--header or --no-header": job.header is not None, "--separator": job.separator}
    misplaced |= {"--format": job.format not in (None, "parquet"), "--ids text": job.ids == "text"}
    for flag, value in misplaced.items():
        if value:
            raise FileError(f"{path}: a cluster reads Parquet only; leave {flag} out")
    try:
        return open_folder(path)
    except FileError as error:
        if "is not a Parquet file" not in str(error):
            raise
        raise FileError(
            f"{path}: is not a Parquet file; a cluster reads Parquet only: a folder of files, or one"
        ) from error
    except (OSError, pa.ArrowException) as error:
        raise FileError(
            f"{path}: is not a Parquet file; a cluster reads Parquet only: a folder of files, or one"
        ) from error


def _plain(schema: pa.Schema, name: str) -> Any:
    kind = schema.field(name).type
    return getattr(kind, "value_type", kind)


def _reader(job: Job) -> Any:
    """Return the module that reads Parquet: `dask_cudf` if GPUs are wanted and it is installed."""
    import importlib

    gpu = job.options.engine == "cuda" and importlib.util.find_spec("dask_cudf") is not None
    return importlib.import_module("dask_cudf" if gpu else "dask.dataframe")


def _read_parquet(job: Job, folder: Folder, columns: list[str]) -> Any:
    """Return a Dask frame of some columns, in the types that hold the values of all files."""
    import pyarrow as pa

    types = pa.schema([folder.schema.field(name) for name in columns])
    return _reader(job).read_parquet(
        job.edges,
        columns=columns,
        split_row_groups=True if job.edges.is_file() else "infer",
        **({"dataset": {"schema": types}} if folder.mixed else {}),
    )


def _vertices(job: Job) -> Any:
    """Return the vertex frame; a folder gives a Dask frame."""
    from cugraph_ws.frames.readers import read_frame

    if job.vertices is None:
        return None
    if job.vertices.is_dir():
        return _reader(job).read_parquet(job.vertices)
    return read_frame(job.vertices).to_pandas()


def _one_or_list(names: tuple[str, ...]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)

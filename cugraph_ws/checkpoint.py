"""The state of a run to and from a Parquet file: all of it or nothing, readable by any tool."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import FileError, InputError

__all__ = ["Checkpoints", "check_checkpoint", "fingerprint", "read_checkpoint", "write_checkpoint"]

_KEY = b"cugraph_ws"


class Checkpoints:
    """The checkpoint that one run writes, and the one that it goes on from.

    Parameters
    ----------
    loop : Loop
        The run, started.
    graph : Graph
    path, resume : path-like, optional
        Where to write, and what to read.

    Raises
    ------
    FileError
        If `path` cannot be written to.
    """

    def __init__(
        self,
        loop: Any,
        graph: Any,
        path: str | os.PathLike[str] | None,
        resume: str | os.PathLike[str] | None,
    ) -> None:
        self._loop = loop
        self._path, self._resume = path, resume
        self._identity: dict[str, str] = {}
        if path is not None or resume is not None:
            self._identity = {
                "algorithm": loop.name,
                "graph": fingerprint(graph.csc.offsets, graph.csc.indices),
                **{name: fingerprint(value) for name, value in loop.inputs().items()},
            }
        if path is not None:
            check_checkpoint(path)

    def load(self) -> dict[str, Any]:
        """Restore the state; return the facts that were saved, none if there is nothing to read."""
        if self._resume is None:
            return {}
        arrays, facts = read_checkpoint(self._resume, self._identity)
        self._loop.restore(arrays)
        return facts

    def save(self, facts: dict[str, Any]) -> None:
        """Write the state, if there is a path."""
        if self._path is not None:
            write_checkpoint(self._path, self._loop.state(), {"identity": self._identity, **facts})


def fingerprint(*inputs: Any) -> str:
    """Return a digest of what the outcome of a run depends on.

    Parameters
    ----------
    *inputs
        Arrays, of which type, shape and contents count, and other values, of which `repr` does.

    Returns
    -------
    str
        The same for the same inputs, in any process.
    """
    digest = hashlib.blake2b(digest_size=16)
    for value in inputs:
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype.str}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).view(np.uint8).data)
        else:
            digest.update(repr(value).encode())
    return digest.hexdigest()


def check_checkpoint(path: str | os.PathLike[str]) -> None:
    """Refuse a path that a checkpoint cannot be written to, before work starts.

    Parameters
    ----------
    path : path-like
        The Parquet file.

    Raises
    ------
    FileError
        If its folder is missing or not writable, or it is a folder itself.
    """
    folder = Path(path).absolute().parent
    if Path(path).is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise FileError(
            f"checkpoint={str(path)!r} cannot be written; give a file in a writable folder"
        )


def write_checkpoint(
    path: str | os.PathLike[str],
    arrays: dict[str, npt.NDArray[Any]],
    facts: dict[str, Any],
) -> None:
    """Write a checkpoint; a crash in the middle leaves the previous one whole.

    Parameters
    ----------
    path : path-like
        The Parquet file.
    arrays : dict of ndarray, each of shape (rows,)
        State, by name; arrays may have different lengths.
    facts : dict
        What else identifies the run, JSON-like.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    target = Path(path)
    rows = max((len(array) for array in arrays.values()), default=0)
    lengths = {name: len(array) for name, array in arrays.items()}
    columns = {}
    for name, array in arrays.items():
        column = pa.array(array)
        if len(array) < rows:
            column = pa.concat_arrays([column, pa.nulls(rows - len(array), column.type)])
        columns[name] = column
    table = pa.table(columns).replace_schema_metadata(
        {_KEY: json.dumps({**facts, "lengths": lengths}).encode()}
    )
    temporary = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        try:
            with open(temporary, "wb") as file:
                pq.write_table(table, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, target)
        finally:
            if temporary.exists():  # it has not been renamed: the disk is full, say
                temporary.unlink()
    except OSError as error:
        raise FileError(
            f"checkpoint={str(path)!r} cannot be written ({error}); give a path in a writable folder"
        ) from error


def read_checkpoint(
    path: str | os.PathLike[str], identity: dict[str, str]
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read a checkpoint and check that it belongs to this run.

    Parameters
    ----------
    path : path-like
        The Parquet file.
    identity : dict
        Fingerprints that must be the same as when it was written.

    Returns
    -------
    arrays : dict of ndarray
        State, by name.
    facts : dict
        All facts.

    Raises
    ------
    FileError
        If the file is missing, truncated, or no checkpoint.
    InputError
        If it is another run's.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise FileError(
            f"resume={str(path)!r} cannot be read ({error}); give a file that checkpoint= wrote"
        ) from error
    metadata = (table.schema.metadata or {}).get(_KEY)
    if metadata is None:
        raise FileError(
            f"resume={str(path)!r} is no checkpoint; give a file that checkpoint= wrote"
        )
    facts = json.loads(metadata)
    written = facts["identity"]
    differing = [name for name in identity if written.get(name) != identity[name]]
    if differing or len(written) != len(identity):
        raise InputError(
            f"resume={str(path)!r}: the checkpoint was written with another "
            f"{', '.join(differing) or 'program'}; resume with the same program, graph and arguments"
        )
    arrays = {
        name: np.array(table.column(name).slice(0, length).to_numpy())
        for name, length in facts["lengths"].items()
    }
    return arrays, facts

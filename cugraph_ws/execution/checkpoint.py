"""The state of a run in a Parquet file: written atomically, readable by any tool.

The file carries a digest of its bytes, which is verified before anything else is read.  So a file
that was changed after it was written is refused.  The digest is not a signature: types, lengths and
ranges of the restored state are checked (`SavedState`) before compiled code reads it.

The digest is the value of a key in the file's footer.  It is computed with zeros in its place.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import FileError, InputError
from cugraph_ws.runtime.atomic_files import replacing, sweep
from cugraph_ws.runtime.paths import native_path
from cugraph_ws.runtime.saved_state import SavedState

__all__ = [
    "WEIGHTS",
    "Checkpoints",
    "check_checkpoint",
    "check_progress",
    "fingerprint",
    "read_checkpoint",
    "refuse_beyond",
    "write_checkpoint",
]

WEIGHTS = "set of edge weights"  # in the identity of a run of a loop that reads them
_KEY = b"cugraph_ws"
_DIGEST_KEY = b"cugraph_ws digest"
_MARK = b"blake2b of this file with zeros here: "
_DIGITS = 64
_TAIL = 8  # bytes at the end of a Parquet file: the length of the footer, and "PAR1"
_BLOCK = 1 << 22


class Checkpoints:
    """The checkpoint that one run writes, and the one from which it resumes.

    Parameters
    ----------
    loop : Loop
        The started run.
    graph : Graph
    path, resume : path-like, optional
        File to write, and file to read.

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
        self._loop, self._graph = loop, graph
        self._path, self._resume = path, resume
        self._identity: dict[str, str] = {}
        if path is not None or resume is not None:
            self._identity = {
                "algorithm": loop.name,
                "graph": fingerprint(graph.directed, graph.csc.offsets, graph.csc.indices),
                **{name: fingerprint(value) for name, value in loop.inputs().items()},
            }
            if loop.reads_weights and graph.weight is not None:
                self._identity[WEIGHTS] = fingerprint(graph.edge_values(graph.weight))
        if path is not None:
            check_checkpoint(path)

    def load(self) -> dict[str, Any]:
        """Restore the state; return the saved facts, or an empty dict if there is no file to read."""
        if self._resume is None:
            return {}
        arrays, facts = read_checkpoint(self._resume, self._identity)
        state = SavedState(arrays, f"resume={str(self._resume)!r}")
        self._loop.check(state, self._graph)
        state.close()
        check_progress(facts, state)
        self._loop.restore(arrays)
        return facts

    def save(self, facts: dict[str, Any]) -> None:
        """Write the state, if a path is given."""
        if self._path is not None:
            write_checkpoint(self._path, self._loop.state(), {"identity": self._identity, **facts})


def fingerprint(*inputs: Any) -> str:
    """Return a digest of everything that determines the result of a run.

    Parameters
    ----------
    *inputs
        Arrays, compared by type, shape and contents, and other values, compared by `repr`.

    Returns
    -------
    str
        Equal for equal inputs, in any process.
    """
    digest = hashlib.blake2b(digest_size=16)
    for value in inputs:
        if isinstance(value, np.ndarray):
            digest.update(f"{value.dtype.str}{value.shape}".encode())
            digest.update(np.ascontiguousarray(value).view(np.uint8).data)
        else:
            digest.update(repr(value).encode())
    return digest.hexdigest()


def check_progress(facts: dict[str, Any], state: SavedState) -> None:
    """Refuse a checkpoint without a valid number of supersteps.

    Parameters
    ----------
    facts : dict
        From `read_checkpoint`.
    state : SavedState
        Used for the error message.

    Raises
    ------
    InputError
    """
    iterations, residual = facts.get("iterations"), facts.get("residual")
    if type(facts.get("synchronous", True)) is not bool:
        state.refuse("synchronous", f"is {facts['synchronous']!r}")
    if type(iterations) is not int or iterations < 0:
        state.refuse("iterations", f"is {iterations!r}")
    if residual is not None and type(residual) not in (int, float):
        state.refuse("residual", f"is {residual!r}")


def refuse_beyond(
    facts: dict[str, Any], max_iter: int | None, resume: Any, *, synchronous: bool
) -> None:
    """Refuse a checkpoint whose state is not one of the first `max_iter` supersteps.

    Parameters
    ----------
    facts : dict
        From `read_checkpoint`, checked.
    max_iter : int or None
        The limit of the run that resumes.
    resume : path-like
        Used for the error message.
    synchronous : bool
        Whether the run's states are to be those after whole supersteps.

    Raises
    ------
    InputError
    """
    if max_iter is None or not facts:
        return
    done, origin = facts["iterations"], f"resume={str(resume)!r}"
    if done > max_iter:
        raise InputError(
            f"{origin}: the checkpoint is of {done} supersteps, and the limit of this run is {max_iter}; "
            "raise the limit, or start anew"
        )
    if synchronous and not facts.get("synchronous", True):
        raise InputError(
            f"{origin}: the checkpoint is of a run without a limit, whose messages were taken out of "
            f"order, and the limit of this run is {max_iter} supersteps; resume without a limit, or "
            "start anew"
        )


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
    path = native_path(path)
    folder = path.absolute().parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise FileError(
            f"checkpoint={str(path)!r} cannot be written; give a file in a writable folder"
        )
    sweep(folder)


def write_checkpoint(
    path: str | os.PathLike[str],
    arrays: dict[str, npt.NDArray[Any]],
    facts: dict[str, Any],
) -> str:
    """Write a checkpoint; after a crash the previous one is still complete.

    Parameters
    ----------
    path : path-like
        The Parquet file.
    arrays : dict of ndarray, each of shape (rows,)
        State by name; arrays may have different lengths.
    facts : dict
        Other facts about the run; JSON-serialisable.

    Returns
    -------
    str
        The digest that the file carries.

    Raises
    ------
    FileError
        If the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = max((len(array) for array in arrays.values()), default=0)
    lengths = {name: len(array) for name, array in arrays.items()}
    columns = {}
    for name, array in arrays.items():
        column = pa.array(array)
        if len(array) < rows:
            column = pa.concat_arrays([column, pa.nulls(rows - len(array), column.type)])
        columns[name] = column
    table = pa.table(columns).replace_schema_metadata(
        {
            _KEY: json.dumps({**facts, "lengths": lengths}).encode(),
            _DIGEST_KEY: _MARK + b"0" * _DIGITS,
        }
    )
    try:
        with replacing(native_path(path)) as file:
            pq.write_table(table, file)
            return _seal(file)
    except OSError as error:
        raise FileError(
            f"checkpoint={str(path)!r} cannot be written ({error}); give a path in a writable folder"
        ) from error


def _seal(file: IO[bytes]) -> str:
    """Write the digest of a file's bytes into its footer; return it."""
    place = _place_of_digest(file)
    assert place is not None, "pyarrow writes the keys of a schema as they are"
    digest = _digest_of(file, place)
    file.seek(place)
    file.write(digest.encode())
    file.seek(0, os.SEEK_END)
    return digest


def _place_of_digest(file: IO[bytes]) -> int | None:
    """Return the offset of the digest in a Parquet file, None if there is none."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _TAIL, 0))
    tail = file.read(_TAIL)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != b"PAR1" or length > size - _TAIL:
        return None
    start = size - _TAIL - length
    file.seek(start)
    offset = file.read(length).find(_MARK)
    place = start + offset + len(_MARK)
    return place if offset >= 0 and place + _DIGITS <= size - _TAIL else None


def _blocks(file: IO[bytes], place: int) -> Iterator[bytes]:
    """Read a file, with zeros in place of its digest."""
    file.seek(0)
    remaining = place
    while remaining:
        block = file.read(min(remaining, _BLOCK))
        remaining -= len(block)
        yield block
    yield b"0" * _DIGITS
    file.seek(place + _DIGITS)
    while block := file.read(_BLOCK):
        yield block


def _digest_of(file: IO[bytes], place: int) -> str:
    digest = hashlib.blake2b(digest_size=_DIGITS // 2)
    for block in _blocks(file, place):
        digest.update(block)
    return digest.hexdigest()


def read_checkpoint(
    path: str | os.PathLike[str], identity: dict[str, str], digest: str | None = None
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Read a checkpoint and check that it belongs to this run.

    Parameters
    ----------
    path : path-like
        The Parquet file.
    identity : dict
        Fingerprints that must equal those in the file.
    digest : str, optional
        The digest that the file must carry: for a part of a checkpoint, the one that the main file lists.

    Returns
    -------
    arrays : dict of ndarray
        State, by name.
    facts : dict
        All facts.

    Raises
    ------
    FileError
        If the file is missing, truncated, damaged, or not a checkpoint.
    InputError
        If it belongs to another run, or was not written by a run.
    """
    table = _read_whole(path, digest)
    metadata = (table.schema.metadata or {}).get(_KEY, b"")
    origin = f"resume={str(path)!r}"
    try:
        facts = json.loads(metadata)
        written, lengths = dict(facts["identity"]), dict(facts["lengths"])
        _check_facts(facts, table, lengths)
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"{origin}: the checkpoint's metadata is invalid ({error}); resume from "
            "another checkpoint, or start again"
        ) from error
    differing = [name for name in identity if written.get(name) != identity[name]]
    if differing or len(written) != len(identity):
        raise InputError(
            f"{origin}: the checkpoint was written with another "
            f"{', '.join(differing) or 'program'}; resume with the same program, graph and arguments"
        )
    arrays = {}
    for name, length in lengths.items():
        column = table.column(name).slice(0, length)
        if column.null_count:
            raise InputError(
                f"{origin}: the checkpoint's column {name!r} has nulls; resume from another "
                "checkpoint, or start again"
            )
        arrays[name] = np.array(column.to_numpy())
    return arrays, facts


def _read_whole(path: str | os.PathLike[str], digest: str | None) -> Any:
    """Read the table of a file after verifying its digest."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    origin = f"resume={str(path)!r}"
    try:
        with open(native_path(path), "rb") as file:
            place = _place_of_digest(file)
            if place is None:
                raise _unsealed(origin, file)
            file.seek(place)
            length_text = file.read(_DIGITS)
            expected = _digest_of(file, place)
            if length_text != expected.encode() or (digest is not None and expected != digest):
                raise FileError(
                    f"{origin} is damaged, or belongs to another run: its content does not match "
                    "its digest; resume from another checkpoint, or start again"
                )
            file.seek(0)
            return pq.read_table(file)
    except FileError:
        raise
    except (OSError, MemoryError, pa.ArrowException) as error:
        raise FileError(
            f"{origin} cannot be read ({error}); give a file that checkpoint= wrote"
        ) from error


def _unsealed(origin: str, file: IO[bytes]) -> FileError:
    """Return the error about a file without a digest."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - _BLOCK, 0))
    end = file.read()
    if _KEY in end and b'"identity"' in end:
        return FileError(
            f"{origin} has no digest: it is truncated, damaged, or was written by an earlier version; "
            "start the run again"
        )
    return FileError(f"{origin} is not a checkpoint; give a file that checkpoint= wrote")


def _check_facts(facts: dict[str, Any], table: Any, lengths: dict[str, Any]) -> None:
    """Raise ValueError for facts that no run can have written."""
    import pyarrow.types as kinds

    if sorted(lengths) != sorted(table.column_names):
        raise ValueError("its columns differ from those that its metadata names")
    for name, length in lengths.items():
        if type(length) is not int or not 0 <= length <= table.num_rows:
            raise ValueError(f"column {name!r} has length {length!r} in {table.num_rows} rows")
        kind = table.schema.field(name).type
        if not (kinds.is_integer(kind) or kinds.is_floating(kind) or kinds.is_boolean(kind)):
            raise ValueError(f"column {name!r} is of type {kind}")

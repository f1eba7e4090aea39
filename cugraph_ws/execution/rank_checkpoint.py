"""A checkpoint of several ranks: a Parquet file that lists further files, one for each rank's part.

Parts are by range of vertices, so that a different number of ranks can resume.  The file is
replaced after all of its parts are written: a crash at any moment leaves a complete checkpoint.
"""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import FileError, InputError
from cugraph_ws.execution.checkpoint import (
    WEIGHTS,
    check_checkpoint,
    check_progress,
    fingerprint,
    read_checkpoint,
    write_checkpoint,
)
from cugraph_ws.graph.home import to_owners, to_ranges
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.atomic_files import sweep
from cugraph_ws.runtime.communicator import Communicator, attempt
from cugraph_ws.runtime.mixing import mixed
from cugraph_ws.runtime.paths import native_path
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["RankCheckpoints"]

Array = npt.NDArray[Any]

# Name of a rank's file: number of supersteps, rank, number of ranks, and a random number
PART = re.compile(r"\d+-\d+-\d+(-[0-9a-f]{16})?\.parquet")

# Constants of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
_GOLDEN = 0x9E3779B97F4A7C15


class RankCheckpoints:
    """The checkpoint that the ranks write, and the one from which they resume; collective.

    Parameters
    ----------
    loop : Loop
        This rank's loop, started.
    graph : ShardGraph
        This rank's shard.
    path, resume : path-like, optional
        File to write, and file to read, in a folder that all ranks see.

    Raises
    ------
    FileError
        If a rank cannot write there.
    """

    def __init__(
        self,
        loop: Any,
        graph: ShardGraph,
        path: str | os.PathLike[str] | None,
        resume: str | os.PathLike[str] | None,
    ) -> None:
        self._loop, self._graph, self._comm = loop, graph, graph.comm
        self._path = None if path is None else native_path(path)
        self._resume = None if resume is None else native_path(resume)
        self._identity: dict[str, str] = {}
        if path is not None or resume is not None:
            self._identity = _identity(loop, graph)
        if self._path is not None:
            check_checkpoint(self._path)

    def load(self) -> dict[str, Any]:
        """Restore the state; return the saved facts, or an empty dict if there is no file to read."""
        if self._resume is None:
            return {}
        degrees = self._degrees()
        arcs = int(degrees.sum())
        first, all_arcs = _arcs_before(self._comm, arcs)
        arrays, facts = attempt(self._comm, lambda: self._read(first, arcs, all_arcs))
        if not self._graph.owners.in_ranges:
            arrays = self._of_owned(arrays, degrees)
        attempt(self._comm, lambda: self._check(arrays, facts))
        self._loop.restore(arrays)
        return facts

    def _degrees(self) -> Array:
        """Return the in-degrees of the vertices of this rank's range; collective."""
        graph, degrees = self._graph, self._graph.csc.degrees
        if graph.owners.in_ranges:
            return degrees
        return to_ranges(self._comm, graph.owners, graph.owners.numbers(), degrees)[1][0]

    def _of_ranges(self, state: dict[str, Array]) -> dict[str, Array]:
        """Return the arrays of this rank's range, given those of its own vertices and arcs; collective."""
        graph = self._graph
        moved: dict[str, Array] = {}
        numbers = graph.owners.numbers()
        for names, keys in (
            (self._loop.by_vertex_state, numbers),
            (self._loop.by_arc_state, np.repeat(numbers, graph.csc.degrees)),
        ):
            arrays = [state[name] for name in names if name in state]
            received = to_ranges(self._comm, graph.owners, keys, *arrays)[1]
            moved |= zip([name for name in names if name in state], received, strict=True)
        return moved

    def _of_owned(self, state: dict[str, Array], degrees: Array) -> dict[str, Array]:
        """Return the arrays of this rank's own vertices and arcs, given those of its range; collective."""
        owners = self._graph.owners
        numbers = np.arange(*owners.cuts[owners.rank : owners.rank + 2])
        for names, keys in (
            (self._loop.by_vertex_state, numbers),
            (self._loop.by_arc_state, np.repeat(numbers, degrees)),
        ):
            received = to_owners(self._comm, owners, keys, *(state[name] for name in names))
            state |= zip(names, received, strict=True)
        return state

    def _read(
        self, first: int, arcs: int, all_arcs: int
    ) -> tuple[dict[str, Array], dict[str, Any]]:
        """Read the state of this rank's range; not collective."""
        assert self._resume is not None
        arrays, facts = read_checkpoint(self._resume, self._identity)
        if "parts" not in facts:
            raise FileError(
                f"resume={str(self._resume)!r} was written by a run on one machine; resume it there, on "
                "a Graph of one frame"
            )
        graph, origin = self._graph, f"resume={str(self._resume)!r}"
        ends = {"vertices": graph.number_of_vertices, "arcs": all_arcs}
        _check_parts(facts["parts"], ends, origin)
        low, high = graph.owners.cuts[self._comm.rank : self._comm.rank + 2].tolist()
        for names, of, begin, length in (
            (self._loop.by_vertex_state, "vertices", low, high - low),
            (self._loop.by_arc_state, "arcs", first, arcs),
        ):
            pieces: dict[str, list[Array]] = {name: [] for name in names}
            for part in facts["parts"]:
                start, stop = part[of]
                wanted = slice(max(begin, start) - start, min(begin + length, stop) - start)
                if wanted.stop < wanted.start or not names:
                    continue
                part_arrays, _ = read_checkpoint(
                    _folder(self._resume) / part["file"], {}, part["digest"]
                )
                checked = SavedState(part_arrays, origin)
                for name in names:
                    is_whole = checked.any(name, stop - start)
                    pieces[name].append(is_whole[wanted])
            arrays |= {name: np.concatenate(parts) for name, parts in pieces.items()}
        return arrays, facts

    def _check(self, arrays: dict[str, Array], facts: dict[str, Any]) -> None:
        """Check this rank's part of the state; not collective."""
        state = SavedState(arrays, f"resume={str(self._resume)!r}")
        self._loop.check(state, self._graph)
        state.close()
        check_progress(facts, state)

    def save(self, facts: dict[str, Any]) -> None:
        """Write the state, if a path is given."""
        if self._path is None:
            return
        state = self._loop.state()
        divided = {*self._loop.by_vertex_state, *self._loop.by_arc_state}
        owners, arcs = self._graph.owners, int(self._degrees().sum())
        folder = _folder(self._path)
        folder.mkdir(exist_ok=True)
        # A new name each time: the previous checkpoint's parts stay until this one is complete.
        file = f"{facts['iterations']}-{self._comm.rank}-{self._comm.size}-{secrets.token_hex(8)}.parquet"
        mine = {name: array for name, array in state.items() if name in divided}
        if not owners.in_ranges:
            mine = self._of_ranges(mine)
        digest = write_checkpoint(folder / file, mine, {"identity": {}})
        first, _ = _arcs_before(self._comm, arcs)
        part: dict[str, Any] = {
            "file": file,
            "digest": digest,
            "vertices": owners.cuts[owners.rank : owners.rank + 2].tolist(),
            "arcs": [first, first + arcs],
        }
        parts = self._comm.allgather(part)  # all parts are written
        if self._comm.rank == 0:
            shared = {name: array for name, array in state.items() if name not in divided}
            write_checkpoint(
                self._path, shared, {"identity": self._identity, "parts": parts, **facts}
            )
            _drop_others(folder, [part["file"] for part in parts])
        self._comm.allgather(None)  # no rank continues before the file exists


def _folder(path: Path) -> Path:
    """Return the folder with the parts of a checkpoint."""
    return path.with_name(f"{path.name}.parts")


def _drop_others(folder: Path, names_kept: Sequence[str]) -> None:
    """Remove the parts of earlier checkpoints, and nothing else."""
    for file in folder.iterdir():
        if PART.fullmatch(file.name) and file.name not in names_kept:
            file.unlink(missing_ok=True)
    sweep(folder)


def _check_parts(parts: Any, ends: dict[str, int], origin: str) -> None:
    """Refuse a list of parts if their ranges have gaps or do not cover everything."""
    try:
        names = [PART.fullmatch(part["file"]) is not None for part in parts]
        digests = [type(part["digest"]) is str for part in parts]
        cuts = {of: [0, *(part[of][1] for part in parts)] for of in ends}
        good = all(names) and all(digests) and len(parts) > 0
        for of, end in ends.items():
            bounds = [tuple(part[of]) for part in parts]
            good = good and bounds == list(pairwise(cuts[of])) and cuts[of][-1] == end
            good = (
                good and all(type(cut) is int for cut in cuts[of]) and cuts[of] == sorted(cuts[of])
            )
    except (TypeError, KeyError, IndexError, ValueError):
        good = False
    if not good:
        raise InputError(
            f"{origin}: the checkpoint's list of parts is invalid; resume from another checkpoint, "
            "or start again"
        )


def _arcs_before(comm: Communicator, arcs: int) -> tuple[int, int]:
    """Return the number of arcs on lower ranks, and on all ranks; collective."""
    counts = comm.allgather(arcs)
    return sum(counts[: comm.rank]), sum(counts)


def _identity(loop: Any, graph: ShardGraph) -> dict[str, str]:
    """Return fingerprints that do not depend on the number of ranks; collective."""
    csc = graph.csc
    sources = graph.positions[csc.indices]
    destinations = np.repeat(graph.positions[: graph.owned], csc.degrees)
    arcs = _mixed(_mixed(np.zeros(len(sources), np.uint64), sources), destinations)
    vertices = _mixed(np.zeros(graph.owned, np.uint64), graph.positions[: graph.owned])
    comm = graph.comm
    identity = {
        "algorithm": loop.name,
        "graph": f"{graph.number_of_vertices} {graph.directed} {_sum(comm, arcs)}",
    }
    if loop.reads_weights and graph.weight is not None:
        identity[WEIGHTS] = _sum(comm, _mixed(arcs, graph.edge_values(graph.weight)))
    # A program's constant may have the same name as an edge column.
    by_arc = loop.arc_inputs
    for name, value in loop.inputs().items():
        if isinstance(value, np.ndarray) and name in by_arc:
            identity[name] = _sum(comm, _mixed(arcs, value))
        elif isinstance(value, np.ndarray) and value.shape == (graph.length,):
            identity[name] = _sum(comm, _mixed(vertices, value[: graph.owned]))
        elif isinstance(value, np.ndarray):  # one entry for all vertices
            identity[name] = fingerprint(value[:1])
        else:
            identity[name] = fingerprint(value)
    return identity


def _mixed(keys: npt.NDArray[np.uint64], values: Array) -> npt.NDArray[np.uint64]:
    """Return a mixed hash of keys and the bits of values."""
    wide = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    words: npt.NDArray[np.uint64] = mixed((keys ^ wide.view(np.uint64)) + np.uint64(_GOLDEN))
    return words ^ (words >> np.uint64(31))


def _sum(comm: Communicator, keys: npt.NDArray[np.uint64]) -> str:
    """Return the sum of all ranks' keys, as text; it does not depend on their order."""
    own_sum = int(keys.sum(dtype=np.uint64))
    return f"{sum(comm.allgather(own_sum)) % (1 << 64):016x}"

"""A crew's checkpoint: a Parquet file that names parts, one for each member, beside it.

Parts are by range of vertices, so that another number of members can go on from them.  The file is
replaced once all its parts are there: a crash at any moment leaves a whole checkpoint behind.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.checkpoint import (
    check_checkpoint,
    fingerprint,
    read_checkpoint,
    write_checkpoint,
)
from cugraph_ws.cluster.crew import Crew
from cugraph_ws.cluster.shard import ShardGraph
from cugraph_ws.errors import FileError

__all__ = ["CrewCheckpoints"]

Array = npt.NDArray[Any]

# Constants of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


class CrewCheckpoints:
    """The checkpoint that a crew writes, and the one that it goes on from, together.

    Parameters
    ----------
    loop : Loop
        This member's, started.
    graph : ShardGraph
        Its share.
    path, resume : path-like, optional
        Where to write, and what to read: files in a folder that all members see.

    Raises
    ------
    FileError
        If a member cannot write there.
    """

    def __init__(
        self,
        loop: Any,
        graph: ShardGraph,
        path: str | os.PathLike[str] | None,
        resume: str | os.PathLike[str] | None,
    ) -> None:
        self._loop, self._graph, self._crew = loop, graph, graph.crew
        self._path = None if path is None else Path(path)
        self._resume = None if resume is None else Path(resume)
        self._identity: dict[str, str] = {}
        if path is not None or resume is not None:
            self._identity = _identity(loop, graph)
        if self._path is not None:
            check_checkpoint(self._path)

    def load(self) -> dict[str, Any]:
        """Restore the state; return the facts that were saved, none if there is nothing to read."""
        if self._resume is None:
            return {}
        arrays, facts = read_checkpoint(self._resume, self._identity)
        if "parts" not in facts:
            raise FileError(
                f"resume={str(self._resume)!r} was written by a run on one machine; resume it there, on "
                "a Graph of one frame"
            )
        low, first = self._graph.low, _arcs_before(self._graph)
        arcs = self._graph.csc.number_of_arcs
        for names, ends, begin, length in (
            (self._loop.by_vertex_state, "vertices", low, self._graph.owned),
            (getattr(self._loop, "by_arc_state", ()), "arcs", first, arcs),
        ):
            pieces: dict[str, list[Array]] = {name: [] for name in names}
            for part in facts["parts"]:
                start, stop = part[ends]
                wanted = slice(max(begin, start) - start, min(begin + length, stop) - start)
                if wanted.stop < wanted.start or not names:
                    continue
                held, _ = read_checkpoint(_folder(self._resume) / part["file"], {})
                for name in names:
                    pieces[name].append(held[name][wanted])
            arrays |= {name: np.concatenate(found) for name, found in pieces.items()}
        self._loop.restore(arrays)
        return facts

    def save(self, facts: dict[str, Any]) -> None:
        """Write the state, if there is a path."""
        if self._path is None:
            return
        state = self._loop.state()
        divided = {*self._loop.by_vertex_state, *getattr(self._loop, "by_arc_state", ())}
        folder = _folder(self._path)
        folder.mkdir(exist_ok=True)
        file = f"{facts['iterations']}-{self._crew.rank}-{self._crew.size}.parquet"
        mine = {name: array for name, array in state.items() if name in divided}
        write_checkpoint(folder / file, mine, {"identity": {}})
        first, owned = _arcs_before(self._graph), self._graph.owned
        part: dict[str, Any] = {
            "file": file,
            "vertices": [self._graph.low, self._graph.low + owned],
            "arcs": [first, first + self._graph.csc.number_of_arcs],
        }
        parts = self._crew.allgather(part)  # all parts are there
        if self._crew.rank == 0:
            shared = {name: array for name, array in state.items() if name not in divided}
            write_checkpoint(
                self._path, shared, {"identity": self._identity, "parts": parts, **facts}
            )
            _drop_others(folder, [part["file"] for part in parts])
        self._crew.allgather(None)  # nobody goes on before the file is there


def _folder(path: Path) -> Path:
    """Return where the parts of a checkpoint are."""
    return path.with_name(f"{path.name}.parts")


def _drop_others(folder: Path, kept: Sequence[str]) -> None:
    """Remove the parts of earlier checkpoints."""
    for file in folder.iterdir():
        if file.name not in kept:
            file.unlink(missing_ok=True)


def _arcs_before(graph: ShardGraph) -> int:
    """Return how many arcs the members before this one have, together."""
    counts = graph.crew.allgather(graph.csc.number_of_arcs)
    return sum(counts[: graph.crew.rank])


def _identity(loop: Any, graph: ShardGraph) -> dict[str, str]:
    """Return fingerprints that are the same for any number of members, together."""
    csc = graph.csc
    sources = graph.positions[csc.indices]
    destinations = np.repeat(graph.positions[: graph.owned], csc.degrees)
    arcs = _mixed(_mixed(np.zeros(len(sources), np.uint64), sources), destinations)
    vertices = _mixed(np.zeros(graph.owned, np.uint64), graph.positions[: graph.owned])
    crew = graph.crew
    identity = {
        "algorithm": loop.name,
        "graph": f"{graph.number_of_vertices} {_sum(crew, arcs)}",
    }
    # A program's constant may have the name of an edge column.
    by_arc = getattr(loop, "arc_inputs", graph.edge_attributes)
    for name, value in loop.inputs().items():
        if isinstance(value, np.ndarray) and name in by_arc:
            identity[name] = _sum(crew, _mixed(arcs, value))
        elif isinstance(value, np.ndarray) and value.shape == (graph.length,):
            identity[name] = _sum(crew, _mixed(vertices, value[: graph.owned]))
        elif isinstance(value, np.ndarray):  # one entry for all
            identity[name] = fingerprint(value[:1])
        else:
            identity[name] = fingerprint(value)
    return identity


def _mixed(keys: npt.NDArray[np.uint64], values: Array) -> npt.NDArray[np.uint64]:
    """Return well mixed keys of keys and the bits of values."""
    wide = values.astype(np.float64 if values.dtype.kind == "f" else np.int64)
    mixed = (keys ^ wide.view(np.uint64)) + np.uint64(_GOLDEN)
    for shift, factor in ((30, _FIRST), (27, _SECOND)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return mixed ^ (mixed >> np.uint64(31))


def _sum(crew: Crew, keys: npt.NDArray[np.uint64]) -> str:
    """Return the sum of all members' keys, as text: it does not depend on their order."""
    own = int(keys.sum(dtype=np.uint64))
    return f"{sum(crew.allgather(own)) % (1 << 64):016x}"

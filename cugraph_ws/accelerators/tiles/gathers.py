"""Decide when gathers of all vertices on the CPU go over tiles of arcs, and run them.

States are bitwise equal over rows and over tiles.  So the choice may depend on earlier runs on the
graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.accelerators.tiles.tiling import Tiles, Tiling, tiling_of
from cugraph_ws.backends.cpu.context import Array, Context
from cugraph_ws.contract import LayoutName
from cugraph_ws.errors import EngineError
from cugraph_ws.graph.adjacency import Adjacency
from cugraph_ws.kernels.accelerators.tiles.sums import sum_tiles
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.runtime.memory import available_memory
from cugraph_ws.runtime.threads import parallel

__all__ = ["TileChoice", "TiledGathers", "TiledRows", "TiledSums", "why_not_tiled"]

LEAST_ARCS = 1 << 22  # a superstep of fewer takes less time than the compilation of two loops pays
NEAR = 1 << 20  # bytes of source values that fit a core's cache
THIN = 64  # mean arcs of a tile below which tiles do not pay
NEW_LINES = 0.06  # new cache lines of source values per arc from which reads count as scattered
FIRST = 2  # supersteps over rows before tiles are made, which takes the time of about two
WIDTH = 8  # bytes of a value of whole-array sums
SHARE = 4  # tiles may take one in so many bytes of the available memory


def why_not_tiled(
    bound: BoundProgram, *, gathers: bool, in_place: bool, divided: bool, plain: bool
) -> str | None:
    """Return why a program's supersteps cannot go over tiles, or None if they can.

    Parameters
    ----------
    bound : BoundProgram
    gathers : bool
        Whether every superstep gathers from all in-neighbours.
    in_place : bool
        Whether supersteps write into the state that they read.
    divided : bool
        Whether the graph is partitioned.
    plain : bool
        Whether the program runs as plain Python.
    """
    program = bound.program
    if plain:
        return "engine='python' reads rows as they are"
    if not gathers:
        return f"{program.name} runs by frontiers, and only dense supersteps go over tiles"
    if divided:
        return "partitions combine messages in the order of vertex numbers, which tiles do not keep"
    if in_place:
        return "supersteps in place read what they have written, row by row"
    if program.listing is not None:
        return f"{program.listing!r} of {program.name} lists the messages of a row"
    if program.edge_state:
        return f"{program.name} keeps state on edges, in the order of rows"
    if program.notes_errors:
        return f"{program.name} checks the range of its messages row by row"
    return None


def _edge_bytes(part: Any) -> int:
    return sum(column.nbytes for column in part.edges("csc"))


class TileChoice:
    """Whether sums over the rows of an adjacency go over its tiles.

    Parameters
    ----------
    tiling : Tiling
    size : int
        See `Tiling.shape`.
    width : int
        Bytes of a source's values.
    carried : callable
        Returns the bytes of edge attributes that tiles would need in their order.
    """

    def __init__(
        self, tiling: Tiling, size: int, width: int, carried: Callable[[], int] = lambda: 0
    ) -> None:
        self._tiling, self._size, self._width, self._carried = tiling, size, width, carried
        self._why_not: str | None = None

    def why_rows(self) -> str | None:
        """Return why the next gather goes over rows, or None for tiles; called once for each."""
        tiling = self._tiling
        if self._why_not is None and not tiling.made:
            self._why_not = self._why_small()
        if self._why_not is not None:
            return self._why_not
        tiling.gathers += 1
        if tiling.made:
            return None
        if tiling.gathers <= FIRST:
            return f"tiles are made after {FIRST} supersteps over rows"
        self._why_not = self._why_dear()
        return self._why_not

    def _why_small(self) -> str | None:
        """Return why tiles cannot pay, or None: reads of sources miss the cache, and tiles are not thin."""
        tiling, arcs = self._tiling, len(self._tiling.indices)
        if tiling.mapped:
            return "the arcs are in files, and tiles would be in memory"
        if arcs < LEAST_ARCS:
            return f"{arcs:,} arcs are few"
        if self._size * self._width < NEAR:
            return "the values of all sources fit a core's cache"
        ranges, bits = tiling.shape(self._size)
        each = arcs / (len(ranges) * -(-self._size // (1 << bits)))
        return f"tiles would have {each:.0f} arcs on average" if each < THIN else None

    def _why_dear(self) -> str | None:
        """Return why tiles do not pay on this machine, or None."""
        tiling, size = self._tiling, self._size
        if SHARE * (tiling.cost(size) + self._carried()) > available_memory():
            return f"tiles would take more than a {SHARE}th of the available memory"
        lines = tiling.spread(size)
        return f"an arc reads {lines:.2f} new cache lines on average" if lines < NEW_LINES else None


class TiledRows:
    """The tiles of one run on the CPU; see `cugraph_ws.contract.HostGathersOfRun`.

    Parameters
    ----------
    context : Context
    layout : {"auto", "csc", "tiles"}
        Rows or tiles for all gathers, or what pays.
    why_not : str or None
        See `why_not_tiled`.
    prepares : bool
        Whether the message of each vertex is computed once.

    Raises
    ------
    EngineError
        If tiles are requested but not possible.
    """

    layout: LayoutName = "tiles"

    def __init__(
        self, context: Context, layout: str, why_not: str | None, *, prepares: bool
    ) -> None:
        if layout == "tiles" and why_not is not None:
            raise EngineError(f"layout='tiles': {why_not}; leave it out")
        self._context, self._prepares = context, prepares
        self._tiling: Tiling = tiling_of(context.part.csc)
        self._forced = layout == "tiles"
        self._asks = layout == "auto"  # whether it is chosen here
        self._why_not = why_not
        bound = context.bound
        kinds = bound.types.message if bound.prepares else bound.types.state
        width = sum(np.dtype(kind).itemsize for kind in kinds)
        part = context.part
        # Not a method: a cycle would keep the graph until garbage is collected
        carried = partial(_edge_bytes, part)
        self._choice = TileChoice(self._tiling, part.size, width, carried)
        self._edges: tuple[Array, ...] | None = None
        self.inbox: tuple[Array, ...] = ()

    def due(self) -> bool:
        """Return whether the next gather goes over tiles; called once for each."""
        if not self._asks:
            return self._forced
        reason = self._choice.why_rows() if self._why_not is None else self._why_not
        name = self._context.bound.program.name
        self._tiling.choices[name] = (
            "tiles: reads of sources miss the cache" if reason is None else f"csc: {reason}"
        )
        return reason is None

    def tiles(self) -> Tiles:
        """Return the tiles; they are made on the first call."""
        return self._tiling.tiles(self._context.part.size)

    def edges(self) -> tuple[Array, ...]:
        """Return the program's edge attributes in the order of the tiles."""
        part, bound = self._context.part, self._context.bound
        if self._edges is None:
            columns = zip(bound.edge_columns, part.edges("csc"), strict=True)
            self._edges = tuple(
                values if name is None else self._tiling.carry(name, values, part.size)
                for name, values in columns
            )
        return self._edges

    def gather(
        self,
        outbox: tuple[Array, ...],
        fresh: tuple[Array, ...],
        longest: int,
        ranges: Sequence[tuple[int, int]],
        totals: npt.NDArray[np.float64],
    ) -> None:
        """Compute the new states of all vertices but those of rows with more than `longest` arcs."""
        context, part = self._context, self._context.part
        inbox, values = self._fold(outbox), context.values
        tasks: list[tuple[Any, ...]] = [
            (
                *rows, longest, part.csc.offsets, context.state, fresh, part.constants, values,
                inbox, totals[place],
            )
            for place, rows in enumerate(ranges)
        ]  # fmt: skip
        context.run(context.loops.finish_rows, tasks)

    def _fold(self, outbox: tuple[Array, ...]) -> tuple[Array, ...]:
        """Combine the messages to every vertex; return them by vertex."""
        context, part = self._context, self._context.part
        tiles, edges, values = self.tiles(), self.edges(), context.values
        if not self.inbox:
            self.inbox = tuple(np.empty(part.owned, kind) for kind in context.bound.types.message)
        tasks: list[tuple[Any, ...]] = [
            (
                *rows, tiles.bits, tiles.firsts[number], tiles.sources, tiles.places, edges,
                context.state, part.constants, values, self._prepares, outbox, self.inbox,
            )
            for number, rows in enumerate(tiles.ranges)
        ]  # fmt: skip
        context.look_and_run(context.loops.fold_tiles, tasks)
        return self.inbox


class TiledSums:
    """Sums over all rows of an adjacency; see `cugraph_ws.contract.HostSums`.

    Parameters
    ----------
    rows : Adjacency
    count : int
        Number of rows, and of vertices.
    """

    def __init__(self, rows: Adjacency, count: int) -> None:
        self._tiling = tiling_of(rows)
        self._choice = TileChoice(self._tiling, count, WIDTH, lambda: WIDTH * len(rows.indices))

    def due(self) -> bool:
        """Return whether the next sums go over tiles; called once for each."""
        return self._choice.why_rows() is None

    def sums(self, values: Array, weights: Array | None, column: str, totals: Array) -> None:
        """Write the sum of each row to `totals`."""
        tiling, size = self._tiling, len(values)
        tiles = tiling.tiles(size)
        moved = None if weights is None else tiling.carry(column, weights, size)
        tasks = [
            (
                *rows, tiles.bits, tiles.firsts[number], tiles.sources, tiles.places, values, moved,
                totals,
            )
            for number, rows in enumerate(tiles.ranges)
        ]  # fmt: skip
        parallel(sum_tiles, tasks)


class TiledGathers:
    """Gathers over tiles; see `cugraph_ws.contract.HostGathers`."""

    def of_run(
        self,
        context: Context,
        layout: str,
        *,
        gathers: bool,
        in_place: bool,
        plain: bool,
        prepares: bool,
    ) -> TiledRows:
        """Return the gathers of a run."""
        why_not = why_not_tiled(
            context.bound,
            gathers=gathers,
            in_place=in_place,
            divided=context.part.divided,
            plain=plain,
        )
        return TiledRows(context, layout, why_not, prepares=prepares)

    def of_sums(self, rows: Adjacency, count: int) -> TiledSums:
        """Return sums over the first `count` rows of an adjacency of a whole graph."""
        return TiledSums(rows, count)

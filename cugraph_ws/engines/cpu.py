"""The CPU engine: one program on one partition, by the loops in `kernels/cpu` on all cores.

`engine="python"` is this engine with the loops and the user's functions as plain Python, in one
thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.binding import BoundProgram
from cugraph_ws.cluster.partition import Partition
from cugraph_ws.codegen import compiled_module, python_module
from cugraph_ws.engines import Choice, Counts
from cugraph_ws.engines.threads import cut_evenly, cut_offsets, number_of_threads, parallel
from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cpu import buckets
from cugraph_ws.kernels.cpu import frontier as frontiers
from cugraph_ws.kernels.cpu.tree import UNDECIDED

__all__ = ["CpuExecutor"]

LONG_ROW = 1 << 16  # arcs above which a row is shared out among threads
SMALL_WORK = 1 << 14  # arcs and vertices below which a second thread costs more than it helps
FUSED_ARCS = 1 << 15  # most arcs of a frontier that one thread handles in a fused loop
FUSED_BUDGET = 1 << 22  # arcs of a fused call, so that Ctrl-C and progress get their turn
FUSED_SUPERSTEPS = 1 << 12
SUM_RANGES = 64  # sums over vertices are cut so whatever the number of threads: same rounding
BUCKET_GOAL = 64  # vertices that a priority bucket should hold about, at least
BUCKET_SHARE = 256  # or this part of all vertices


def _serial(function: Callable[..., Any], tasks: Iterable[Sequence[Any]]) -> list[Any]:
    return [function(*task) for task in tasks]


class CpuExecutor:
    """One program on one partition; see `cugraph_ws.engines.Executor` for the interface.

    Parameters
    ----------
    bound : BoundProgram
        The program, its types and its arguments.
    partition : Partition
        Adjacency, edge attributes and constants.
    in_place : bool
        Whether dense supersteps write into the state that they read.
    ordered : bool
        Whether the program's priorities are honoured.
    plain : bool
        Whether to run as plain Python.
    threads : int, optional
        Most threads; all cores if not given.
    """

    def __init__(
        self,
        bound: BoundProgram,
        partition: Partition,
        *,
        in_place: bool = False,
        ordered: bool = True,
        plain: bool = False,
        threads: int | None = None,
    ) -> None:
        self._bound = bound
        self._part = partition
        self._loops = (python_module if plain else compiled_module)(bound.program, bound.types)
        self._threads = 1 if plain else threads or number_of_threads()
        self._parallel = _serial if self._threads == 1 else parallel
        self._in_place = in_place
        size = partition.size
        self.state: tuple[npt.NDArray[Any], ...] = tuple(
            np.empty(size, kind) for kind in bound.types.state
        )
        self._fresh = self.state if in_place else ()
        self._index = np.int64 if size > np.iinfo(np.int32).max else np.int32
        self._list: npt.NDArray[Any] | None = np.empty(0, self._index)
        self._bitmap: npt.NDArray[np.uint32] | None = None
        self._piles = self._new_piles(ordered and "priority" in bound.program.functions)
        self._marks = np.empty(0, np.uint8)
        self._locks = np.empty(0, np.uint8)
        self._sums = np.zeros(len(bound.program.aggregates))
        self._number = 0
        self._active_now = 0  # of a frontier held as a bitmap

    # ------------------------------------------------------------------ before the first superstep

    def start(self) -> Counts:
        """Give every vertex its first state and find out who is active."""
        self._run_ranges(
            self._loops.initialise,
            cut_evenly(self._part.size, self._pieces(self._part.size)),
            self._part.numbers,
            self.state,
            self._part.constants,
            self._values(),
        )
        self._list = self._first_frontier()
        return self._frontier_counts()

    def _first_frontier(self) -> npt.NDArray[Any]:
        """List the vertices that the program starts from.

        Without a `starts` function everyone is active at first.  Where nearly all vertices have
        the same state, as before a search, it is often plain that they have nothing to tell each
        other: one pass over the edge attributes proves it, and only the others are listed.
        """
        program, size = self._bound.program, self._part.size
        everyone = np.arange(size, dtype=self._index)
        if "starts" in program.functions:
            selected = np.empty(size, self._index)
            count = self._loops.select_started(
                0, size, self.state, self._part.constants, self._values(), selected
            )
            return selected[:count].copy()
        if size < 2 or not self._bound.accumulates or self._reads_constants():
            return everyone
        others = np.empty(size, self._index)
        example = self._common_vertex()
        count = self._loops.count_alike(0, size, self.state, self._part.constants, example, others)
        if count > max(32, size // 8):
            return everyone
        others = others[:count].copy()
        return others if self._is_quiet(example, others) else everyone

    def _common_vertex(self) -> int:
        """Return a vertex whose state is shared by most of a sample, if any state is."""
        places = np.linspace(0, self._part.size - 1, 9).astype(np.int64)
        rows = [tuple(column[place].item() for column in self.state) for place in places]
        return int(places[rows.index(max(rows, key=rows.count))])

    def _reads_constants(self) -> bool:
        """Tell whether what a vertex sends or takes depends on more than its state."""
        program = self._bound.program
        constants = set(program.constants)
        for name in ("compute", "apply"):
            source = program.sources[name]
            if any(constants & names for names in source.attributes.values()):
                return True
        return False

    def _is_quiet(self, example: int, others: npt.NDArray[Any]) -> bool:
        constants, values = self._part.constants, self._values()
        edges = self._part.edges("csr")
        arcs = len(self._part.csr.indices)
        if not any(len(column) for column in edges):
            arcs = min(arcs, 1)  # all arcs are alike
        ranges = cut_evenly(arcs, self._pieces(arcs))
        tasks = [(low, high, edges, self.state, constants, values, example) for low, high in ranges]
        if not all(self._parallel(self._loops.arcs_are_quiet, tasks)):
            return False
        return bool(
            self._loops.rows_are_quiet(
                others[others < self._part.owned],
                self._adjacency("csc"),
                self._part.edges("csc"),
                self.state,
                constants,
                values,
                example,
            )
        )

    # -------------------------------------------------------------------------------- supersteps

    def sums(self) -> npt.NDArray[np.float64]:
        """Return this partition's share of each of the program's aggregates."""
        if not len(self._sums):
            return self._sums
        ranges = cut_evenly(self._part.owned, SUM_RANGES)
        totals = np.zeros((len(ranges), len(self._sums)))
        tasks = [
            (low, high, self.state, self._part.constants, self._values(), totals[place])
            for place, (low, high) in enumerate(ranges)
        ]
        self._parallel(self._loops.sum_terms, tasks)
        result: npt.NDArray[np.float64] = totals.sum(axis=0)
        return result

    def superstep(self, choice: Choice, sums: npt.NDArray[np.float64]) -> Counts:
        """Run what the plan chose, with the aggregates over all partitions."""
        self._sums = sums
        self._number = choice.number
        if choice.direction == "fused":
            return self._push_fused(choice.supersteps)
        return {
            "gather": self._gather,
            "pull": self._pull,
            "push": self._push,
            "scatter": self._scatter,
        }[choice.direction]()

    def _gather(self) -> Counts:
        """Every vertex reads all its in-neighbours."""
        csc, edges, values = self._adjacency("csc"), self._part.edges("csc"), self._values()
        constants = self._part.constants
        fresh = self._fresh_state()
        offsets = csc[0]
        arcs = len(csc[1])
        longest = max(LONG_ROW, arcs // (4 * self._threads)) if self._threads > 1 else arcs + 1
        ranges = cut_offsets(offsets, self._pieces(arcs + self._part.owned))
        totals = np.zeros((len(ranges), 3))
        tasks = [
            (*bounds, longest, csc, edges, self.state, fresh, constants, values, totals[place])
            for place, bounds in enumerate(ranges)
        ]
        self._parallel(self._loops.gather, tasks)
        for vertex in np.flatnonzero(np.diff(offsets) > longest).tolist():
            total = np.zeros((1, 3))
            self._gather_long_row(vertex, fresh, total[0])
            totals = np.concatenate([totals, total])
        if not self._in_place:
            self.state, self._fresh = fresh, self.state
        active = int(totals[:, 0].sum())
        return Counts(
            active=active,
            arcs=arcs,
            read=arcs,
            total_change=float(totals[:, 1].sum()),
            greatest_change=float(totals[:, 2].max(initial=0.0)),
            history=[(self._part.owned, arcs)],
        )

    def _gather_long_row(
        self, vertex: int, fresh: tuple[npt.NDArray[Any], ...], total: npt.NDArray[np.float64]
    ) -> None:
        """Compute a hub: its row in parts, one for each thread."""
        offsets, indices = self._adjacency("csc")
        constants, values = self._part.constants, self._values()
        edges = self._part.edges("csc")
        first = int(offsets[vertex])
        parts = self._parallel(
            self._loops.gather_part,
            [
                (first + low, first + high, indices, edges, self.state, constants, values)
                for low, high in cut_evenly(int(offsets[vertex + 1]) - first, self._threads)
            ],
        )
        gathered = parts[0]
        for part in parts[1:]:
            gathered = self._loops.merge_parts(gathered, part)
        self._loops.finish(vertex, gathered, self.state, fresh, constants, values, total)

    def _pull(self) -> Counts:
        """Every vertex reads its in-neighbours that are active."""
        csc, edges = self._adjacency("csc"), self._part.edges("csc")
        frontier = self._as_bitmap()
        following = np.zeros_like(frontier)
        fresh = self.state
        if not self._bound.accumulates:  # messages count once: nobody may read what is new
            fresh = self._fresh_state()
            for old, new in zip(self.state, fresh, strict=True):
                np.copyto(new, old)
        ranges = _on_words(cut_offsets(csc[0], self._pieces(len(csc[1]) + self._part.owned)))
        totals = np.zeros((len(ranges), 3), np.int64)
        constants, values = self._part.constants, self._values()
        bitmaps = (frontier, following)
        tasks = [
            (*bounds, csc, edges, self.state, fresh, constants, values, bitmaps, totals[place])
            for place, bounds in enumerate(ranges)
        ]
        sent = self._active_now if self._list is None else len(self._list)
        self._parallel(self._loops.pull, tasks)
        if fresh is not self.state:
            self.state, self._fresh = fresh, self.state
        self._bitmap, self._list = following, None
        read = int(totals[:, 1].sum())
        counts = self._frontier_counts()
        counts.read = read
        counts.history = [(sent, read)]
        return counts

    def _push(self) -> Counts:
        """Active vertices change their out-neighbours, in place."""
        csr, edges = self._adjacency("csr"), self._part.edges("csr")
        self._prepare_queues()
        frontier = self._as_list()
        prefix = np.empty(len(frontier) + 1, np.int64)
        frontiers.begin_superstep(frontier, csr[0], self._marks, prefix)
        arcs = int(prefix[-1])
        ranges = cut_evenly(arcs, self._pieces(arcs))
        room = [min(self._part.owned, high - low) for low, high in ranges]
        lists = [(np.empty(most, self._index), np.empty(most, self._index)) for most in room]
        totals = np.zeros((len(ranges), 3), np.int64)
        limit = self._piles[2][buckets.LIMIT]
        tasks = [
            (
                *bounds, frontier, prefix, csr, edges, self.state, self._part.constants,
                self._values(), (self._marks, self._locks, near, pending), limit, total,
            )
            for bounds, (near, pending), total in zip(ranges, lists, totals, strict=True)
        ]  # fmt: skip
        self._parallel(self._loops.push, tasks)
        near = [lists[i][0][: totals[i, 0]] for i in range(len(ranges))]
        self._set_list(np.concatenate(near) if near else np.empty(0, self._index))
        following = int(totals[:, 2].sum())
        if self._ordered:
            self._file([lists[i][1][: totals[i, 1]] for i in range(len(ranges))])
            following = self._balance(following)
        return Counts(
            active=len(self._as_list()),
            arcs=following,
            waiting=self._waiting,
            read=arcs,
            history=[(len(frontier), arcs)],
        )

    def _push_fused(self, supersteps: int) -> Counts:
        """Run several supersteps in one call, in one thread."""
        csr, edges = self._adjacency("csr"), self._part.edges("csr")
        self._prepare_queues()
        near, spare = np.empty((2, self._part.size), self._index)
        near[: len(self._as_list())] = self._as_list()
        sizes = np.array([len(self._as_list()), self._list_arcs()], dtype=np.int64)
        history = np.empty((min(supersteps, FUSED_SUPERSTEPS), 2), np.int64)
        # The plan has chosen: at least one superstep runs, whatever its size.
        most = max(FUSED_ARCS, int(sizes[1]))
        limits = np.array([most, FUSED_BUDGET, len(history)], dtype=np.int64)
        steps = self._loops.push_fused(
            sizes, csr, edges, self.state, self._part.constants, self._values(),
            (self._marks, near, spare), self._piles, limits, history,
        )  # fmt: skip
        self._set_list((near, spare)[steps % 2][: sizes[0]].copy())
        rows = [(int(active), int(arcs)) for active, arcs in history[:steps]]
        return Counts(
            active=int(sizes[0]),
            arcs=int(sizes[1]),
            waiting=self._waiting,
            read=sum(arcs for _, arcs in rows),
            history=rows,
        )

    def _scatter(self) -> Counts:
        """Active vertices fill inboxes, receivers empty them."""
        csr, edges = self._adjacency("csr"), self._part.edges("csr")
        self._prepare_queues()
        frontier = self._as_list()
        sent, arcs = len(frontier), self._list_arcs()
        room = min(self._part.owned, arcs)
        inbox = tuple(np.empty(self._part.owned, kind) for kind in self._bound.types.message)
        receivers = np.empty(room, self._index)
        constants, values = self._part.constants, self._values()
        count = self._loops.scatter(
            frontier, csr, edges, self.state, constants, values, inbox, self._marks, receivers
        )
        following = np.empty(count, self._index)
        size = self._loops.absorb(
            receivers[:count], self.state, constants, values, inbox, self._marks, following
        )
        self._set_list(following[:size].copy())
        counts = self._frontier_counts()
        counts.read = arcs
        counts.history = [(sent, arcs)]
        return counts

    # ---------------------------------------------------------------------------------- the end

    def finish(self) -> npt.NDArray[np.int64] | None:
        """Return each owned vertex's predecessor, where the program declares one."""
        if self._bound.program.predecessor is None:
            return None
        predecessors = np.empty(self._part.owned, np.int64)
        csc, edges = self._adjacency("csc"), self._part.edges("csc")
        constants, values, numbers = self._part.constants, self._values(), self._part.numbers
        tasks = [
            (*bounds, numbers, csc, edges, self.state, constants, values, predecessors)
            for bounds in cut_offsets(csc[0], self._pieces(len(csc[1]) + self._part.owned))
        ]
        if sum(self._parallel(self._loops.choose_strictly_better, tasks)):
            self._loops.search_ties(
                numbers, self._adjacency("csr"), self._part.edges("csr"), self.state, constants,
                values, predecessors, np.empty(self._part.owned, self._index),
            )  # fmt: skip
        # What is left undecided got its state from several messages together.
        predecessors[predecessors == UNDECIDED] = -1
        return predecessors

    # ------------------------------------------------------------------------ boundary exchange

    def changed(self) -> npt.NDArray[Any]:
        """Return the owned vertices whose ghosts elsewhere are out of date, ascending."""
        return np.sort(self._as_list())

    def pack(self, vertices: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
        """Return the state fields of some vertices, for an outbox."""
        return tuple(column[vertices] for column in self.state)

    def unpack(self, vertices: npt.NDArray[Any], fields: tuple[npt.NDArray[Any], ...]) -> None:
        """Take an inbox: new states of ghosts, which become active."""
        for column, new in zip(self.state, fields, strict=True):
            column[vertices] = new
        self._set_list(np.concatenate([self._as_list(), vertices.astype(self._index)]))

    # ------------------------------------------------------------------------------ checkpoints

    def snapshot(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state fields, and what else is needed to go on from here.

        `_queue` numbers the frontier from 1 up in its order, on which the rounding of sums depends,
        and is −1 for vertices that wait in later buckets.
        """
        arrays = dict(zip(self._bound.program.state, self.state, strict=True))
        queue = np.zeros(self._part.size, np.int64)
        queue[self._as_list()] = np.arange(1, len(self._as_list()) + 1)
        waiting = np.flatnonzero(self._marks > buckets.NEAR)
        queue[waiting] = -1
        return {**arrays, "_queue": queue, "_piles": self._piles[2].copy()}

    def restore(self, arrays: dict[str, npt.NDArray[Any]]) -> Counts:
        """Go on from a snapshot."""
        for name, column in zip(self._bound.program.state, self.state, strict=True):
            if name not in arrays or len(arrays[name]) != len(column):
                raise InputError(
                    f"the checkpoint has no column {name!r} of {len(column)} vertices; resume with the same "
                    "program and graph"
                )
            np.copyto(column, arrays[name], casting="same_kind")
        queue = arrays["_queue"]
        self._prepare_queues()
        active = np.flatnonzero(queue > 0)
        self._set_list(active[np.argsort(queue[active])].astype(self._index))
        self._marks[self._as_list()] = buckets.NEAR if self._bound.accumulates else 0
        if self._ordered:
            self._piles[2][:] = arrays["_piles"]
            self._piles[2][[buckets.MIDDLE_SIZE, buckets.FAR_SIZE]] = 0
            waiting = np.flatnonzero(queue < 0).astype(self._index)
            self._marks[waiting] = buckets.PENDING
            self._file([waiting])
        return self._frontier_counts()

    # ---------------------------------------------------------------------------------- helpers

    def _values(self) -> tuple[Any, ...]:
        sums = tuple(np.float64(value) for value in self._sums)
        return (*self._bound.values, *sums, np.int64(self._part.size), np.int64(self._number))

    def _adjacency(self, order: str) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        adjacency = self._part.csc if order == "csc" else self._part.csr
        return adjacency.offsets, adjacency.indices

    def _pieces(self, work: int) -> int:
        """Into how many ranges to cut work: enough to even out, not so many that calls add up."""
        if self._threads == 1 or work < SMALL_WORK:
            return 1
        return min(8 * self._threads, max(self._threads, work // SMALL_WORK))

    def _run_ranges(
        self, function: Callable[..., Any], ranges: list[tuple[int, int]], *arguments: Any
    ) -> None:
        self._parallel(function, [(*bounds, *arguments) for bounds in ranges])

    def _fresh_state(self) -> tuple[npt.NDArray[Any], ...]:
        if not self._fresh:
            self._fresh = tuple(np.empty_like(column) for column in self.state)
        return self._fresh

    def _prepare_queues(self) -> None:
        if not len(self._marks):
            self._marks = np.zeros(self._part.size, np.uint8)
            self._locks = np.zeros(self._part.size, np.uint8)

    def _new_piles(self, ordered: bool) -> tuple[npt.NDArray[Any], ...]:
        """Make the priority piles; for a program without priorities, ones that stay empty."""
        self._ordered = ordered
        size = self._part.size if ordered else 0
        numbers = np.zeros(buckets.NUMBERS)
        numbers[[buckets.LIMIT, buckets.HORIZON]] = -np.inf if ordered else np.inf
        numbers[buckets.GOAL] = max(BUCKET_GOAL, size // BUCKET_SHARE)
        return np.empty(size, self._index), np.empty(size, self._index), numbers

    @property
    def _waiting(self) -> int:
        return int(self._piles[2][[buckets.MIDDLE_SIZE, buckets.FAR_SIZE]].sum())

    def _file(self, lists: list[npt.NDArray[Any]]) -> None:
        """Put the vertices that a push found to come later on their piles."""
        for pending in lists:
            near = np.empty(len(pending), self._index)
            size = self._loops.file_pending(
                pending, self._marks, self.state, self._part.constants, self._values(),
                self._piles, near,
            )  # fmt: skip
            if size:
                self._set_list(np.concatenate([self._as_list(), near[:size]]))

    def _balance(self, arcs: int) -> int:
        """Bring the near list to a good size; return the arcs of its vertices."""
        before = len(self._as_list())
        near = np.empty(self._part.size, self._index)
        near[:before] = self._as_list()
        size = self._loops.balance(
            near, before, self._marks, self.state, self._part.constants, self._values(),
            self._piles,
        )  # fmt: skip
        if size == before:
            return arcs
        self._set_list(near[:size].copy())
        return self._list_arcs()

    def _set_list(self, vertices: npt.NDArray[Any]) -> None:
        self._list, self._bitmap = vertices, None

    def _as_list(self) -> npt.NDArray[Any]:
        if self._list is None:
            assert self._bitmap is not None
            vertices = np.empty(self._part.size, self._index)
            size = frontiers.list_from_bitmap(0, self._part.size, self._bitmap, vertices)
            self._list = vertices[:size].copy()
        return self._list

    def _as_bitmap(self) -> npt.NDArray[np.uint32]:
        if self._bitmap is None:
            assert self._list is not None
            self._bitmap = np.zeros((self._part.size + 31) // 32, np.uint32)
            frontiers.list_to_bitmap(self._list, self._bitmap)
            if len(self._marks):  # a pull takes them off the queue
                self._marks[self._list] = 0
        return self._bitmap

    def _list_arcs(self) -> int:
        offsets = self._part.csr.offsets
        vertices = self._as_list()
        return int((offsets[vertices + 1] - offsets[vertices]).sum())

    def _frontier_counts(self) -> Counts:
        """Count the active vertices and their out-arcs."""
        if self._list is not None:
            return Counts(active=len(self._list), arcs=self._list_arcs(), waiting=self._waiting)
        assert self._bitmap is not None
        size = self._part.size
        ranges = _on_words(cut_evenly(size, self._pieces(size)))
        totals = np.zeros((len(ranges), 2), np.int64)
        offsets = self._part.csr.offsets
        self._parallel(
            frontiers.count_arcs,
            [(*bounds, self._bitmap, offsets, totals[i]) for i, bounds in enumerate(ranges)],
        )
        active, arcs = totals.sum(axis=0).tolist() if len(ranges) else (0, 0)
        self._active_now = active
        return Counts(active=active, arcs=arcs)


def _on_words(ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Move the bounds of ranges of vertices to whole words of a bitmap."""
    if not ranges:
        return []
    last = ranges[-1][1]
    bounds = sorted({(low // 32) * 32 for low, _ in ranges} | {last})
    return list(pairwise(bounds))

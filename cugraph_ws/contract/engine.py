"""Engines: how one program runs on one partition.  Arrays go in, arrays come out.

An engine provides an `Executor`.  The loop in `execution` and the exchanges in `partition` know
only what this file declares; which loop over edges runs, and where, is up to the engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import add
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract.messages import BoundaryUpdate, ChooseWay
from cugraph_ws.program.codegen import Types

__all__ = [
    "Choice",
    "Counts",
    "Direction",
    "Executor",
    "LayoutName",
    "Planner",
    "Schedule",
    "Setup",
    "Strategy",
    "choose_engine",
    "folded_terms",
    "terms_of_none",
]

Direction = Literal["gather", "pull", "push", "fused", "scatter"]
Schedule = Literal["dense", "frontier", "worklist"]
LayoutName = Literal["csc", "csr", "tiles", "gshards", "windows"]


@dataclass(frozen=True)
class Strategy:
    """How a backend runs a program on a graph, from the first superstep to the last.

    Attributes
    ----------
    schedule : {"dense", "frontier", "worklist"}
        `dense`: vertices process the rows of a layout.  `frontier`: active vertices push, or their
        out-neighbours pull.  `worklist`: active vertices put their out-neighbours on a worklist,
        and those gather.
    why : str
        Reason for the choice, as text.
    active_only : bool
        Whether only messages of active vertices count; else every in-neighbour's do in every
        superstep.
    in_place : bool
        Whether supersteps write into the state that they read.
    ordered : bool
        Whether priorities are used.
    out_of_order : bool
        Whether a superstep may read what it has written, or take messages one by one.
    layout : {"csc", "csr", "tiles", "gshards", "windows"}
        The layout whose arcs supersteps read; a frontier that also pulls reads the CSC as well.
    why_layout : str
        Reason for the layout, as text.
    """

    schedule: Schedule
    why: str
    active_only: bool = False
    in_place: bool = False
    ordered: bool = False
    out_of_order: bool = False
    layout: LayoutName = "csc"
    why_layout: str = "in-neighbours are gathered"


@dataclass(frozen=True)
class Choice:
    """The plan's choice of what to run next.

    Attributes
    ----------
    direction : {"gather", "pull", "push", "fused", "scatter"}
        `gather`: every vertex reads all in-neighbours.  `pull`: every vertex reads its active
        in-neighbours.  `push`: active vertices update their out-neighbours.  `scatter`: through
        inboxes, each message once.  `fused`: either of the two for several supersteps in one call.
    supersteps : int
        Maximum number of supersteps in a call, of those that gather or are fused.
    number : int
        Number of the superstep, from 0; programs read it as `p.superstep`.
    arcs : int
        A fused call returns once the frontier has more arcs; its first superstep always runs.
    last : bool
        Whether no superstep may follow.
    rounds : int
        How many supersteps with larger frontiers may be queued in a fused call on several GPUs.
    large : bool
        Whether the frontier is so large that one of them comes first.
    """

    direction: Direction
    supersteps: int = 1
    number: int = 0
    arcs: int = 0
    last: bool = False
    rounds: int = 0
    large: bool = False


def terms_of_none(folds: Sequence[str]) -> npt.NDArray[np.float64]:
    """Return the aggregates of no vertices, by their folds."""
    first = {"max": -np.inf, "min": np.inf}
    return np.array([first.get(fold, 0.0) for fold in folds], np.float64)


def folded_terms(
    rows: Sequence[npt.NDArray[np.float64]], folds: Sequence[str]
) -> npt.NDArray[np.float64]:
    """Fold the aggregates of several parts, in their order.

    Parameters
    ----------
    rows : sequence of ndarray of float64, shape (aggregates,)
    folds : sequence of str
        "sum", "max", "min" or "any", for each aggregate.
    """
    functions: dict[str, np.ufunc] = {
        "sum": np.add,
        "min": np.fmin,
        "max": np.fmax,
        "any": np.fmax,
    }
    folded, columns = terms_of_none(folds), np.transpose(rows)
    for place, fold in enumerate(folds if len(rows) else ()):
        function = functions[fold]  # one row after the other: NumPy's own sums are in pairs
        folded[place] = function(folded[place], function.accumulate(columns[place])[-1])
    return folded


@dataclass
class Counts:
    """What a superstep did, and the work that it leaves.

    Attributes
    ----------
    active : int
        Active vertices: those whose out-neighbours must read their change.
    arcs : int
        Number of their out-arcs: the work of a push.
    waiting : int
        Other work that is left: vertices in later priority buckets, or arcs whose state has changed.
    read : int
        Arcs read.
    total_change, greatest_change : float
        The L1 and the maximum norm of the change of the program's residual field.
    history : list of (int, int)
        For each superstep in the call: active vertices that sent, and arcs read.
    sums : ndarray of float64, shape (aggregates,)
        The program's aggregates over the current states.
    folds : tuple of str
        How each of them is folded, on a rank's own counts: "sum", "max", "min" or "any".
    changes : list of (float, float)
        Both norms for each superstep, if a call ran several dense ones.
    modes : list of (str, str)
        Direction and filter of each superstep, if the engine chose them during the call.
    exchanges : list of (int, int)
        Bytes sent and useful bytes of each superstep, if the call exchanged updates itself.
    ways : list of int
        What the messages of each of them consisted of, as `names_of` reads it.
    unlike : bool
        Whether a queued exchange was left to the hosts, since changed vertices had different values.
    beyond : int
        An error that a superstep recorded: a message outside the range that the program's combine
        takes, or the code of an index of `gather_list` (see `beyond_list`); 0 if there was none.
    layout : str
        The layout that was read, if it differs from the plan's; else empty.
    """

    active: int = 0
    arcs: int = 0
    waiting: int = 0
    read: int = 0
    total_change: float = 0.0
    greatest_change: float = 0.0
    history: list[tuple[int, int]] = field(default_factory=list)
    sums: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    folds: tuple[str, ...] = ()
    changes: list[tuple[float, float]] = field(default_factory=list)
    modes: list[tuple[str, str]] = field(default_factory=list)
    exchanges: list[tuple[int, int]] = field(default_factory=list)
    ways: list[int] = field(default_factory=list)
    unlike: bool = False
    beyond: int = 0
    layout: LayoutName | Literal[""] = ""

    @staticmethod
    def merged(parts: Sequence[Counts], folds: Sequence[str] = ()) -> Counts:
        """Return the combined counts of all partitions; `folds` are those of the aggregates."""
        if len(parts) == 1:
            return parts[0]
        steps = max(len(part.history) for part in parts)
        padded = [part.history + [(0, 0)] * (steps - len(part.history)) for part in parts]
        return Counts(
            active=sum(part.active for part in parts),
            arcs=sum(part.arcs for part in parts),
            waiting=sum(part.waiting for part in parts),
            read=sum(part.read for part in parts),
            # floats are summed in order, as on a GPU
            total_change=reduce(add, [part.total_change for part in parts]),
            greatest_change=float(np.max([part.greatest_change for part in parts])),
            sums=folded_terms([part.sums for part in parts], folds),
            history=[
                (sum(row[0] for row in rows), sum(row[1] for row in rows))
                for rows in zip(*padded, strict=True)
            ],
            beyond=next((part.beyond for part in parts if part.beyond), 0),
        )


class Executor(Protocol):
    """One program on one partition.

    State arrays hold the partition's owned vertices first, then its ghosts: copies of remote
    in-neighbours, which an exchange updates and marks active.  Supersteps compute owned vertices
    only.

    Attributes
    ----------
    knows_changes_early : bool
        Whether it knows which vertices have changed when it packs, so that a `ChooseWay` can be used.
    source : str
        Text of the module that was generated for the program.
    types : Types
        The program's types, as the engine stores its state.
    """

    knows_changes_early: bool

    @property
    def types(self) -> Types:
        """The program's types, as the engine stores its state."""

    @property
    def source(self) -> str:
        """Text of the module that was generated for the program."""

    def start(self) -> None:
        """Initialise the state of every vertex, ghosts included, and find the active ones."""

    def begin(self, columns: Mapping[str, Any]) -> None:
        """Start again from given states; columns are by position, ghosts included.

        All vertices are active, or, if the program has `starts`, those for which it is true.
        """

    def superstep(self, choice: Choice, sums: npt.NDArray[np.float64]) -> None:
        """Run the plan's choice; `sums` are the aggregates over all partitions.

        An engine may return before the work is done; `counts` waits for it.
        """

    def pack(
        self, boundary: npt.NDArray[np.int64], *, refine: bool | ChooseWay, trees: bool = False
    ) -> BoundaryUpdate:
        """Return the state of the owned vertices `boundary`, which one peer holds as ghosts.

        With `refine`, only vertices with ghosts out of date since the last superstep are sent:
        those that are active now, or, after a dense one, whose state has changed.  Executors with
        `knows_changes_early` also take a `ChooseWay` as `refine`.  With `trees`, return instead whether
        each vertex has a predecessor or is a root.

        An engine may return before the message is filled and its length is known; `seal` waits for
        both.
        """

    def seal(self, updates: Sequence[BoundaryUpdate]) -> list[BoundaryUpdate]:
        """Return the messages packed since the last superstep, cut to their filled lengths.

        The host waits once for all of them and for `counts`.
        """

    def unpack(self, first: int, last: int, update: BoundaryUpdate, *, trees: bool = False) -> None:
        """Update the ghosts at positions [first, last); those in the message become active."""

    def counts(self) -> Counts:
        """Return what the last superstep did, and the work left, ghosts' arcs included."""

    def update_edges(self, number: int) -> int:
        """Write the state of edges after superstep `number`, once ghosts are updated.

        Returns how many of this rank's arcs have another state than before.
        """

    def scatter(self, number: int, sums: npt.NDArray[np.float64]) -> bool:
        """Store what vertices send by `scatter` in superstep `number`, before it; `sums` are the aggregates.

        Returns whether a vertex of this rank has asked for an edge that it does not have.
        """

    def edge_state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state of edges by field, in the order of the graph's CSC."""

    def restore_edges(self, columns: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from what `edge_state` returned, after `restore`."""

    def begin_trees(self) -> int:
        """Choose predecessors where a strictly better one exists; return how many are missing."""

    def grow_trees(self) -> int:
        """Attach undecided owned vertices to vertices attached since; return how many."""

    def recent(self, name: str) -> tuple[Any, Any]:
        """Return a state field before and after the last superstep, by position.

        Valid only after a dense superstep that was not in place; entries of ghosts may be out of date.
        """

    def by_position(self, place: int) -> Any:
        """Return the array of one of the program's vertex constants, by position.

        Supersteps read it; jumps are written into it.
        """

    def predecessors(self) -> npt.NDArray[np.int64]:
        """Return each owned vertex's predecessor as a vertex number, −1 for none."""

    def columns(self) -> dict[str, npt.NDArray[Any]]:
        """Return the state fields of the owned vertices, in the order of the partition's numbers."""

    def queue(self) -> npt.NDArray[np.int64]:
        """Return for each owned vertex its place in the frontier from 1, −1 if later, else 0."""

    def schedule(self) -> npt.NDArray[np.float64]:
        """Return the numbers that control the order of the executor's work."""

    def restore(
        self,
        columns: dict[str, npt.NDArray[Any]],
        queue: npt.NDArray[np.int64],
        schedule: npt.NDArray[np.float64],
    ) -> None:
        """Resume from a checkpoint; columns and queue are by position, ghosts included."""


ENGINES = ("auto", "cpu", "cuda", "python")


def choose_engine(name: str, graph: Any = None) -> Literal["cpu", "python", "cuda"]:
    """Return the engine that an `engine=` argument selects.

    Parameters
    ----------
    name : {"auto", "cpu", "python", "cuda"}
        The user's choice.
    graph : Graph, optional
        Used by "auto": a graph of frames in device memory is computed there.

    Returns
    -------
    {"cpu", "python", "cuda"}
        The engine.

    Raises
    ------
    InputError
        If there is no such engine.
    EngineError
        If there is no GPU for it, or a package is missing.
    """
    from cugraph_ws.arguments import shown, word_meant
    from cugraph_ws.errors import InputError

    if not isinstance(name, str) or name not in ENGINES:
        raise InputError(
            f"engine={shown(name)} is not known; {word_meant(name, ENGINES)}choose 'auto', 'cpu', 'cuda', or 'python' (slow, for debugging)"
        )
    if name == "auto":
        name = "cuda" if graph is not None and graph.computes_on_device else "cpu"
    if name == "cuda":
        from cugraph_ws.runtime.device import device

        device()  # raises if there is none
        return "cuda"
    return "python" if name == "python" else "cpu"


class Planner(Protocol):
    """Decides how a program runs, and what runs next."""

    strategy: Strategy

    def choose(self, counts: Counts, number: int, remaining: int) -> Choice:
        """Return what to run next.

        Parameters
        ----------
        counts : Counts
            Counts of the last superstep.
        number : int
            Number of the next superstep, from 0.
        remaining : int
            Number of supersteps that are still allowed.
        """


@dataclass
class Setup:
    """The objects that a backend provides for one run.

    Attributes
    ----------
    planner : Planner
    executor : Executor
    exchange : Exchange
        With the other ranks; see `cugraph_ws.partition.exchange`.
    """

    planner: Planner
    executor: Executor
    exchange: Any

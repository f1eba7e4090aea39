"""The trace: for each superstep of a run, what ran, its work, its time and the bytes sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from cugraph_ws.errors import InputError
from cugraph_ws.runtime.extras import install_command
from cugraph_ws.runtime.memory import take_given_back

if TYPE_CHECKING:
    from cugraph_ws.execution.loop import Step

__all__ = ["COLOURS", "Trace", "new_axes"]

T = TypeVar("T")

# Okabe and Ito, "Color universal design", 2008: of directions and filters
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00", "#56B4E9")


@dataclass
class Trace:
    """The rows of a run so far; `columns()` returns them as arrays.

    Attributes
    ----------
    superstep, active, edges, bytes_sent, bytes_useful : list of int
        Number of the superstep from 0, vertices that sent or computed, arcs read, bytes
        exchanged, and how many of those bytes are values of changed vertices.  Bytes that are exchanged
        through the host's memory (`links="hub"` of `Graph`) count once for all receivers.
    direction, filter : list of str
        What ran, and how the frontier was stored: "all", "list" or "bitmap"; on a GPU, lists
        are "online" or "ballot" (see `run`).
    partitions : list of int
        Number of partitions, or shards, of the graph in the superstep.
    milliseconds, residual : list of float
        Wall-clock time, and the norm of the change (NaN if the program has none).
    fused : list of bool
        Whether the superstep ran in one call with others.  The time of the call is divided
        among them in proportion to the arcs and vertices that each read.
    layout : list of str
        The layout whose arcs the superstep read: "csc", "csr", "tiles", "gshards" or "windows"; empty for an
        algorithm with a loop of its own.
    extrapolated : list of bool
        Whether an extrapolation replaced the state after the superstep, or the superstep of `ws.hits` was
        accelerated: its residual is then an estimate.
    exchange : list of str
        What the messages between partitions consisted of: "vr", changed vertices of a boundary; "ms", all
        vertices of a boundary; "all", all owned vertices; "bits", a bit for each vertex of a boundary and one
        value.  If messages differ, for example "vr+ms".  Empty if nothing was sent.
    phase : list of str or None
        In a run of several phases: the phase of the superstep.
    given_back : list of int or None
        If graphs of this process gave back GPU memory because it was short: the bytes since the superstep before,
        or for the first since the run began.
    """

    superstep: list[int] = field(default_factory=list)
    direction: list[str] = field(default_factory=list)
    filter: list[str] = field(default_factory=list)
    active: list[int] = field(default_factory=list)
    edges: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    residual: list[float] = field(default_factory=list)
    bytes_sent: list[int] = field(default_factory=list)
    bytes_useful: list[int] = field(default_factory=list)
    partitions: list[int] = field(default_factory=list)
    fused: list[bool] = field(default_factory=list)
    layout: list[str] = field(default_factory=list)
    extrapolated: list[bool] = field(default_factory=list)
    exchange: list[str] = field(default_factory=list)
    phase: list[str] | None = None
    given_back: list[int] | None = None

    def __post_init__(self) -> None:
        """Leave out what graphs gave back before the run."""
        take_given_back()

    def add(self, step: Step, seconds: float, holders: int) -> None:
        """Add the supersteps of one call.

        Parameters
        ----------
        step : Step
        seconds : float
            Wall-clock time of the call.
        holders : int
            Number of ranks, each with one partition unless the step says otherwise.
        """
        history = step.history or [(step.active, step.edges)]
        count = len(history)
        weights = [active + edges + 1 for active, edges in history]
        share = 1000.0 * seconds / sum(weights)
        fused = step.direction == "fused"
        chosen = step.modes or [("push" if fused else step.direction, step.filter)] * count
        exchanged = _each(step.exchanges or [(step.bytes_sent, step.bytes_useful)], count)
        self.superstep.extend(range(len(self.superstep), len(self.superstep) + count))
        self.direction.extend(direction for direction, _ in chosen)
        self.filter.extend(frontier for _, frontier in chosen)
        self.active.extend(active for active, _ in history)
        self.edges.extend(edges for _, edges in history)
        self.milliseconds.extend(share * weight for weight in weights)
        self.residual.extend(_each(step.residuals or [step.residual], count))
        self.bytes_sent.extend(sent_bytes for sent_bytes, _ in exchanged)
        self.bytes_useful.extend(useful for _, useful in exchanged)
        self.partitions.extend([step.partitions or holders] * count)
        self.fused.extend([fused] * count)
        self.layout.extend([step.layout] * count)
        self.extrapolated.extend([False] * (count - 1) + [step.extrapolated])
        self.exchange.extend(_each(step.exchange, count))
        if self.phase is not None:
            self.phase.extend([step.phase] * count)
        freed = take_given_back()
        if freed and self.given_back is None:
            self.given_back = [0] * (len(self.superstep) - count)
        if self.given_back is not None:
            self.given_back.extend([freed] + [0] * (count - 1))

    def columns(self) -> dict[str, npt.NDArray[np.generic] | list[str]]:
        """Return the rows as columns, by name."""
        named: dict[str, Any] = {} if self.phase is None else {"phase": self.phase}
        if self.given_back is not None:
            named["given_back"] = np.array(self.given_back, np.int64)
        return {
            "superstep": np.array(self.superstep, np.int64),
            "direction": self.direction,
            "filter": self.filter,
            "active": np.array(self.active, np.int64),
            "edges": np.array(self.edges, np.int64),
            "milliseconds": np.array(self.milliseconds, np.float64),
            "residual": np.array(self.residual, np.float64),
            "bytes_sent": np.array(self.bytes_sent, np.int64),
            "bytes_useful": np.array(self.bytes_useful, np.int64),
            "partitions": np.array(self.partitions, np.int64),
            "fused": np.array(self.fused, np.bool_),
            "layout": self.layout,
            "extrapolated": np.array(self.extrapolated, np.bool_),
            "exchange": self.exchange,
            **named,
        }

    def plot(self, axes: Any = None) -> Any:
        """Plot the frontier size over the supersteps, coloured by what ran (SIMD-X's Figure 7).

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to plot; axes of a new figure if not given.

        Returns
        -------
        matplotlib Axes
            Supersteps along x, active vertices along a logarithmic y; one colour for each direction
            and filter.

        Raises
        ------
        InputError
            If Matplotlib is not installed.
        """
        axes = new_axes() if axes is None else axes
        modes = [
            f"{direction}, {frontier}"
            for direction, frontier in zip(self.direction, self.filter, strict=True)
        ]
        steps, active = np.array(self.superstep), np.array(self.active)
        axes.plot(steps, active, color="lightgrey", zorder=1)
        for mode, paint in zip(dict.fromkeys(modes), cycle(COLOURS)):
            chosen = np.array([direction == mode for direction in modes])
            axes.scatter(steps[chosen], active[chosen], s=12, c=paint, label=mode, zorder=2)
        axes.set(xlabel="superstep", ylabel="active vertices", yscale="symlog")
        axes.set_ylim(0, 3 * active.max(initial=1))
        axes.xaxis.get_major_locator().set_params(integer=True)
        axes.yaxis.set_major_formatter("{x:,.0f}")
        if modes:
            axes.legend(frameon=False, fontsize=8)
        return axes


def new_axes() -> Any:
    """Return the axes of a new figure.

    Raises
    ------
    InputError
        If Matplotlib is not installed.
    """
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise InputError(f"plot() needs Matplotlib: {install_command('plot')}") from error
    return pyplot.subplots()[1]


def _each(values: Sequence[T], count: int) -> Sequence[T]:
    """Return a value for each superstep: `values` if there are as many, else the last one for all."""
    return values if len(values) == count else [values[-1]] * count

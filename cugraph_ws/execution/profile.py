"""The profile of a run: what ran, for how long, and how many bytes it moved, by superstep."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib import import_module
from itertools import cycle
from typing import TYPE_CHECKING, Any

import numpy as np

from cugraph_ws.backends.cuda.fields_read import fields_read
from cugraph_ws.execution.trace import COLOURS, new_axes
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.launch_times import OFFSET, Launch, Launches
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel

if TYPE_CHECKING:
    from cugraph_ws.execution.loop import Step
    from cugraph_ws.execution.trace import Trace
    from cugraph_ws.frames.base import FrameKind
    from cugraph_ws.graph.view import GraphView
    from cugraph_ws.program.binding import BoundProgram
    from cugraph_ws.program.codegen import Types
    from cugraph_ws.program.vertex_program import VertexProgram

__all__ = ["Profile", "Traffic", "profile_of", "read_by", "traffic_of"]

COPIED = 1 << 27  # bytes: more than a host's caches hold
FIGURES = (
    "milliseconds", "bytes_read", "bytes_written", "bytes_sent", "bandwidth", "occupancy",
)  # fmt: skip
COPIES = 3  # of which the fastest counts


@dataclass(frozen=True)
class Traffic:
    """The bytes that supersteps of a program read and write, as functions of their work.

    Every arc that is read loads its entries, also if a cache has them; state that is kept in order of
    vertices is loaded and stored once for each vertex.

    Attributes
    ----------
    program : str
    vertices : int
        That the rank computes.
    gathered, pushed : int
        Bytes of an arc to a vertex that gathers, and from one that sends.
    state, constants, message : int
        Bytes of a vertex: of its state, of the constants that `apply` reads, and of its message if it is
        prepared for all arcs; else 0.
    """

    program: str
    vertices: int
    gathered: int
    pushed: int
    state: int
    constants: int
    message: int

    def moved(self, direction: str, active: int, arcs: int, changed: int) -> tuple[int, int]:
        """Return the bytes that a superstep reads and writes.

        Parameters
        ----------
        direction : str
            As the trace has it.
        active, arcs : int
            Vertices that sent or computed, and arcs read.
        changed : int
            Vertices that are active after it.
        """
        loaded = 2 * OFFSET + self.state + self.constants
        if direction not in ("gather", "pull"):
            return arcs * self.pushed + active * loaded, changed * self.state
        stored = self.vertices if direction == "gather" else changed
        read = arcs * self.gathered + self.vertices * loaded
        return read, stored * (self.state + self.message)


def traffic_of(
    bound: BoundProgram, types: Types, vertices: int, index: int, *, prepared: bool
) -> Traffic:
    """Return the traffic of a program on one rank.

    Parameters
    ----------
    bound : BoundProgram
    types : Types
        As the engine stores its state.
    vertices : int
        That the rank computes.
    index : int
        Bytes of a neighbour's number.
    prepared : bool
        Whether a vertex's message is computed once, and not on each arc.
    """
    program = bound.program
    state = dict(zip(program.state, map(_size, types.state), strict=True))
    constants = {
        name: _size(kind)
        for name, kind, uniform in zip(
            program.constants, types.constants, types.uniform, strict=True
        )
        if not uniform
    }
    columns = zip(types.edges, bound.edge_columns, strict=True)
    arc = index + sum(_size(kind) for kind, column in columns if column is not None)
    arc += sum(map(_size, program.edge_state_kinds))
    message = sum(map(_size, types.message)) if prepared else 0
    source = read_by(program, "compute", "src", state | constants)
    return Traffic(
        program=program.name,
        vertices=vertices,
        gathered=arc + (message or source),
        pushed=arc + sum(state.values()),
        state=sum(state.values()),
        constants=read_by(program, "apply", "old", constants),
        message=message,
    )


def read_by(program: VertexProgram, function: str, vertex: str, sizes: Mapping[str, int]) -> int:
    """Return the bytes of the fields that a function reads of a vertex; of all if they cannot be known.

    Parameters
    ----------
    program : VertexProgram
    function, vertex : str
        A function that it has, and the name of its parameter.
    sizes : mapping
        Bytes of each field.

    Returns
    -------
    int
    """
    read = fields_read(program, function, (vertex,))
    return sum(size for name, size in sizes.items() if read is None or name in read)


def _size(kind: str) -> int:
    return int(np.dtype(kind).itemsize)


@dataclass
class Profile:
    """The rows of a profiled run.

    On a GPU there is a row for each kernel that was launched in a call of one or several supersteps, on a CPU one
    for each superstep.  Of a cluster these are the kernels and times of the first worker; bytes are those of all.

    Attributes
    ----------
    program, phase : list of str
        Names of the program, or of the algorithm, and of the phase; empty without phases.
    superstep, supersteps : list of int
        The first superstep of the call, and how many it ran.
    kernel : list of str
        Name of the kernel; on a CPU the direction, whose compiled loop it is.
    launches : list of int
    milliseconds : list of float
        On the device; on a CPU, wall-clock time, as in the trace.
    bytes_read, bytes_written : list of float
        Of the supersteps, computed from the arcs and vertices that they processed (`Traffic`, and `note_bytes` for
        algorithms with a loop of their own), over all partitions and workers; on a GPU in the row of the kernel that
        took longest.  NaN in other rows, and where they are not known.
    bytes_sent : list of float
        Exchanged between partitions or workers, as in the trace; NaN where the bytes before are in another row.
    bandwidth : list of float
        What is read and written over the time, as a share of what the memories of all workers can move: a GPU's
        nominal rate; on a CPU, that of the fastest of three copies of 128 MiB by all threads.
    occupancy : list of float
        The threads that a multiprocessor runs at once of those that it has room for; NaN on a CPU.
    """

    kind: FrameKind = field(repr=False)
    rate: float = field(repr=False)
    comm: Any = field(default=None, repr=False)
    launched: Launches = field(default_factory=Launches, repr=False)
    program: list[str] = field(default_factory=list)
    phase: list[str] = field(default_factory=list)
    superstep: list[int] = field(default_factory=list)
    supersteps: list[int] = field(default_factory=list)
    kernel: list[str] = field(default_factory=list)
    launches: list[int] = field(default_factory=list)
    milliseconds: list[float] = field(default_factory=list)
    bytes_read: list[float] = field(default_factory=list)
    bytes_written: list[float] = field(default_factory=list)
    bytes_sent: list[float] = field(default_factory=list)
    bandwidth: list[float] = field(default_factory=list)
    occupancy: list[float] = field(default_factory=list)

    def add(self, trace: Trace, step: Step, name: str, traffic: Traffic | None) -> None:
        """Add the supersteps of one call, which are the last ones of the trace.

        Parameters
        ----------
        trace : Trace
        step : Step
        name : str
            Of the loop.
        traffic : Traffic or None
            Of the program that ran.
        """
        launches, end = self.launched.take(), len(trace.superstep)
        begin = end - max(1, len(step.history))
        if traffic is None:
            moved = self._noted(trace, begin)
        else:
            changed = [*trace.active[begin + 1 :], step.active]
            moved = [
                traffic.moved(trace.direction[row], trace.active[row], trace.edges[row], after)
                for row, after in zip(range(begin, end), changed, strict=True)
            ]
        program = name if traffic is None else traffic.program
        if not launches:
            for row, figures in zip(range(begin, end), moved, strict=True):
                kernel = trace.direction[row] or program
                times = [Launch(kernel, trace.milliseconds[row], math.nan)]
                sent = float(trace.bytes_sent[row])
                self._add_row(program, step.phase, (row, 1), times, figures, sent)
            return
        by_kernel: dict[str, list[Launch]] = {}
        for launch in launches:
            by_kernel.setdefault(launch.kernel, []).append(launch)
        longest = max(by_kernel, key=lambda kernel: _total(by_kernel[kernel]))
        read, written = (math.fsum(part) for part in zip(*moved, strict=True))
        for kernel, times in by_kernel.items():
            figures, all_sent = (read, written), float(sum(trace.bytes_sent[begin:end]))
            if kernel != longest:
                figures, all_sent = (math.nan, math.nan), math.nan
            self._add_row(program, step.phase, (begin, end - begin), times, figures, all_sent)

    def _noted(self, trace: Trace, begin: int) -> list[tuple[float, float]]:
        """Return the bytes that all ranks have noted, divided as the trace divides the time; collective."""
        shares = self.comm.allgather(list(self.launched.take_bytes()))
        read, written = (math.fsum(part) for part in zip(*shares, strict=True))
        times = trace.milliseconds[begin:]
        whole = math.fsum(times)
        parts = [time / whole if whole else 1 / len(times) for time in times]
        return [(read * part, written * part) for part in parts]

    def _add_row(
        self,
        program: str,
        phase: str,
        supersteps: tuple[int, int],
        launches: Sequence[Launch],
        moved: tuple[float, float],
        sent: float,
    ) -> None:
        milliseconds = _total(launches)
        self.program.append(program)
        self.phase.append(phase)
        self.superstep.append(supersteps[0])
        self.supersteps.append(supersteps[1])
        self.kernel.append(launches[0].kernel)
        self.launches.append(len(launches))
        self.milliseconds.append(milliseconds)
        self.bytes_read.append(float(moved[0]))
        self.bytes_written.append(float(moved[1]))
        self.bytes_sent.append(sent)
        seconds = milliseconds / 1000.0
        self.bandwidth.append(sum(moved) / seconds / self.rate if seconds else math.nan)
        self.occupancy.append(launches[0].occupancy)

    def alone(self) -> Profile:
        """Return the rows without what recorded them, to be sent."""
        return replace(self, comm=None, launched=Launches())

    @property
    def frame(self) -> Any:
        """The rows as a frame of the kind of the edge frame."""
        columns = {
            "program": self.program,
            "phase": self.phase,
            "superstep": np.array(self.superstep, np.int64),
            "supersteps": np.array(self.supersteps, np.int64),
            "kernel": self.kernel,
            "launches": np.array(self.launches, np.int64),
        }
        for name in FIGURES:
            columns[name] = np.array(getattr(self, name), np.float64)
        return self.kind.make(columns)

    def plot(self, axes: Any = None) -> Any:
        """Draw the time of each superstep, coloured by kernel, and the bytes that it moves.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw; axes of a new figure if not given.

        Returns
        -------
        matplotlib Axes
            Supersteps along x, milliseconds along y; the kernels of a superstep are on top of each other.  Points show
            bytes read and written, along a second y axis, where they are known.

        Raises
        ------
        InputError
            If Matplotlib is not installed.
        """
        axes = new_axes() if axes is None else axes
        steps, times = np.array(self.superstep), np.array(self.milliseconds)
        kernels = np.array(self.kernel, object)
        tops = np.zeros(steps.max(initial=-1) + 1)
        width = min(12.0, max(1.0, 300.0 / max(1, len(tops))))
        for kernel, colour in zip(dict.fromkeys(self.kernel), cycle(COLOURS)):
            chosen = kernels == kernel
            low = tops[steps[chosen]]
            tops[steps[chosen]] += times[chosen]
            axes.vlines(
                steps[chosen], low, tops[steps[chosen]], colour, label=kernel, linewidth=width
            )
        axes.set(xlabel="superstep", ylabel="milliseconds")
        axes.set_ylim(0)
        axes.xaxis.get_major_locator().set_params(integer=True)
        if self.kernel:
            axes.legend(frameon=False, fontsize=8)
        moved = np.array(self.bytes_read) + np.array(self.bytes_written)
        known = ~np.isnan(moved)
        if known.any():
            right = axes.twinx()
            right.plot(steps[known], moved[known], "k.", markersize=4)
            right.set(ylabel="bytes read and written")
            right.set_ylim(0)
        return axes

    @contextmanager
    def named(self, name: str, superstep: int) -> Iterator[None]:
        """Run a `with` block in a range that NVIDIA's profilers show, if a library for NVTX is installed.

        Parameters
        ----------
        name : str
            Of the program.
        superstep : int
        """
        begin, end = _ranges()
        begin(f"{name}, superstep {superstep}")
        try:
            yield
        finally:
            end()


def _total(launches: Sequence[Launch]) -> float:
    return math.fsum(launch.milliseconds for launch in launches)


@lru_cache
def _ranges() -> tuple[Callable[[str], Any], Callable[[], Any]]:
    """Return the functions that begin and end a range of NVTX, or that do nothing."""
    for library, begin, end in (
        ("nvtx", "push_range", "pop_range"),
        ("cupy.cuda.nvtx", "RangePush", "RangePop"),
    ):
        try:
            module = import_module(library)
        except ImportError:
            continue
        return getattr(module, begin), getattr(module, end)
    return (lambda _: None), (lambda: None)


def profile_of(graph: GraphView, launches: Launches, *, on_device: bool) -> Profile:
    """Return an empty profile of a run; collective.

    Parameters
    ----------
    graph : GraphView
    launches : Launches
        Where its launches are recorded.
    on_device : bool
        Whether bytes are compared with what the GPU's memory can move, nominally; else with what copies on the host do.
    """
    rate = device().bandwidth if on_device else _host_rate()
    return Profile(graph._kind, math.fsum(graph.comm.allgather(rate)), graph.comm, launches)


@lru_cache
def _host_rate() -> float:
    source, target = np.ones(COPIED // 8), np.zeros(COPIED // 8)
    tasks = [
        (target[low:high], source[low:high])
        for low, high in cut_evenly(len(source), number_of_threads())
    ]
    times = []
    for _ in range(COPIES):
        begun = time.perf_counter()
        parallel(np.copyto, tasks, looks=False)
        times.append(time.perf_counter() - begun)
    return 2 * COPIED / min(times)

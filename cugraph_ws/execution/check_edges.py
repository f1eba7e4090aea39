"""Compares the runs of an edge program with the reference; see `cugraph_ws.execution.check`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract import choose_engine
from cugraph_ws.errors import EngineError
from cugraph_ws.execution.edge_loop import EdgeLoop
from cugraph_ws.execution.options import Options, Plan
from cugraph_ws.execution.partitioned_edges import PartitionedEdges
from cugraph_ws.graph.graph import Graph
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.runtime.arrays import as_host

__all__ = ["PairDifference", "PairReport", "compare_pairs"]

Array = npt.NDArray[Any]

ARCS_A_PAIR = 50  # arcs that the reference may read for each pair that may be compared


@dataclass(frozen=True)
class PairDifference:
    """The first pair for which a run's value differs from the reference's.

    Attributes
    ----------
    configuration : str
        The run, as arguments of `ws.run`.
    pair : str
        The ids of both vertices, as text.
    field : str
        The value's name.
    expected, found : Any
        The reference's value, and the run's.
    """

    configuration: str
    pair: str
    field: str
    expected: Any
    found: Any


@dataclass
class PairReport:
    """Result of comparing the runs of an edge program.

    Attributes
    ----------
    sampled : bool
        Whether only some of the pairs were compared.
    configurations : list of str
        The runs that were compared.
    declined : dict of str
        Runs that are not possible here, and why.
    differences : list of PairDifference
        The first difference of each run.
    """

    sampled: bool
    configurations: list[str] = field(default_factory=list)
    declined: dict[str, str] = field(default_factory=dict)
    differences: list[PairDifference] = field(default_factory=list)


class _Chosen(EdgeLoop):
    """A run over pairs that are given by number."""

    def choose(self, pairs: tuple[Array, Array]) -> None:
        self._chosen = pairs

    def numbered(self, graph: Any) -> tuple[Array, Array]:
        """Return the chosen pairs."""
        return self._chosen


def compare_pairs(
    program: EdgeProgram, graph: Graph, arguments: Mapping[str, Any], most: int
) -> PairReport:
    """Run an edge program as the reference and in every other configuration, and compare values.

    Parameters
    ----------
    program : EdgeProgram
    graph : Graph
    arguments : mapping
        As for `run`.
    most : int
        Most pairs whose values are compared.

    Returns
    -------
    PairReport
    """
    loop = EdgeLoop(program, arguments, Options())
    near, numbered_pairs = loop.near(graph, on_device=False), loop.numbered(graph)
    pairs = near.edges() if numbered_pairs is None else tuple(map(as_host, numbered_pairs))
    degrees, others = near.rows.degrees, near.second_rows.degrees
    places = np.arange(0, len(pairs[0]), max(1, -(-len(pairs[0]) // most)))
    lengths = np.cumsum(degrees[pairs[0][places]] + others[pairs[1][places]])
    places = places[: max(1, int(np.searchsorted(lengths, ARCS_A_PAIR * most)))]
    chosen = pairs[0][places], pairs[1][places]
    report = PairReport(sampled=len(places) < len(pairs[0]))
    expected = _values(program, graph, arguments, chosen, {"engine": "python"})
    for options, by_pair in _configurations(graph, report):
        some = chosen if by_pair else None
        computed = _values(program, graph, arguments, some, options)
        if some is None:
            computed = {name: column[places] for name, column in computed.items()}
        name = ", ".join(f"{key}={value!r}" for key, value in options.items())
        name += ", by pair" if by_pair else ""
        report.configurations.append(name)
        difference = _first_difference(graph, name, chosen, expected, computed)
        report.differences += [difference] if difference is not None else []
    return report


def _configurations(graph: Graph, report: PairReport) -> Iterator[tuple[dict[str, Any], bool]]:
    """Yield the options of the runs to compare, and whether each computes only the chosen pairs."""
    engines = ["cpu"]
    try:
        choose_engine("cuda")
        engines.append("cuda")
    except EngineError as error:
        report.declined["engine='cuda'"] = str(error)
    for engine in engines:
        yield {"engine": engine}, False
        yield {"engine": engine}, True
    yield {"engine": "python", "plan": Plan(partitions=2)}, False
    for parts in range(2, 1 + min(4, graph.number_of_vertices)):
        yield {"engine": "cpu", "plan": Plan(partitions=parts)}, False
    if len(engines) > 1:
        yield {"engine": "cuda", "plan": Plan(partitions=2)}, False


def _values(
    program: EdgeProgram,
    graph: Graph,
    arguments: Mapping[str, Any],
    chosen: tuple[Array, Array] | None,
    options: dict[str, Any],
) -> dict[str, Array]:
    """Run a program to its end; return the numbers and values of the pairs."""
    wanted = Options(**options)
    loop: EdgeLoop | PartitionedEdges
    if chosen is None:
        loop = EdgeLoop(program, arguments, wanted)
    else:
        loop = _Chosen(program, arguments, wanted)
        loop.choose(chosen)
    if wanted.plan.partitions > 1:
        loop = PartitionedEdges(loop, wanted.plan.partitions)
    loop.start(graph, on_device=wanted.engine == "cuda")
    while not loop.converged:
        loop.step()
    return {name: as_host(column) for name, column in loop.arrays().items()}


def _first_difference(
    graph: Graph,
    name: str,
    pairs: tuple[Array, Array],
    expected: Mapping[str, Array],
    computed: Mapping[str, Array],
) -> PairDifference | None:
    """Return the first pair with another value; floats may differ by rounding."""
    for column, values in expected.items():
        column_computed = computed[column]
        same = values == column_computed
        if values.dtype.kind == "f":
            near = 1e-4 if values.dtype.itemsize == 4 else 1e-9
            with np.errstate(invalid="ignore"):
                same |= np.isclose(values, column_computed, rtol=near, atol=0.0, equal_nan=True)
        if not same.all():
            place = int(np.argmin(same))
            ends = [graph.describe(int(end[place])) for end in pairs]
            return PairDifference(
                name, " – ".join(ends), column, values[place].item(), column_computed[place].item()
            )
    return None

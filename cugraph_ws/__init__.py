"""Graph algorithms on dataframes: an edge frame goes in, a vertex frame comes out.

Known algorithms are functions.  Algorithms of your own are vertex programs in plain Python, run by
the same engines.
"""

import logging as _logging
from types import ModuleType as _ModuleType
from typing import Any as _Any
from typing import NoReturn

from cugraph_ws import datasets
from cugraph_ws.accessor import register as _register_accessors
from cugraph_ws.algorithms import public as _public
from cugraph_ws.algorithms.public import *  # noqa: F403
from cugraph_ws.dask.local import local_cluster
from cugraph_ws.dask.probe import ClusterScan, cluster_scan
from cugraph_ws.errors import (
    ConvergenceError,
    CugraphWsError,
    EngineError,
    FileError,
    GraphMemoryError,
    GraphWarning,
    InputError,
    Interrupted,
    ProgramError,
    WorkerLostError,
)
from cugraph_ws.execution.check import CheckReport, check
from cugraph_ws.execution.explain import Explanation, explain
from cugraph_ws.execution.loop import Result
from cugraph_ws.execution.options import Plan
from cugraph_ws.execution.run import run
from cugraph_ws.execution.run_many import run_many
from cugraph_ws.graph.estimates import estimate_memory
from cugraph_ws.graph.report import GraphReport
from cugraph_ws.methods import Graph
from cugraph_ws.pictures.layout import layout
from cugraph_ws.pictures.plot import plot
from cugraph_ws.program.combines import bitset, first_by, histogram, top
from cugraph_ws.program.declarations import (
    boolean,
    distribution,
    edge,
    edge_state,
    float32,
    float64,
    floating,
    hidden,
    in_degree,
    in_weight,
    int32,
    int64,
    integer_id,
    like,
    neighbour_count,
    no_message,
    nullable,
    optional_vertex_set,
    out_degree,
    out_weight,
    parameter,
    predecessor,
    vector,
    vertex_id,
    vertex_number,
    vertex_parameter,
    vertex_set,
    vertex_value,
)
from cugraph_ws.program.decorator import aggregate, any_message, l1_norm, max_norm, vertex_program
from cugraph_ws.program.edge_program import EdgeProgram, edge_program
from cugraph_ws.program.jumps import at, greatest_at, least_at, sum_at
from cugraph_ws.program.lists import mode
from cugraph_ws.program.phases import Phases, phase, phases
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.program.vertex_step import vertex_step
from cugraph_ws.program.walk_program import WalkProgram, walk
from cugraph_ws.suggestions import did_you_mean as _did_you_mean

__version__ = "0.1.0"

_logging.getLogger(__name__).addHandler(_logging.NullHandler())
_register_accessors()

__all__ = [
    "CheckReport",
    "ClusterScan",
    "ConvergenceError",
    "CugraphWsError",
    "EdgeProgram",
    "EngineError",
    "Explanation",
    "FileError",
    "Graph",
    "GraphMemoryError",
    "GraphReport",
    "GraphWarning",
    "InputError",
    "Interrupted",
    "Phases",
    "Plan",
    "ProgramError",
    "Result",
    "VertexProgram",
    "WalkProgram",
    "WorkerLostError",
    "aggregate",
    "any_message",
    "at",
    "bitset",
    "boolean",
    "check",
    "cluster_scan",
    "datasets",
    "distribution",
    "edge",
    "edge_program",
    "edge_state",
    "estimate_memory",
    "explain",
    "first_by",
    "float32",
    "float64",
    "floating",
    "greatest_at",
    "hidden",
    "histogram",
    "in_degree",
    "in_weight",
    "int32",
    "int64",
    "integer_id",
    "l1_norm",
    "layout",
    "least_at",
    "like",
    "local_cluster",
    "max_norm",
    "mode",
    "neighbour_count",
    "no_message",
    "nullable",
    "optional_vertex_set",
    "out_degree",
    "out_weight",
    "parameter",
    "phase",
    "phases",
    "plot",
    "predecessor",
    "run",
    "run_many",
    "sum_at",
    "top",
    "vector",
    "vertex_id",
    "vertex_number",
    "vertex_parameter",
    "vertex_program",
    "vertex_set",
    "vertex_step",
    "vertex_value",
    "walk",
]
__all__ += [name for name in vars(_public) if not name.startswith("_")]


def __dir__() -> list[str]:
    return list(__all__)


def __getattr__(name: str) -> NoReturn:
    remedy = "" if name.startswith("_") else _did_you_mean(name, __all__, "ws.")
    raise AttributeError(f"cugraph_ws has no {name!r}{remedy}", name=name)


class _Module(_ModuleType):
    """A module of this package, which says what may be meant when it is called, as in `ws.graph(edges)`."""

    def __call__(self, *arguments: _Any, **options: _Any) -> NoReturn:
        name = self.__name__.removeprefix("cugraph_ws.")
        meant = _did_you_mean(name, [other for other in __all__ if other != name], "ws.")
        if name in __all__:
            meant = f"; call one of its functions: {', '.join(self.__all__)}"
        raise InputError(f"ws.{name} is a module{meant or '; it is not called'}")


for _name, _value in list(globals().items()):
    if isinstance(_value, _ModuleType) and not _name.startswith("_"):
        _value.__class__ = _Module

"""Graph algorithms on dataframes: an edge frame goes in, a vertex frame comes out.

The known algorithms are functions; one's own are vertex programs in plain Python, which the same
engines run.
"""

from cugraph_ws.algorithms.bfs import BFS, bfs
from cugraph_ws.algorithms.circuit import Circuit, circuit
from cugraph_ws.algorithms.heat import Heat, heat
from cugraph_ws.algorithms.neural_network import NeuralNetwork, neural_network
from cugraph_ws.algorithms.pagerank import PageRank, pagerank
from cugraph_ws.algorithms.sssp import SSSP, sssp
from cugraph_ws.algorithms.widest_path import WidestPath, widest_path
from cugraph_ws.declarations import (
    boolean,
    distribution,
    edge,
    float32,
    float64,
    hidden,
    in_degree,
    in_weight,
    int32,
    int64,
    like,
    nullable,
    optional_vertex_set,
    out_degree,
    out_weight,
    parameter,
    predecessor,
    vertex_id,
    vertex_parameter,
    vertex_set,
    vertex_value,
)
from cugraph_ws.errors import (
    ConvergenceError,
    CugraphWsError,
    FileError,
    GraphMemoryError,
    InputError,
    Interrupted,
    ProgramError,
)
from cugraph_ws.graph import Graph, GraphReport
from cugraph_ws.memory import estimate_memory
from cugraph_ws.program import (
    VertexProgram,
    aggregate,
    any_message,
    l1_norm,
    max_norm,
    vertex_program,
)
from cugraph_ws.run import Result, run

__version__ = "0.1.0"

__all__ = [
    "BFS",
    "SSSP",
    "Circuit",
    "ConvergenceError",
    "CugraphWsError",
    "FileError",
    "Graph",
    "GraphMemoryError",
    "GraphReport",
    "Heat",
    "InputError",
    "Interrupted",
    "NeuralNetwork",
    "PageRank",
    "ProgramError",
    "Result",
    "VertexProgram",
    "WidestPath",
    "aggregate",
    "any_message",
    "bfs",
    "boolean",
    "circuit",
    "distribution",
    "edge",
    "estimate_memory",
    "float32",
    "float64",
    "heat",
    "hidden",
    "in_degree",
    "in_weight",
    "int32",
    "int64",
    "l1_norm",
    "like",
    "max_norm",
    "neural_network",
    "nullable",
    "optional_vertex_set",
    "out_degree",
    "out_weight",
    "pagerank",
    "parameter",
    "predecessor",
    "run",
    "sssp",
    "vertex_id",
    "vertex_parameter",
    "vertex_program",
    "vertex_set",
    "vertex_value",
    "widest_path",
]

"""Neural network: the activation to which recurrent neurons settle.

The vertex program NN of Khorasani, Gupta, Bhuyan: Scalable SIMD-efficient graph processing on GPUs
(2015), after Anderson: An introduction to neural networks (1995).
"""

from __future__ import annotations

import math
from typing import Any, Unpack

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, check_finite
from cugraph_ws.execution.run import run
from cugraph_ws.execution.spread import spreads
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.columns import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.program.decorator import max_norm, vertex_program

__all__ = ["NeuralNetwork", "neural_network"]


@vertex_program
class NeuralNetwork:
    """Activation of every neuron, the hyperbolic tangent of its weighted inputs."""

    activation: ws.float64
    weight: ws.edge(ws.float64)
    initial: ws.vertex_value(ws.float64, argument="activation")
    fixed: ws.optional_vertex_set
    residual = max_norm("activation")
    tol = 1e-6
    max_iter = 1_000

    def init(vertex, p, own):
        return own.initial

    def compute(src, edge):
        return src.activation * edge.weight

    combine = sum

    def apply(old, gathered):
        return old.activation if old.fixed else math.tanh(gathered)

    def validate(graph: Graph, values: dict[str, Any]) -> None:
        check_finite("activation", graph, values["initial"])


@spreads
def neural_network(
    graph: Graph[FrameT] | FrameT,
    activation: Any,
    fixed: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1_000,
    *,
    source: Columns = "source",
    destination: Columns = "destination",
    weight: Weight = AUTO,
    directed: bool = True,
    **options: Unpack[RunOptions],
) -> FrameT:
    """Compute activations: X(v) = tanh(Σ w(u,v)·X(u)), until they settle.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame; its weights are the synapses' w, of either sign.
    activation : frame, mapping, number or column name
        First activation of every neuron.
    fixed : list of ids, optional
        Neurons that keep their activation: the inputs. One without in-edges that is not fixed
        falls to 0.
    tol : float
        The run ends once no activation changes by more in a superstep.
    max_iter : int
        The most supersteps; strong weights can oscillate for ever.
    source, destination : str or list of str
        For an edge frame: its columns.
    weight : str or None
        For an edge frame: the column of the synapses' weights; by default the column named `weight`.
    directed : bool
        For an edge frame: whether edges go one way.
    **options
        engine, progress, timeout, checkpoint, every, resume: see `run`.

    Returns
    -------
    DataFrame
        vertex; activation (float64, −1 to 1 but for fixed ones). Sorted by vertex.

    Raises
    ------
    InputError
        If an activation is missing, or an argument cannot be used.
    ConvergenceError
        If `max_iter` or `timeout` is reached first; `.result` has the activations so far.
    """
    result = run(
        NeuralNetwork,
        as_graph(
            graph,
            source=source,
            destination=destination,
            weight=weight,
            directed=directed,
            weighted=True,
        ),
        activation=activation,
        fixed=fixed,
        tol=tol,
        max_iter=max_iter,
        **options,
    )
    return result.require_convergence("neural_network").frame

"""Neural network: the activations to which recurrent neurons converge.

The vertex program NN of Khorasani, Gupta, Bhuyan: Scalable SIMD-efficient graph processing on GPUs
(2015), after Anderson: An introduction to neural networks (1995).
"""

# A vertex program: its annotations are declarations, and its functions no methods.
# ruff: noqa: D102, N805
# mypy: disable-error-code="valid-type, misc, no-untyped-def, arg-type, operator"

from __future__ import annotations

import math
from typing import Any, Unpack

import cugraph_ws.program.declarations as ws
from cugraph_ws.algorithms.options import Columns, RunOptions, Weight, check_finite
from cugraph_ws.algorithms.registry import algorithm
from cugraph_ws.execution.dask_frames import accepts_dask_frames
from cugraph_ws.execution.driver import run_on
from cugraph_ws.frames.types import FrameT
from cugraph_ws.graph.edges import AUTO
from cugraph_ws.graph.graph import Graph, as_graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.decorator import max_norm, vertex_program

__all__ = ["NeuralNetwork", "neural_network"]


@vertex_program
class NeuralNetwork:
    """Activation of every neuron, the hyperbolic tangent of its weighted inputs.

    Examples
    --------
    Two neurons that excite each other keep the sign that they start with:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> weights = {"source": ["left", "right"], "destination": ["right", "left"], "weight": 2.0}
    >>> for first in 0.1, -0.1:
    ...     result = ws.run(ws.NeuralNetwork, pd.DataFrame(weights), activation=first)
    ...     print(result.frame.activation.round(3).tolist(), result.converged)
    [0.958, 0.958] True
    [-0.958, -0.958] True
    """

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

    def validate(graph: GraphView, values: dict[str, Any]) -> None:
        check_finite("activation", graph, values["initial"])


@algorithm(
    group="simulation",
    columns="vertex, activation",
    example=lambda ids: {"activation": 0.5, "fixed": ids[:1]},
    weights="required",
    program=NeuralNetwork,
)
@accepts_dask_frames
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
    """Compute activations until convergence: X(v) = tanh(Σ w(u,v)·X(u)).

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame; weights are the synapses' w, of either sign.
    activation : frame, mapping, number or column name
        Initial activation of every neuron.
    fixed : list of ids, optional
        Neurons with a constant activation: the inputs. A neuron that is not fixed and has no
        in-edges falls to 0.
    tol : float
        The run ends when no activation changes by more than this in a superstep.
    max_iter : int
        Maximum number of supersteps; with large weights activations can oscillate forever.
    weight : str or None
        For an edge frame: the column of the synapses' weights; by default the column named
        `weight`.

    Returns
    -------
    DataFrame
        vertex; activation (float64, between −1 and 1 except for fixed ones). Sorted by vertex.

    Raises
    ------
    InputError
        If an activation is missing, or an argument is invalid.
    ConvergenceError
        If `max_iter` or `timeout` is reached first; `.result` has the activations so far.

    Examples
    --------
    A neuron that is active if one of its inputs is, here only the first:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> names, weights = ["first", "second", "bias"], [4.0, 4.0, -2.0]
    >>> synapses = pd.DataFrame({"source": names, "destination": "either", "weight": weights})
    >>> inputs = {"first": 1.0, "second": 0.0, "bias": 1.0, "either": 0.0}
    >>> ws.neural_network(synapses, inputs, fixed=names).round(3).to_dict("list")["activation"]
    [1.0, 0.964, 1.0, 0.0]
    """
    result = run_on(
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

"""What is said of arguments that cannot be meant, and column names that are whole numbers."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import stand_in_cudf
from emulator.device import emulated

import cugraph_ws as ws
from cugraph_ws.errors import InputError

EDGES = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 3], "weight": [1.0, 2.0, 3.0]})
ABSURD = {
    "None": None,
    "fraction": 3.5,
    "complex": 1j,
    "truth": True,
    "bytes": b"x",
    "object": object(),
    "set": {"a"},
    "dict": {"a": 1},
    "list of None": [None],
    "list of lists": [["a"]],
    "list of truths": [True],
    "list of tuples": [("a", "b")],
    "array": np.array([1, 2]),
    "series": pd.Series([1.5, 2]),
    "function": len,
    "range": range(2),
    "iterator": iter([1]),
    "frame": pd.DataFrame({"a": [1]}),
    "name": "nobody",
    "number": 7,
}
TAKES_NONE = {"weight", "vertices", "attributes", "workers"}


def refused(function, name, value):
    """Call with an argument: our error, or none where that value is one of those meant."""
    try:
        function(**{name: value})
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize("kind", ABSURD)
@pytest.mark.parametrize("through", ["Graph", "accessor"])
def test_absurd_arguments_of_a_graph_get_our_error(through, kind):
    make = (lambda **options: ws.Graph(EDGES.copy(), **options)) if through == "Graph" else None
    make = make or EDGES.copy().ws.graph
    for name in (
        "source", "destination", "weight", "vertices", "attributes", "duplicates", "self_loops",
        "directed", "consume", "balance", "workers",
    ):  # fmt: skip
        value = ABSURD[kind]
        fine = (value is None and name in TAKES_NONE) or (
            value is True and name in ("directed", "consume")
        )
        fine = fine or (kind == "frame" and name == "vertices")
        told = refused(make, name, value)
        assert (told is None) == fine, (name, told)
        if told is not None and name in ("source", "weight", "duplicates", "directed", "balance"):
            assert name in told


@pytest.mark.parametrize("kind", [kind for kind in ABSURD if kind != "iterator"])
def test_absurd_arrays_and_matrices_get_our_error(kind):
    value = ABSURD[kind]

    def arrays(**options):
        return ws.Graph.from_arrays(**{"source": [0, 1], "destination": [1, 2], **options})

    for name in ("source", "destination"):
        told = refused(arrays, name, value)
        assert (told is None) == (kind in ("array", "range")), (name, told)
    for name in ("weight", "vertices", "attributes", "duplicates", "self_loops", "directed"):
        refused(arrays, name, value)
    with pytest.raises(InputError):
        ws.Graph.from_matrix(value)
    if value is not True:
        with pytest.raises(InputError, match=r"directed=.* must be True or False"):
            ws.Graph.from_matrix(sp.csr_array(np.eye(2)), value)


def test_attributes_of_arrays_are_named():
    with pytest.raises(
        InputError, match=r"attributes=.* must be a mapping of names to arrays, or None"
    ):
        ws.Graph.from_arrays([0], [1], attributes=["a"])
    with pytest.raises(InputError, match="attributes: 1 is not a column name; names are text"):
        ws.Graph.from_arrays([0], [1], attributes={1: [1]})


@pytest.mark.parametrize("value", [None, 3.5, "yes", np.array([1, 2]), ["weight"]])
def test_functions_on_a_graph_that_is_made(value):
    graph = ws.Graph(EDGES, weight="weight")
    with pytest.raises(InputError, match=r"directed=.* must be True or False"):
        ws.core_number(graph, directed=value)
    if value is not None:
        with pytest.raises(
            InputError,
            match=r"weight=.*(the graph was built with weight='weight'|must be the name)",
        ):
            ws.core_number(graph, weight=value)


@pytest.fixture(params=["host", "device"])
def made(request):
    """What makes a frame of pandas one of the host, or of an emulated device."""
    if request.param == "host":
        yield lambda frame: frame
        return
    with emulated(), stand_in_cudf.installed():
        yield stand_in_cudf.DataFrame


def test_columns_named_by_whole_numbers(made):
    frame = made(pd.DataFrame([[0, 1, 2.0], [1, 2, 1.0]]))
    graph = ws.Graph(frame, source=0, destination=np.int64(1), weight=2)
    assert graph.weight == 2
    assert graph.edge_attributes == (2,)
    assert pd.Series(ws.sssp(graph, 0)["distance"]).tolist() == [0, 2, 3]
    assert pd.Series(ws.bfs(frame, 0, source=0, destination=1)["distance"]).tolist() == [0, 1, 2]
    assert list(ws.k_core(graph, 0).columns) == [0, 1, 2]
    with pytest.raises(InputError, match=r"source=5: edges has no such column; .* are 0, 1, 2"):
        ws.Graph(frame, 5, 1)


def test_several_columns_named_by_whole_numbers():
    graph = ws.Graph(pd.DataFrame([[0, 1, 2, 3], [2, 3, 4, 5]]), [0, 1], [2, 3])
    found = ws.bfs(graph, [(0, 1)])
    assert list(found.columns) == [0, 1, "distance", "predecessor_0", "predecessor_1"]
    path = ws.shortest_path(found, [(4, 5)])
    assert path[["vertex_0", "vertex_1"]].to_numpy().tolist() == [[0, 1], [2, 3], [4, 5]]
    vertices = pd.DataFrame([[0, 1], [9, 9]])
    with_more = ws.Graph(
        pd.DataFrame([[0, 1, 2, 3]]), [0, 1], [2, 3], vertices=vertices, attributes=0
    )
    assert with_more.number_of_vertices == 3


def test_labels_of_several_levels():
    labels = pd.MultiIndex.from_tuples([("a", "x"), ("a", "y")])
    frame = pd.DataFrame([[1, 2]], columns=labels)
    with pytest.raises(InputError, match=r"\('a', 'x'\) is a label of several levels; give"):
        ws.Graph(frame, [("a", "x")], [("a", "y")])
    with pytest.raises(InputError, match="its labels have several levels: give it flat names"):
        ws.Graph(frame, "a", "b")

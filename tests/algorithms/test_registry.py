"""What algorithms declare is true of their results, and completes their docstrings."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pytest
from numpydoc.docscrape import FunctionDoc

import cugraph_ws as ws
from cugraph_ws.algorithms.registry import ALGORITHMS, algorithm

EDGES = pd.DataFrame(
    {
        "source": ["a", "a", "b", "c", "d"],
        "destination": ["b", "c", "d", "d", "e"],
        "weight": [0.125, 0.5, 0.25, 0.375, 0.0625],
    }
)
IDS = list("abcde")
UNDIRECTED = [name for name, declared in ALGORITHMS.items() if not declared.directions]


def result_of(name: str, **options: Any) -> Any:
    return getattr(ws, name)(EDGES, **ALGORITHMS[name].arguments(IDS), **options)


def test_every_function_of_a_graph_is_declared_by_its_public_name() -> None:
    functions = {
        name: value
        for name, value in vars(ws).items()
        if inspect.isfunction(value)
        and next(iter(inspect.signature(value).parameters), "") == "graph"
        and name not in ("layout", "plot")  # pictures, not results
    }
    assert functions == {name: declared.function for name, declared in ALGORITHMS.items()}


@pytest.mark.parametrize("name", ALGORITHMS)
def test_results_have_the_declared_columns(name: str) -> None:
    declared = ALGORITHMS[name]
    result = result_of(name)
    if isinstance(result, (int, float)):
        assert declared.columns == name
        return
    frame = result[0] if isinstance(result, tuple) else result
    columns = ["source", "destination"] if declared.columns.startswith("edges") else []
    if declared.columns.startswith("edges") and "weight" in frame.columns:
        columns.append("weight")
    columns += [word for word in declared.columns.split(", ") if word != "edges"]
    if columns[-1] == "…":
        columns[-1:] = [one for one in frame.columns if one not in columns]
    assert list(frame.columns) == columns
    assert len(frame)


@pytest.mark.parametrize("name", UNDIRECTED)
def test_results_do_not_depend_on_directions_if_that_is_declared(name: str) -> None:
    results = [result_of(name, directed=directed) for directed in (True, False)]
    for one, other in zip(*(r if isinstance(r, tuple) else (r,) for r in results), strict=True):
        if isinstance(one, (int, float)):
            assert one == pytest.approx(other)
        else:
            pd.testing.assert_frame_equal(one, other)


# ----------------------------------------------------------------------------------- docstrings


@pytest.fixture
def registered() -> Iterator[None]:
    """Forget what a test declares."""
    before = dict(ALGORITHMS)
    yield
    ALGORITHMS.clear()
    ALGORITHMS.update(before)


@pytest.mark.usefixtures("registered")
def test_a_docstring_gets_what_it_does_not_describe_in_the_order_of_the_signature() -> None:
    @algorithm(group="structure", columns="vertex", weights="kept", checkpoints="nowhere")
    def toy(
        graph: Any,
        k: int,
        *,
        source: Any,
        destination: Any,
        weight: Any,
        directed: bool,
        **options: Any,
    ) -> Any:
        """Return nothing.

        Parameters
        ----------
        k : int
            A number.

            It may be any.
        directed : bool
            What this function says.

        Returns
        -------
        DataFrame
        """  # fmt: skip

    document = FunctionDoc(toy)
    described = {entry.name: " ".join(entry.desc) for entry in document["Parameters"]}
    assert list(described) == [
        *("graph", "k", "source, destination", "weight", "directed", "**options"),
    ]
    assert described["k"] == "A number.  It may be any."
    assert described["directed"] == "What this function says."
    assert "keeps" in described["weight"]
    assert "no checkpoints" in described["**options"]
    assert document["Summary"] == ["Return nothing."]
    assert [entry.type for entry in document["Returns"]] == ["DataFrame"]
    assert ALGORITHMS["toy"].summary == "Return nothing."


@pytest.mark.usefixtures("registered")
def test_what_no_function_has_is_not_described() -> None:
    @algorithm(group="structure", columns="vertex")
    def toy(graph: Any) -> None:
        """Return nothing.

        Returns
        -------
        None
        """

    assert [entry.name for entry in FunctionDoc(toy)["Parameters"]] == ["graph"]


def test_functions_without_docstrings_are_declared_too() -> None:
    program = "import cugraph_ws as ws; print(ws.pagerank.__doc__, ws.pagerank.__name__)"
    done = subprocess.run(
        [sys.executable, "-OO", "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "None pagerank\n"), done.stderr

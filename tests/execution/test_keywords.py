"""Arguments that a function does not have are refused, with a similar name, before anything is read."""

from __future__ import annotations

import inspect
from typing import Any

import pandas as pd
import pytest

import cugraph_ws as ws

OWN = [
    name
    for name in ws.__all__
    if inspect.isfunction(function := getattr(ws, name))
    and "RunOptions" in str(inspect.signature(function).parameters.get("options"))
]
EDGES = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})


def required(name: str) -> dict[str, Any]:
    """Return something for each argument without a default."""
    parameters = inspect.signature(getattr(ws, name)).parameters.values()
    empty = inspect.Parameter.empty
    return {
        one.name: None
        for one in parameters
        if one.name == "start" or (one.default is empty and one.name != "options")
    }


def test_there_are_such_functions() -> None:
    assert {"pagerank", "leiden", "k_truss", "jaccard", "bfs"} <= set(OWN)


@pytest.mark.parametrize("name", OWN)
def test_an_unknown_argument_is_refused_first(name: str) -> None:
    with pytest.raises(ws.InputError, match=rf"^{name}\(\) has no argument nonsense; it has: "):
        getattr(ws, name)(**required(name), nonsense=1)


@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [("pagerank", "max_iterations", "max_iter"), ("leiden", "resolutoin", "resolution"), ("louvain", "progres", "progress")],
)  # fmt: skip
def test_a_similar_name_is_shown(name: str, given: str, meant: str) -> None:
    with pytest.raises(ws.InputError, match=f"no argument {given}; did you mean {meant}"):
        getattr(ws, name)(EDGES, **{given: 1})


def test_options_of_runs_are_taken() -> None:
    frame = ws.pagerank(EDGES, engine="python", max_iter=3, fail_on_nonconvergence=False)
    assert len(frame) == 3
    with pytest.raises(ws.InputError, match=r"^partitions: core_number has a loop of its own"):
        ws.core_number(EDGES, plan=ws.Plan(partitions=2))


def test_parameters_of_a_loop_are_given_when_it_is_made() -> None:
    with pytest.raises(
        ws.InputError, match=r"^resolution: leiden takes its parameters when it is made"
    ):
        ws.run(ws.Leiden(), EDGES, resolution=2.0)

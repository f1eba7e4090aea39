"""Data sets: the published numbers, every kind of frame, and the examples of their docstrings."""

import doctest

import networkx as nx
import pyarrow as pa
import pytest

import cugraph_ws as ws
from cugraph_ws.graph import generators

SETS = ["karate_club", "karate_factions", "southern_women", "streets", "circles"]


def test_the_karate_club_is_the_one_of_networkx():
    edges = ws.datasets.karate_club()
    expected = nx.karate_club_graph()
    rows = zip(edges["source"], edges["destination"], edges["weight"], strict=True)
    assert list(rows) == list(expected.edges(data="weight"))
    clubs = dict(ws.datasets.karate_factions().itertuples(index=False))
    assert clubs == dict(expected.nodes(data="club"))


def test_the_southern_women_are_those_of_networkx():
    rows = ws.datasets.southern_women().itertuples(index=False, name=None)
    assert sorted(rows) == sorted(nx.davis_southern_women_graph().edges)


@pytest.mark.parametrize("name", SETS)
def test_sets_are_the_same_in_every_kind_of_frame(name):
    make = getattr(ws.datasets, name)
    arrays = make(frame=None)
    rows = {column: values.tolist() for column, values in arrays.items()}
    assert pa.table(make(frame="pyarrow")).to_pydict() == rows
    assert make(frame="polars").to_dict(as_series=False) == rows
    assert make().to_dict("list") == rows


@pytest.mark.parametrize("module", [ws.datasets, generators])
def test_examples(module):
    names = vars(module) | {"ws": ws}
    finder = doctest.DocTestFinder()
    for name in module.__all__:
        for example in finder.find(getattr(module, name), name, module=False, globs=names):
            assert doctest.DocTestRunner().run(example).failed == 0, name


def test_a_kind_of_frame_that_is_not_installed(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ws.InputError, match="frame='polars' needs polars; install it, or choose"):
        ws.datasets.circles(frame="polars")

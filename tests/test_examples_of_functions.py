"""The examples in the docstrings of public functions and classes give what they say."""

from __future__ import annotations

import doctest
import inspect
from typing import Any

import pytest

import cugraph_ws as ws


def examples() -> dict[str, doctest.DocTest]:
    """Return the docstrings with examples, by name."""
    finder = doctest.DocTestFinder(recurse=False)
    public = {name: getattr(ws, name) for name in ws.__all__}
    objects = {
        name: inspect.unwrap(value)
        for name, value in public.items()
        if inspect.isfunction(value) or inspect.isclass(value)
    }
    tests = [(name, test) for name, value in objects.items() for test in finder.find(value, name)]
    return {name: test for name, test in tests if test.examples}


EXAMPLES: dict[str, Any] = examples()


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example(name):
    assert doctest.DocTestRunner().run(EXAMPLES[name]).failed == 0


def test_the_functions_that_people_try_first_have_one():
    first = {
        "run",
        "pagerank",
        "bfs",
        "sssp",
        "louvain",
        "jaccard",
        "k_core",
        "betweenness_centrality",
    }
    assert first <= EXAMPLES.keys()

"""Every public name has an example in its docstring, and it gives what it says."""

from __future__ import annotations

import doctest
import inspect

import pytest

import cugraph_ws as ws


def text_of(name: str) -> str:
    """Return the documentation of a public name; that of its type if it is a value."""
    value = getattr(ws, name)
    if isinstance(value, ws.VertexProgram):
        return value.doc
    plain = inspect.isfunction(value) or inspect.isclass(value) or inspect.ismodule(value)
    return inspect.getdoc(inspect.unwrap(value) if plain else type(value)) or ""


TEXTS = {text_of(name): name for name in reversed(ws.__all__)}  # several values may have one type
OF_CLUSTERS = {"ClusterScan", "cluster_scan", "local_cluster"}


def check(name: str) -> None:
    """Run the examples of a docstring."""
    example = doctest.DocTestParser().get_doctest(
        text_of(name), {"__name__": name}, name, None, None
    )
    assert example.examples, f"the docstring of {name} has no example"
    assert doctest.DocTestRunner().run(example).failed == 0


@pytest.mark.parametrize("name", sorted(set(TEXTS.values()) - OF_CLUSTERS))
def test_an_example(name):
    check(name)


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(OF_CLUSTERS))
def test_an_example_that_starts_workers(name):
    check(name)

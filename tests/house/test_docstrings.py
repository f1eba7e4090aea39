"""Docstrings of public names say what the signatures say."""

import inspect

import pytest
from numpydoc.docscrape import FunctionDoc, NumpyDocString

import cugraph_ws as ws
from cugraph_ws import errors
from cugraph_ws.frames import readers, writers
from cugraph_ws.graph import generators

FUNCTIONS = {
    f"{module.__name__}.{name}": value
    for module in (ws, ws.datasets, generators, readers, writers)
    for name in module.__all__
    if inspect.isfunction(value := getattr(module, name))
}
CLASSES = {name: value for name in ws.__all__ if inspect.isclass(value := getattr(ws, name))}


def documented(parameters):
    """Names under Parameters, where one line may list several, without their stars."""
    return [
        name.strip().lstrip("*") for parameter in parameters for name in parameter.name.split(",")
    ]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions(name):
    function = FUNCTIONS[name]
    document = FunctionDoc(function)
    assert document["Summary"], "no summary"
    parameters = list(inspect.signature(function).parameters)
    assert sorted(documented(document["Parameters"])) == sorted(parameters)
    assert (
        document["Returns"]
        or document["Yields"]
        or function.__annotations__["return"]
        in (
            None,
            "None",
        )
    )


@pytest.mark.parametrize("name", sorted(CLASSES))
def test_classes(name):
    kind = CLASSES[name]
    assert kind.__doc__, "no docstring"
    if issubclass(kind, BaseException):
        return
    document = NumpyDocString(inspect.cleandoc(kind.__doc__))
    assert document["Summary"]
    described = documented(document["Parameters"] + document["Attributes"])
    parameters = [
        parameter.name
        for parameter in inspect.signature(kind).parameters.values()
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL)
    ]
    if document["Parameters"]:
        assert set(parameters) <= set(described)


@pytest.mark.parametrize(
    "name", [name for name in ws.__all__ if isinstance(getattr(ws, name), ws.VertexProgram)]
)
def test_programs_describe_themselves(name):
    assert getattr(ws, name).doc


def test_every_error_is_exported():
    assert set(errors.__all__) <= set(ws.__all__)

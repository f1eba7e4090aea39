"""Write the site's reference: a page for each name in `cugraph_ws.__all__`, in groups.

A name belongs to the group of the package that defines it, so there is no list of names to keep.
Sphinx fills the pages from docstrings.

    python ci/site_reference.py FOLDER
"""

from __future__ import annotations

import inspect
import shutil
import sys
import textwrap
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any

import cugraph_ws as ws
from cugraph_ws.program.declarations import ScalarType
from cugraph_ws.program.vertex_program import VertexProgram

ROOT = Path(__file__).parents[1]

GROUPS = {  # a page of the reference for each, by the package that defines the names
    "functions": ("Functions", "An edge frame or a `Graph` goes in, a frame comes out."),
    "graphs": ("Graphs and runs", "Graphs that are kept, runs with all their details, and checks."),
    "programs": (
        "Writing programs",
        "What programs of your own are made of; [](../first-program.md) introduces them.",
    ),
    "algorithms": (
        "Programs for run()",
        "The programs and loops behind the functions, for `ws.run`, which returns more than a frame.",
    ),
    "datasets": (
        "Data sets and generators",
        "Graphs to try things on: `ws.datasets.karate_club()`.",
    ),
    "clusters": ("Clusters", "Workers on one machine, and what a cluster consists of."),
    "errors": ("Errors", "Every error is a `CugraphWsError`."),
}
# What users call; the other public attributes serve the library's own packages.
MEMBERS = {
    "Graph": "from_arrays, from_matrix, number_of_vertices, number_of_edges, vertices, edges, nbytes, report, "
    "mask, contract, subgraph, reverse, to_scipy, to_cupy, to_networkx, to_igraph, to_pyg, close",
    "Result": "frame, edges, trace, head, to_pandas, to_polars, to_arrow, to_cudf, plot, require_convergence",
}


def group_of(value: Any) -> str:
    """Return the key in `GROUPS` of a public value."""
    if inspect.ismodule(value):
        return "datasets"
    module = type(value).__module__
    if inspect.isclass(value) or inspect.isfunction(value):
        module = value.__module__
    package = module.split(".")[1]
    if isinstance(value, VertexProgram) or (package == "algorithms" and inspect.isclass(value)):
        return "algorithms"
    return {
        "algorithms": "functions",
        "pictures": "functions",
        "program": "programs",
        "dask": "clusters",
        "errors": "errors",
    }.get(package, "graphs")


def program_page(name: str, program: VertexProgram) -> str:
    """Return the page of a built-in vertex program: its docstring and its source."""
    path = Path(inspect.getfile(program.functions["compute"])).relative_to(ROOT)
    return data(name, program.doc) + (
        f"\n   Its source:\n\n   .. literalinclude:: /../../{path}\n      :pyobject: {name}\n"
    )


def data(name: str, text: str) -> str:
    """Return the entry of a value, with its documentation."""
    return f".. py:data:: {name}\n\n" + textwrap.indent(text, "   ") + "\n"


def value_page(name: str, value: Any) -> str:
    """Return the page of a declaration that is a value, such as `ws.float32` or `ws.out_degree`."""
    text = inspect.getdoc(type(value)) or ""
    if isinstance(value, ScalarType):
        examples = text.partition("Examples\n")
        text = f"The type of a state field, an attribute or a parameter: NumPy's ``{value.dtype}``."
        if value.holds_vertex:
            text += "\n\nIt holds the number of a vertex, which is an id in results."
        text = "\n\n".join([text, "".join(examples[1:])])
    return data(name, text)


def arguments_of(kind: type) -> str:
    """Return the arguments of a class without their types; none for results, and where none are taken."""
    if is_dataclass(kind) or kind.__init__ is object.__init__:
        return ""
    parameters = list(inspect.signature(kind.__init__).parameters.values())[1:]
    plain = [parameter.replace(annotation=parameter.empty) for parameter in parameters]
    return str(inspect.Signature(plain))[1:-1]


def page(name: str) -> str:
    """Return the reStructuredText of the page of a public name."""
    value = getattr(ws, name)
    title = f"{name}\n{'=' * len(name)}\n\n.. currentmodule:: cugraph_ws\n\n"
    if isinstance(value, VertexProgram):
        return title + program_page(name, value)
    if inspect.ismodule(value):
        return (
            title + f".. automodule:: cugraph_ws.{name}\n   :members: {', '.join(value.__all__)}\n"
        )
    if inspect.isfunction(value):
        return title + f".. autofunction:: {name}\n"
    if inspect.isclass(value) and issubclass(value, BaseException):
        return title + f".. autoexception:: {name}\n   :show-inheritance:\n"
    if inspect.isclass(value):
        members = f"   :members: {MEMBERS[name]}\n" if name in MEMBERS else ""
        return title + f".. autoclass:: {name}({arguments_of(value)})\n" + members
    return title + value_page(name, value)


def summary(name: str) -> str:
    """Return the first line of the documentation of a public name."""
    value = getattr(ws, name)
    if isinstance(value, VertexProgram):
        return value.doc.splitlines()[0]
    if isinstance(value, ScalarType):
        return f"The type of a state field: NumPy's {value.dtype}."
    return (inspect.getdoc(value) or "").splitlines()[0]


def write_reference(folder: Path) -> None:
    """Write a page for each public name, one for each group, and the index."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    names: dict[str, list[str]] = {group: [] for group in GROUPS}
    for name in ws.__all__:
        names[group_of(getattr(ws, name))].append(name)
        (folder / f"{name}.rst").write_text(page(name))
    for group, (title, text) in GROUPS.items():
        rows = "".join(f"| [{name}]({name}.rst) | {summary(name)} |\n" for name in names[group])
        tree = "\n".join(names[group])
        (folder / f"{group}-index.md").write_text(
            f"# {title}\n\n{text}\n\n| name | |\n| --- | --- |\n{rows}\n"
            f"```{{toctree}}\n:hidden:\n\n{tree}\n```\n"
        )
    tree = "\n".join(f"{group}-index" for group in GROUPS)
    (folder / "index.md").write_text(
        "# Reference\n\nEvery public name of `import cugraph_ws as ws`, from its docstring.\n\n"
        f"```{{toctree}}\n:maxdepth: 1\n\n{tree}\n```\n"
    )


if __name__ == "__main__":
    write_reference(Path(sys.argv[1]))

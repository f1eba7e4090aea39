"""`@algorithm`: an algorithm's file declares once what its other faces are made of.

Those faces are its command, its call in `cugraph-ws warm-up`, its row in the table of the README, the rest of its
docstring, and the calls by which tests hold all functions to the same rules.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeVar, get_args

__all__ = ["ALGORITHMS", "GROUPS", "Algorithm", "algorithm", "described"]

Function = TypeVar("Function", bound=Callable[..., Any])
Arguments = Mapping[str, Any]

Group = Literal["paths", "centrality", "communities", "structure", "similarity", "simulation"]
GROUPS: tuple[Group, ...] = get_args(Group)
Weights = Literal["ignored", "kept", "read", "required", "weighted", "use_weight"]
Checkpoints = Literal["everywhere", "on one machine", "nowhere"]
ByGroup = bool | Callable[[Arguments], bool]


def _entry(names: str, kind: str, text: str) -> str:
    """Return parameters as a docstring lists them."""
    return f"{names}{kind and ' : '}{kind}\n{textwrap.fill(text, 96, initial_indent=TAB, subsequent_indent=TAB)}"


TAB = " " * 4
# Parameters that many functions have: the type and the text of each, unless a docstring has its own.
SHARED: dict[str, str] = {
    name: _entry(name, kind, text)
    for name, kind, text in (
        ("graph", "Graph or DataFrame", "The graph, or an edge frame."),
        ("source, destination", "str or list of str", "Id columns of an edge frame."),
        ("directed", "bool", "Whether the edges of an edge frame are directed."),
        ("max_iter", "int", "Maximum number of supersteps."),
        ("degree_type", '{"both", "in", "out"}', "Which edges count if the graph is directed."),
        ("return_predecessors", "bool", "Whether the result has the predecessor column."),
        ("use_weight", "bool", "Whether to use the weights of edges, which must not be negative."),
        (
            "vertex_pair",
            'DataFrame or "edges", optional',
            "The pairs, with ids in columns `first` and `second` (`first_a`, `first_b` and so on for ids of several "
            'columns); or "edges" for all pairs of neighbours.  By default all pairs of vertices with a common neighbour.',
        ),
        (
            "top",
            "int, optional",
            "Of all pairs with a common neighbour, return for each vertex those with the `top` most similar others.",
        ),
        (
            "at_least",
            "float, optional",
            "Of all pairs with a common neighbour, return those with at least this coefficient.",
        ),
        ("seed", "int", "The same seed samples the same vertices on any machine."),
        ("engine", '{"auto", "cpu", "cuda", "python"}', "See `run`."),
    )
}
UNDIRECTED = _entry("directed", "bool", "How an edge frame is read; it does not change the result.")
WEIGHT: dict[str, str] = {
    use: _entry("weight", "str, optional", f"Weight column of an edge frame{text}.")
    for use, text in {
        "ignored": ", which must exist but has no effect",
        "kept": ", which the result keeps; by default the column named `weight`, if there is one",
        "read": ", 0 or more; by default the column named `weight`, if there is one.  None for no weights",
        "required": "; by default the column named `weight`",
        "weighted": "; read only if `weighted`, by default the column named `weight`",
        "use_weight": "; by default the column named `weight`, if there is one; ignored unless `use_weight`",
    }.items()
}
STEPS = "progress, timeout, checkpoint, every, resume, profile: see `run`."
# Of functions that run a vertex program, these are preceded by `plan`
OPTIONS: dict[str, str] = {
    "everywhere": STEPS,
    "on one machine": f"{STEPS}  On a cluster, a run has no checkpoints.",
    "nowhere": "progress, timeout, profile: see `run`; there are no checkpoints.",
}


@dataclass(frozen=True)
class Algorithm:
    """A public function of a graph, and what its file declares about it; see `algorithm`."""

    function: Callable[..., Any]
    group: Group
    columns: str
    example: Arguments | Callable[[Sequence[Any]], Arguments]
    weights: Weights
    directions: bool
    checkpoints: Checkpoints
    program: Any
    note: str
    by_group: ByGroup = False
    divides: str = ""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.__name__

    @property
    def summary(self) -> str:
        """The first paragraph of its docstring, in one line."""
        return " ".join(str(self.function.__doc__).partition("\n\n")[0].split())

    @property
    def reads_weights(self) -> bool:
        """Whether it reads the column of weights in any call."""
        return self.weights in ("kept", "read", "required")

    def described(self, parameter: str) -> str:
        """Return what its docstring says of a parameter; "" if it says nothing.

        Parameters
        ----------
        parameter : str

        Returns
        -------
        str
        """
        return described(self.function.__doc__ or "", parameter)

    def arguments(self, ids: Sequence[Any]) -> dict[str, Any]:
        """Return the arguments of a small call, besides the graph.

        Parameters
        ----------
        ids : sequence
            The ids of all vertices, at least four.

        Returns
        -------
        dict
        """
        return dict(self.example(ids) if callable(self.example) else self.example)


def described(docstring: str, parameter: str) -> str:
    """Return what a docstring says of a parameter; "" if it says nothing.

    Parameters
    ----------
    docstring : str
        Without indentation.
    parameter : str

    Returns
    -------
    str
    """
    text = re.search(rf"^{parameter}\b.*\n((?:    .*\n)+)", docstring, re.MULTILINE)
    return " ".join(text[1].split()) if text else ""


ALGORITHMS: dict[str, Algorithm] = {}  # by the function's name, in the order of imports


def algorithm(
    *,
    group: Group,
    columns: str,
    example: Arguments | Callable[[Sequence[Any]], Arguments] | None = None,
    weights: Weights = "ignored",
    directions: bool = True,
    checkpoints: Checkpoints = "everywhere",
    program: Any = None,
    note: str = "",
    by_group: ByGroup = False,
    divides: str = "",
) -> Callable[[Function], Function]:
    """Declare a public function of a graph; this is the outermost decorator.

    A docstring describes the function's own parameters.  Those in `SHARED`, `weight` and `**options` are
    put in, unless it describes them too.

    Parameters
    ----------
    group : str
        The heading under which the README and the command line list it.
    columns : str
        Columns of its result; "edges" stands for the columns of edges.
    example : mapping or callable, optional
        Its arguments in a small call besides the graph, or a callable that returns them, given the
        ids of all vertices; by default it needs none.
    weights : {"ignored", "kept", "read", "required", "weighted", "use_weight"}
        Whether it ignores the column of weights, keeps it in its result, computes with it, needs it, or
        computes with it if the argument of that name is true.
    directions : bool
        Whether the direction of edges matters.
    checkpoints : {"everywhere", "on one machine", "nowhere"}
        Where its runs have them.
    program : VertexProgram, optional
        What it runs, if that is a program, for estimates of memory; a loop of its own has a row in
        `rows_of_runs.py`.
    note : str
        What the README adds to the first sentence of the docstring.
    by_group : bool or callable
        Whether one call on a graph of many groups, between which there are no edges, gives each of them the
        answer of a call on it alone; a callable is given the arguments.  See `run_groups`.
    divides : str
        What workers of a cluster that each have a copy of the graph divide among them: the argument with the
        ids of which each gives rows of its own; or "sources", whose scores in the last column are added.

    Returns
    -------
    callable
        A decorator, which returns the function itself.
    """

    def declare(function: Function) -> Function:
        ALGORITHMS[function.__name__] = Algorithm(
            function,
            group,
            columns,
            example or {},
            weights,
            directions,
            checkpoints,
            program,
            note,
            by_group,
            divides,
        )
        leading = "engine, " if program is None else "engine, plan, "
        options = _entry("**options", "", leading + OPTIONS[checkpoints])
        shared = {**SHARED, "weight": WEIGHT[weights], "**options": options}
        if not directions:
            shared["directed"] = UNDIRECTED
        if function.__doc__ is not None:  # not with -OO
            text = _documented(function, shared)
            inner: Any = function
            while inner is not None:  # decorators have copied the docstring
                inner.__doc__ = text
                inner = getattr(inner, "__wrapped__", None)
        return function

    return declare


HEADING = "\nParameters\n----------\n"
NEXT = "\nReturns\n-------\n"


def _documented(function: Callable[..., Any], shared: Mapping[str, str]) -> str:
    """Return a docstring with the shared parameters that it does not describe, in the order of the signature."""
    code = inspect.unwrap(function).__code__  # reading it takes a tenth of the time of a signature
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    before, _, after = inspect.cleandoc(str(function.__doc__)).partition(NEXT)
    summary, _, described = before.partition(HEADING)
    entries = {
        name: entry
        for entry in (*shared.values(), *re.split(r"\n(?=\S)", described.strip()))
        for name in entry.partition("\n")[0].partition(" :")[0].split(", ")
    }
    starred = ["**options"] if code.co_flags & inspect.CO_VARKEYWORDS else []
    listed = "\n".join(
        dict.fromkeys(
            entries[parameter] for parameter in (*names, *starred) if parameter in entries
        )
    )
    return f"{summary.rstrip()}\n{HEADING}{listed}\n{NEXT}{after}"

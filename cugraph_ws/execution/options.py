"""The options of a run: type, default, valid values and help of each, declared once.

The signature and docstring of `run`, `RunOptions` for the other functions, and the flags of the
command line are derived from the fields of `Options`.
"""

from __future__ import annotations

import inspect
import os
import textwrap
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypedDict, TypeVar, get_args

import numpy as np

from cugraph_ws.arguments import (
    check_count,
    check_flag,
    check_number,
    check_path,
    check_word,
    shown,
)
from cugraph_ws.backends.planner import Filter, WantedDirection, WantedLayout
from cugraph_ws.errors import InputError
from cugraph_ws.execution.progress import Progress
from cugraph_ws.partition.refinement import ExchangeMethod
from cugraph_ws.program.linear import Extrapolate

__all__ = [
    "Choice",
    "Count",
    "Engine",
    "File",
    "Flag",
    "Method",
    "Number",
    "Option",
    "Options",
    "Report",
    "RunOptions",
    "Scope",
    "declared",
    "shows_options",
]

Function = TypeVar("Function", bound=Callable[..., Any])

Engine = Literal["auto", "cpu", "cuda", "python"]
Method = Literal["auto", "ws", "vwc-2", "vwc-4", "vwc-8", "vwc-16", "vwc-32"]
# Where an option applies: any run; only vertex programs; only vertex programs on a GPU
Scope = Literal["run", "program", "gpu"]

MOST_PARTITIONS = 1024
LEAST_SHARD = 1024  # bytes


# ------------------------------------------------------------------------------------ kinds of values


@dataclass(frozen=True)
class Count:
    """An integer of at least `least`, up to `most`."""

    least: int = 0
    most: int | None = None
    word = "int"

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_count(name, value, self.least, self.most)


@dataclass(frozen=True)
class Number:
    """A number of 0 or more; above 0 if `positive`, below infinity if `finite`; with a unit."""

    positive: bool = False
    finite: bool = False
    unit: str | None = None
    word = "float"

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_number(name, value, positive=self.positive, finite=self.finite)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    word = "bool"

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_flag(name, value)


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: tuple[str, ...]

    @property
    def word(self) -> str:
        """The words, formatted for docstrings."""
        return "{" + ", ".join(f'"{one}"' for one in self.words) + "}"

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_word(name, value)
        if value not in self.words:
            *others, last = map(repr, self.words)
            raise InputError(
                f"{name}={shown(value)} is not known; choose {', '.join(others)} or {last}"
            )


@dataclass(frozen=True)
class File:
    """A path."""

    word = "path-like"

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_path(name, value)


@dataclass(frozen=True)
class Report:
    """True, False, or a function that is called after each superstep."""

    word = "bool or callable"

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        always = isinstance(value, str) and value == "always"  # from the command line
        if not (isinstance(value, (bool, np.bool_)) or callable(value) or always):
            raise InputError(f"{name}={shown(value)} must be True, False or a function")


Kind = Count | Number | Flag | Choice | File | Report


# ------------------------------------------------------------------------------------ the options


@dataclass(frozen=True)
class Option:
    """Declaration of one option, without its name.

    Attributes
    ----------
    kind : Count, Number, Flag, Choice, File or Report
        Its valid values.
    scope : {"run", "program", "gpu"}
        Where it applies: any run; only vertex programs; only vertex programs on a GPU.
    help : str
        Its description; the command line shows the first sentence.
    default : Any
        None if there is no default; None is then also valid.
    """

    kind: Kind
    scope: Scope
    help: str
    default: Any

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        return self.help.partition(". ")[0].rstrip(".") + "."

    def check(self, name: str, value: Any) -> None:
        """Refuse an invalid value; the error names the option."""
        if value is not None or self.default is not None:
            self.kind.check(name, value)


def _option(kind: Kind, scope: Scope, text: str) -> dict[str, Any]:
    """Return the metadata of a field of `Options`."""
    return {"option": {"kind": kind, "scope": scope, "help": text}}


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a run, checked on construction.

    Raises
    ------
    InputError
        If a value is invalid; the message gives the option, its value, and the valid values.
    """

    engine: Engine = field(
        default="auto",
        metadata=_option(
            Choice(get_args(Engine)),
            "run",
            "Where to run: by default on the GPU if the graph is in its memory, else on the CPU. "
            '"python" is the reference: it runs the program\'s functions uncompiled, one superstep after the '
            "other. It is slow, and pdb can step through it. It refuses a number that the declared state cannot hold, "
            "and its `math` functions raise errors where compiled code returns NaN or an infinity.",
        ),
    )
    max_iter: int | None = field(
        default=None,
        metadata=_option(
            Count(),
            "program",
            "Maximum number of supersteps; by default the program's own. With a limit, a message travels "
            "one edge per superstep, on every engine.",
        ),
    )
    tol: float | None = field(
        default=None,
        metadata=_option(
            Number(finite=True),
            "program",
            "The run ends when the residual is at most this; by default the program's own.",
        ),
    )
    direction: WantedDirection = field(
        default="auto",
        metadata=_option(
            Choice(get_args(WantedDirection)),
            "program",
            "The direction of every superstep; by default planned.",
        ),
    )
    in_place: bool | None = field(
        default=None,
        metadata=_option(
            Flag(),
            "program",
            "Whether dense supersteps read states of the same superstep; then the result's `synchronous` is False. True is "
            "refused where the answer would depend on it: with `max_iter`, and for programs that need an order.",
        ),
    )
    priorities: bool = field(
        default=True,
        metadata=_option(
            Flag(),
            "program",
            'Whether the program\'s `priority` is honoured; on a GPU, this needs `direction="push"`.',
        ),
    )
    fused: bool = field(
        default=True,
        metadata=_option(
            Flag(),
            "program",
            "Whether one call, or one launch on a GPU, may run several supersteps.",
        ),
    )
    predecessors: bool = field(
        default=True,
        metadata=_option(
            Flag(),
            "program",
            "Whether the program's predecessor column, if it declares one, is computed at the end.",
        ),
    )
    partitions: int = field(
        default=1,
        metadata=_option(
            Count(1, MOST_PARTITIONS),
            "program",
            "Number of partitions of the graph, 1 to 1,024, which exchange updates at their boundaries; on one "
            "machine, for tests.",
        ),
    )
    exchange: ExchangeMethod = field(
        default="auto",
        metadata=_option(
            Choice(get_args(ExchangeMethod)),
            "program",
            "What partitions send each other: the boundary vertices that have changed (`vr`, Vertex "
            "Refinement), all boundary vertices (`ms`, the maximal subset), or all owned vertices (`all`, a "
            "baseline). By default the choice that is predicted to take the least time, from the rates of links "
            "(measured by `ws.cluster_scan`) and of packing, and from the last supersteps; the trace shows it.",
        ),
    )
    layout: WantedLayout = field(
        default="auto",
        metadata=_option(
            Choice(get_args(WantedLayout)),
            "program",
            "How arcs are stored for supersteps in which every vertex gathers. `csc`: by destination. `tiles`, on "
            "a CPU: by ranges of destinations and of sources that fit into a core's cache; results are the same "
            "bits. On a GPU: `gshards` (CuSha's G-Shards), shards of destinations whose arcs are in the order of "
            "their sources; and `windows` (its Concatenated Windows), in which values of sources are first "
            "written shard by shard. Both are made from the CSC and kept with the graph, and sums may differ from "
            "those of `csc` in the last bits. By default, a CPU uses tiles for large graphs after a few "
            "supersteps. A GPU uses `gshards` if the number of supersteps is known (max_iter with tol=0) and "
            "large enough to pay for making them; if no bit of the result depends on the layout, earlier runs "
            "count too. `graph.report.choices` says why.",
        ),
    )
    extrapolate: Extrapolate = field(
        default="auto",
        metadata=_option(
            Choice(get_args(Extrapolate)),
            "program",
            "Whether states are extrapolated, if the program declares that its supersteps are linear, as PageRank "
            "does. After every eighth superstep, the state may be replaced by a combination of the last states, the "
            "one that a superstep would change least. By default this is done only if `tol` is above 0 and it is "
            "expected to save time; on a GPU, only on graphs of 24 million arcs or more. Like any run, it ends when a "
            "superstep changes the state by `tol` or less.",
        ),
    )
    method: Method = field(
        default="auto",
        metadata=_option(
            Choice(get_args(Method)),
            "gpu",
            "The GPU's schedule: warp segmentation (`ws`), with a warp for each vertex of medium degree and "
            "blocks for each vertex of high degree; or, as a baseline, virtual warps of the given number of lanes "
            "(`vwc-8`).",
        ),
    )
    filter: Filter = field(
        default="auto",
        metadata=_option(
            Choice(get_args(Filter)),
            "gpu",
            "How the GPU lists the frontier of a push: each vertex when a message changes it (`online`), or from "
            "a bitmap afterwards (`ballot`). `auto` is `online` while there is room. Sums of floats use `ballot`, "
            "whose order is the same in every run.",
        ),
    )
    shard_bytes: int | None = field(
        default=None,
        metadata=_option(
            Count(LEAST_SHARD),
            "gpu",
            'Bytes of shared memory of a shard, or of a window, with layout="gshards" or "windows", as far as a block '
            "of the GPU has them. By default 48 KiB, and 24 KiB on graphs of fewer than 6 million arcs, which "
            "would have fewer shards than the GPU has multiprocessors.",
        ),
    )
    progress: Progress = field(
        default=False,
        metadata=_option(
            Report(),
            "run",
            "True for a progress line on a terminal, or a function that takes a `ProgressUpdate`; the run stops "
            "if it returns False.",
        ),
    )
    timeout: float | None = field(
        default=None,
        metadata=_option(
            Number(positive=True, unit="seconds"),
            "run",
            "Seconds after which the run stops with the state so far.",
        ),
    )
    checkpoint: str | os.PathLike[str] | None = field(
        default=None,
        metadata=_option(File(), "run", "Parquet file to which the state is written, atomically."),
    )
    every: int = field(
        default=10,
        metadata=_option(Count(1), "run", "Minimum number of supersteps between checkpoints."),
    )
    resume: str | os.PathLike[str] | None = field(
        default=None, metadata=_option(File(), "run", "Checkpoint from which to continue.")
    )

    def __post_init__(self) -> None:
        for name, one in _DECLARED.items():
            value = getattr(self, name)
            if value is not one.default:  # defaults are valid
                one.check(name, value)

    @classmethod
    def taken_from(
        cls, arguments: Mapping[str, Any], *scopes: Scope
    ) -> tuple[Options, dict[str, Any]]:
        """Split named arguments into options and others.

        Parameters
        ----------
        arguments : mapping
        *scopes : {"run", "program", "gpu"}
            Scopes of the options to take; all if not given.

        Returns
        -------
        options : Options
        others : dict
            The remaining arguments.

        Raises
        ------
        InputError
            If the value of an option is invalid.
        """
        names = declared(*scopes)
        given = {name: value for name, value in arguments.items() if name in names}
        if not given:
            return _DEFAULTS, dict(arguments)
        others = {name: value for name, value in arguments.items() if name not in names}
        return cls(**given), others

    def given(self, *scopes: Scope) -> dict[str, Any]:
        """Return the options that are not at their defaults, by name.

        Parameters
        ----------
        *scopes : {"run", "program", "gpu"}
            Only options of these scopes; all if not given.
        """
        if self is _DEFAULTS:
            return {}
        return {
            name: getattr(self, name)
            for name, one in declared(*scopes).items()
            if getattr(self, name) != one.default
        }


class RunOptions(TypedDict, total=False):
    """The options of `Options` that apply to any run; every function passes them to `run`.

    Type checkers cannot derive it from the fields.
    """

    engine: Engine
    progress: Progress
    timeout: float | None
    checkpoint: str | os.PathLike[str] | None
    every: int
    resume: str | os.PathLike[str] | None


def declared(*scopes: Scope) -> dict[str, Option]:
    """Return the declarations of the options, by name.

    Parameters
    ----------
    *scopes : {"run", "program", "gpu"}
        Only options of these scopes; all if not given.

    Returns
    -------
    dict of str to Option
        In the order of their descriptions.
    """
    return {name: one for name, one in _DECLARED.items() if not scopes or one.scope in scopes}


_DECLARED = {
    one.name: Option(**one.metadata["option"], default=one.default) for one in fields(Options)
}
_DEFAULTS = Options()


# ------------------------------------------------------------------------- signatures, docstrings


def shows_options(function: Function) -> Function:
    """Add the options to the signature and docstring of a function that takes them by name.

    Parameters
    ----------
    function : callable
        Takes them in its ``**parameters``.  The line `<options>` in the Parameters section of
        its docstring is replaced by their descriptions.

    Returns
    -------
    callable
        The function itself.
    """
    signature = inspect.signature(function)
    *own, rest = signature.parameters.values()
    options = [
        inspect.Parameter(
            one.name, inspect.Parameter.KEYWORD_ONLY, default=one.default, annotation=one.type
        )
        for one in fields(Options)
    ]
    shown_signature = signature.replace(parameters=[*own, *options, rest])
    function.__signature__ = shown_signature  # type: ignore[attr-defined]  # where inspect looks first
    if function.__doc__ is not None:  # -OO strips docstrings
        function.__doc__ = "\n".join(_described(function.__doc__.splitlines()))
    return function


def _described(lines: list[str]) -> Iterator[str]:
    """Yield a docstring's lines, with the options' descriptions inserted."""
    for line in lines:
        if line.strip() != "<options>":
            yield line
            continue
        indent = line[: -len(line.lstrip())]
        for name, one in _DECLARED.items():
            optional = ", optional" if one.default is None else ""
            yield f"{indent}{name} : {one.kind.word}{optional}"
            yield from textwrap.wrap(
                one.help, 100, initial_indent=f"{indent}    ", subsequent_indent=f"{indent}    "
            )

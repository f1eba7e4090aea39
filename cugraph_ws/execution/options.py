"""The options of a run: type, default and valid values of each, declared once.

`Plan` has the choices that are otherwise made by the planner; `Options` has all others, and a plan.  The
flags of the command line are derived from the fields of both, and their help from the docstrings of
`run` and `Plan`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, Self, TypedDict, get_args

import numpy as np

from cugraph_ws.arguments import (
    check_count,
    check_flag,
    check_number,
    check_path,
    check_word,
    choice_of,
    shown,
)
from cugraph_ws.backends.planner import Filter, WantedDirection, WantedLayout
from cugraph_ws.errors import InputError
from cugraph_ws.execution.progress import Progress
from cugraph_ws.partition.refinement import ExchangeMethod
from cugraph_ws.program.linear import Extrapolate
from cugraph_ws.suggestions import did_you_mean

if TYPE_CHECKING:
    from cugraph_ws.execution.profile import Profile

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
    "Plan",
    "PlanOption",
    "Report",
    "RunOptions",
    "Scope",
    "declared",
    "options_of",
]

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

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_count(name, value, self.least, self.most)


@dataclass(frozen=True)
class Number:
    """A number of 0 or more; above 0 if `positive`, below infinity if `finite`; with a unit."""

    positive: bool = False
    finite: bool = False
    unit: str | None = None

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_number(name, value, positive=self.positive, finite=self.finite)


@dataclass(frozen=True)
class Flag:
    """True or False."""

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_flag(name, value)


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    words: tuple[str, ...]

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_word(name, value)
        if value not in self.words:
            raise InputError(f"{name}={shown(value)} is not known; {choice_of(value, self.words)}")


@dataclass(frozen=True)
class File:
    """A path."""

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        check_path(name, value)


@dataclass(frozen=True)
class Report:
    """True, False, or a function: it is called after each superstep, or once at the end of the run."""

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        always = isinstance(value, str) and value == "always"  # from the command line
        if not (isinstance(value, (bool, np.bool_)) or callable(value) or always):
            raise InputError(f"{name}={shown(value)} must be True, False or a function")


@dataclass(frozen=True)
class PlanOption:
    """A `Plan`."""

    def check(self, name: str, value: Any) -> None:
        """Refuse anything else."""
        if not isinstance(value, Plan):
            raise InputError(
                f'{name}={shown(value)} must be a plan, such as ws.Plan(direction="pull")'
            )


Kind = Count | Number | Flag | Choice | File | Report | PlanOption


@dataclass(frozen=True)
class Option:
    """Declaration of one option, without its name.

    Attributes
    ----------
    kind : Count, Number, Flag, Choice, File, Report or PlanOption
        Its valid values.
    scope : {"run", "program", "gpu"}
        Where it applies: any run; only vertex programs; only vertex programs on a GPU.
    default : Any
        None if there is no default; None is then also valid.
    """

    kind: Kind
    scope: Scope
    default: Any

    def check(self, name: str, value: Any) -> None:
        """Refuse an invalid value; the error names the option."""
        if value is not None or self.default is not None:
            self.kind.check(name, value)


def _option(scope: Scope, kind: Kind) -> dict[str, Any]:
    """Return the metadata of a field that is an option."""
    return {"scope": scope, "kind": kind}


_OPTIONS: dict[type[Any], dict[str, Option]] = {}


def options_of(declaring: type[Any]) -> dict[str, Option]:
    """Return the declarations of the fields of `Plan` or of `Options`, by name.

    Parameters
    ----------
    declaring : {Plan, Options}

    Returns
    -------
    dict of str to Option
    """
    if declaring not in _OPTIONS:
        _OPTIONS[declaring] = {
            entry.name: Option(**entry.metadata, default=entry.default)
            for entry in fields(declaring)
        }
    return _OPTIONS[declaring]


class _Checked:
    """What `Plan` and `Options` share: fields that are checked on construction."""

    def __new__(cls, *_: Any, **given: Any) -> Self:
        """Refuse a name that is no option."""
        known = options_of(cls)
        for name in given:
            if name not in known:
                raise InputError(
                    f"{cls.__name__} has no {name}={did_you_mean(name, known)}; its options are {', '.join(known)}"
                )
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, option in options_of(type(self)).items():
            value = getattr(self, name)
            if value is not option.default:  # defaults are valid
                option.check(name, value)

    def chosen(self, *scopes: Scope) -> dict[str, Any]:
        """Return the fields that are not at their defaults, by name.

        Parameters
        ----------
        *scopes : {"run", "program", "gpu"}
            Only options of these scopes; all if not given.
        """
        return {
            name: getattr(self, name)
            for name, option in options_of(type(self)).items()
            if getattr(self, name) != option.default and (not scopes or option.scope in scopes)
        }


# ------------------------------------------------------------------------------------ the options


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(_Checked):
    """How the supersteps of a vertex program are computed, where it is not left to the planner.

    Answers do not depend on a plan, but for the last bits of sums of floats.  A plan is given to `run`, and
    to every function that runs a vertex program, as `plan=`.

    Parameters
    ----------
    direction : {"auto", "push", "pull", "gather"}
        The direction of every superstep.  `push`: active vertices send along their out-edges.  `pull`: vertices
        read the messages of their active in-neighbours, and stop early if the program allows it.  `gather`:
        every vertex reads all its in-neighbours.  By default the direction that reads the fewest edges [1]_,
        [2]_.
    in_place : bool, optional
        Whether dense supersteps read states of the same superstep, as in [3]_; then the result's `synchronous`
        is False.  True is refused where the answer would depend on it: with `max_iter`, and for programs that
        need an order.  By default what the program declares.
    priorities : bool
        Whether the program's `priority` is honoured, by default True; on a GPU, this needs
        `direction="push"`.
    fused : bool
        Whether one call, or one launch on a GPU, may run several supersteps [2]_, by default True.
    partitions : int
        Number of partitions of the graph, 1 to 1,024, which exchange updates at their boundaries; on one
        machine, for tests.  By default 1.
    exchange : {"auto", "vr", "ms", "all"}
        What partitions send each other [3]_: the boundary vertices that have changed (`vr`, Vertex
        Refinement), all boundary vertices (`ms`, the maximal subset), or all owned vertices (`all`, a
        baseline).  By default `ms` if every superstep computes all vertices; else the message of fewest bytes
        of `vr`, `ms` and a bit for each boundary vertex with one value; the trace shows it.
    layout : {"auto", "csc", "tiles", "gshards", "windows"}
        How arcs are stored for supersteps in which every vertex gathers.  `csc`: by destination. `tiles`, on
        a CPU: by ranges of destinations and of sources that fit into a core's cache; results are the same
        bits.  On a GPU: `gshards`, CuSha's G-Shards [4]_: shards of destinations whose arcs are in the order of
        their sources; and `windows`, its Concatenated Windows, in which values of sources are first
        written shard by shard.  Both are made from the CSC and kept with the graph, and sums may differ from
        those of `csc` in the last bits.  By default a GPU uses `csc`, and a CPU uses tiles for large graphs after
        a few supersteps; `graph.report.choices` says why.
    extrapolate : {"auto", "always", "never"}
        Whether states are extrapolated [5]_, if the program declares that its supersteps are linear, as PageRank
        does.  After every eighth superstep, the state may be replaced by a combination of the last states, the
        one that a superstep would change least.  By default this is done only if `tol` is above 0 and it is
        expected to save time; on a GPU, only on graphs of 24 million arcs or more.  Like any run, it ends when a
        superstep changes the state by `tol` or less.
    method : {"auto", "ws", "vwc-2", "vwc-4", "vwc-8", "vwc-16", "vwc-32"}
        The GPU's schedule: warp segmentation [3]_ (`ws`, the default), with a warp for each vertex of medium
        degree and blocks for each vertex of high degree; or, as a baseline, virtual warps of the given number
        of lanes (`vwc-8`).
    filter : {"auto", "online", "ballot"}
        How the GPU lists the frontier of a push [2]_: each vertex when a message changes it (`online`), or from
        a bitmap afterwards (`ballot`).  By default `online` while there is room.  Sums of floats use `ballot`,
        whose order is the same in every run.
    shard_bytes : int, optional
        Bytes of shared memory of a shard, or of a window, with layout="gshards" or "windows", as far as a block
        of the GPU has them; 1,024 or more.  By default 48 KiB, and 24 KiB on graphs of fewer than 6 million
        arcs, which would have fewer shards than the GPU has multiprocessors.

    Raises
    ------
    InputError
        If a value is invalid; the message gives the option, its value, and the valid values.

    References
    ----------
    .. [1] S. Beamer, K. Asanović and D. Patterson, "Direction-optimizing breadth-first search", SC 2012.
    .. [2] H. Liu and H. H. Huang, "SIMD-X: programming and processing of graph algorithms on GPUs",
       USENIX ATC 2019.
    .. [3] F. Khorasani, R. Gupta and L. N. Bhuyan, "Scalable SIMD-efficient graph processing on GPUs",
       PACT 2015.
    .. [4] F. Khorasani, K. Vora, R. Gupta and L. N. Bhuyan, "CuSha: vertex-centric graph processing on GPUs",
       HPDC 2014.
    .. [5] S. D. Kamvar, T. H. Haveliwala, C. D. Manning and G. H. Golub, "Extrapolation methods for
       accelerating PageRank computations", WWW 2003.

    Examples
    --------
    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> edges = pd.DataFrame({"source": [0, 1], "destination": [1, 2]})
    >>> plan = ws.Plan(direction="push", fused=False)
    >>> plan
    Plan(direction='push', fused=False)
    >>> ws.bfs(edges, 0, plan=plan)["distance"].tolist()
    [0, 1, 2]
    """

    direction: WantedDirection = field(
        default="auto", metadata=_option("program", Choice(get_args(WantedDirection)))
    )
    in_place: bool | None = field(default=None, metadata=_option("program", Flag()))
    priorities: bool = field(default=True, metadata=_option("program", Flag()))
    fused: bool = field(default=True, metadata=_option("program", Flag()))
    partitions: int = field(default=1, metadata=_option("program", Count(1, MOST_PARTITIONS)))
    exchange: ExchangeMethod = field(
        default="auto", metadata=_option("program", Choice(get_args(ExchangeMethod)))
    )
    layout: WantedLayout = field(
        default="auto", metadata=_option("program", Choice(get_args(WantedLayout)))
    )
    extrapolate: Extrapolate = field(
        default="auto", metadata=_option("program", Choice(get_args(Extrapolate)))
    )
    method: Method = field(default="auto", metadata=_option("gpu", Choice(get_args(Method))))
    filter: Filter = field(default="auto", metadata=_option("gpu", Choice(get_args(Filter))))
    shard_bytes: int | None = field(default=None, metadata=_option("gpu", Count(LEAST_SHARD)))

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.chosen().items())
        return f"Plan({chosen})"


@dataclass(frozen=True, kw_only=True)
class Options(_Checked):
    """The options of a run, as `run` describes them.

    Raises
    ------
    InputError
        If a value is invalid; the message gives the option, its value, and the valid values.
    """

    engine: Engine = field(default="auto", metadata=_option("run", Choice(get_args(Engine))))
    max_iter: int | None = field(default=None, metadata=_option("program", Count()))
    tol: float | None = field(default=None, metadata=_option("program", Number(finite=True)))
    predecessors: bool = field(default=True, metadata=_option("program", Flag()))
    plan: Plan = field(default=Plan(), metadata=_option("program", PlanOption()))
    progress: Progress = field(default=False, metadata=_option("run", Report()))
    timeout: float | None = field(
        default=None, metadata=_option("run", Number(positive=True, unit="seconds"))
    )
    checkpoint: str | os.PathLike[str] | None = field(default=None, metadata=_option("run", File()))
    every: int = field(default=10, metadata=_option("run", Count(1)))
    resume: str | os.PathLike[str] | None = field(default=None, metadata=_option("run", File()))
    profile: bool | Callable[[Profile], Any] = field(
        default=False, metadata=_option("run", Report())
    )

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
        names = {
            name for name, option in options_of(cls).items() if not scopes or option.scope in scopes
        }
        options = {name: value for name, value in arguments.items() if name in names}
        return cls(**options), {
            name: value for name, value in arguments.items() if name not in names
        }

    def for_programs(self) -> dict[str, Any]:
        """Return the options for vertex programs that are not at their defaults, those of the plan by name."""
        chosen = {**self.chosen("program"), **self.plan.chosen()}
        chosen.pop("plan", None)
        return chosen


class RunOptions(TypedDict, total=False):
    """The options that every function passes to `run`; `plan` is for those that run a vertex program.

    Type checkers cannot derive it from the fields of `Options`.
    """

    engine: Engine
    plan: Plan
    progress: Progress
    timeout: float | None
    checkpoint: str | os.PathLike[str] | None
    every: int
    resume: str | os.PathLike[str] | None
    profile: bool | Callable[[Profile], Any]


def declared(*scopes: Scope) -> dict[str, Option]:
    """Return the declarations of the options by name, those of a plan in its place.

    Parameters
    ----------
    *scopes : {"run", "program", "gpu"}
        Only options of these scopes; all if not given.

    Returns
    -------
    dict of str to Option
    """
    options: dict[str, Option] = {}
    for name, option in options_of(Options).items():
        options |= options_of(Plan) if name == "plan" else {name: option}
    return {
        name: option for name, option in options.items() if not scopes or option.scope in scopes
    }

"""What the commands share: options, building a graph from files, and writing results."""

from __future__ import annotations

import functools
import inspect
import math
import os
import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cugraph_ws.algorithms.registry import described
from cugraph_ws.cli.status import bytes_of, stage
from cugraph_ws.cli.streams import STANDARD, input_file
from cugraph_ws.execution.options import (
    Choice,
    Count,
    Flag,
    Number,
    Options,
    Plan,
    declared,
    options_of,
)
from cugraph_ws.execution.run import run
from cugraph_ws.runtime.paths import native_path
from cugraph_ws.runtime.tracebacks import VARIABLE

if TYPE_CHECKING:
    import pyarrow as pa

    from cugraph_ws.execution.loop import Result
    from cugraph_ws.execution.profile import Profile
    from cugraph_ws.execution.progress import Progress
    from cugraph_ws.frames.readers import IdKind
    from cugraph_ws.graph.graph import Graph

__all__ = [
    "A_FILE",
    "Job",
    "Settings",
    "debug_option",
    "job_options",
    "option_flag",
    "program_options",
]

F = TypeVar("F", bound=Callable[..., Any])
WEIGHT = "weight"  # the column that is read by default


class FileArgument(click.Path):
    """A path, in any locale."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return a path that Python's file functions accept."""
        return super().convert(native_path(value), param, ctx)


A_FILE = FileArgument(path_type=Path)


@dataclass
class Settings:
    """Settings of the whole command line."""

    debug: bool = False
    flags: dict[str, str] = field(default_factory=dict)  # of the command that is called


def _remember_debug(context: click.Context, option: click.Parameter, value: bool) -> None:
    del option
    settings = context.find_object(Settings)
    if value and settings is not None:
        settings.debug = True
        os.environ[VARIABLE] = "full"  # for workers as well


debug_option = click.option(
    "--debug",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_remember_debug,
    help="Show the traceback of an error.",
)


@dataclass
class Job:
    """One command's files and settings; the fields are the options of `job_options`.

    `given` has the options of the run (`cugraph_ws.execution.options`), by name.
    """

    given: dict[str, Any]
    edges: Path
    format: str | None
    ids: str
    header: bool | None
    separator: str | None
    source: tuple[str, ...]
    destination: tuple[str, ...]
    weight: str | None
    unweighted: bool
    undirected: bool
    duplicates: str
    self_loops: str
    vertices: Path | None
    trace: Path | None
    profile: Path | None
    partial: bool
    progress: bool | None
    quiet: bool
    rows: int
    output: Path | None
    output_format: str
    workers: int | None
    scheduler: str | None
    tls_ca: Path | None
    tls_cert: Path | None
    tls_key: Path | None
    id_types: list[Any] = field(default_factory=list, init=False)
    profiles: list[Profile] = field(default_factory=list, init=False)  # of the command's runs

    def check_outputs(self) -> None:
        """Check that all outputs can be written, before anything is read."""
        from cugraph_ws.frames.writers import check_writable

        if STANDARD == self.edges == self.vertices:
            raise click.UsageError(
                "EDGES and --vertices are both -; only one can be standard input"
            )
        if self.on_cluster and STANDARD in (self.edges, self.output):
            raise click.UsageError(
                "a cluster reads and writes folders; give their names instead of -"
            )
        if self.output is not None and self.output != STANDARD:
            self.check_output(self.output)
        for table in filter(None, (self.trace, self.profile)):
            self._refuse_input(table)
            check_writable(table)
        if self.options.checkpoint is not None:
            self._refuse_input(Path(self.options.checkpoint))
            check_writable(Path(self.options.checkpoint), any_name=True)

    def check_output(self, path: Path) -> None:
        """Check that a frame can be written; on a cluster, to a folder."""
        from cugraph_ws.cli.folders import check_folder
        from cugraph_ws.frames.writers import check_writable

        self._refuse_input(path)
        if self.on_cluster:
            check_folder(path)
        else:
            check_writable(path)

    def _refuse_input(self, path: Path) -> None:
        """Refuse to replace a file that the job reads."""
        from cugraph_ws.errors import FileError

        for input_path in filter(None, (self.edges, self.vertices)):
            if _are_the_same(path, input_path):
                raise FileError(
                    f"{path}: is read by the job, and would be replaced; write another file"
                )

    @property
    def on_cluster(self) -> bool:
        """Whether the job runs on a cluster."""
        from cugraph_ws.cli.cluster import cluster_options

        return cluster_options(self)

    def wanted(self, attributes: Sequence[str], weight: str | None) -> list[str]:
        """Return the edge columns to keep besides the weight."""
        refused = {weight, WEIGHT} if self.unweighted else {weight}
        return [name for name in attributes if name not in refused]

    def weight_column(
        self, columns: Sequence[str], weighted: bool | Callable[[Sequence[str]], bool]
    ) -> str | None:
        """Return the column of the weights: the option's, or else the one named "weight".

        Parameters
        ----------
        columns : sequence of str
            The columns of the edge file.
        weighted : bool or callable
            Whether the command reads weights, or a function of the columns that returns it.

        Returns
        -------
        str or None

        Raises
        ------
        click.UsageError
            If --weight comes with --unweighted.
        """
        if self.unweighted and self.weight is not None:
            raise click.UsageError("give --weight or --unweighted, not both")
        reads = weighted(columns) if callable(weighted) else weighted
        if self.weight is not None or self.unweighted or not reads:
            return self.weight
        ids = (*self.source, *self.destination)
        return WEIGHT if WEIGHT in columns and WEIGHT not in ids else None

    def graph(
        self,
        attributes: Sequence[str] = (),
        *,
        weighted: bool | Callable[[Sequence[str]], bool] = True,
    ) -> AbstractContextManager[Graph]:
        """Read the files and build the graph, to be used in a `with` block.

        Parameters
        ----------
        attributes : sequence of str
            Edge columns to keep besides the weight, if the file has them.
        weighted : bool or callable
            Whether the command reads weights, or a function of the file's columns that returns it.
        """
        from cugraph_ws.cli.files import check_weight, edges_of, vertices_of
        from cugraph_ws.frames.arrow_files import refuse_incomplete
        from cugraph_ws.graph.graph import Graph

        self.check_outputs()
        if self.on_cluster:
            from cugraph_ws.cli.cluster import cluster_graph

            return cluster_graph(self, attributes, weighted=weighted)
        with stage(self, "reading", str(self.edges), bytes_of(self.edges), "bytes"):
            file = edges_of(self)
        edges = file.edges
        weight = self.weight_column(edges.column_names, weighted)
        have = [name for name in self.wanted(attributes, weight) if name in edges.column_names]
        refuse_incomplete(
            self.edges, file.incomplete, (*self.source, *self.destination, weight, *have)
        )
        check_weight(self, file, weight)
        self.id_types = [
            _plain(edges.schema.field(name).type)
            for name in self.source
            if name in edges.column_names
        ]
        vertices = vertices_of(self, file)
        with stage(self, "building", "the graph", edges.num_rows, "edges"):
            return Graph(
                edges,
                _one_or_list(self.source),
                _one_or_list(self.destination),
                weight,
                directed=not self.undirected,
                vertices=vertices,
                attributes=have,
                duplicates=self.duplicates,  # type: ignore[arg-type]  # click has checked the choice
                self_loops=self.self_loops,  # type: ignore[arg-type]
            )

    @functools.cached_property
    def options(self) -> Options:
        """The options of the run."""
        settings = dict(self.given)
        if self.on_cluster:  # workers may have started in another folder
            for name in ("checkpoint", "resume"):
                settings[name] = settings[name] and settings[name].absolute()
        shown: Progress = self.progress is not False and not self.quiet
        planned = {name: settings.pop(name) for name in options_of(Plan).keys() & settings.keys()}
        return Options(
            progress="always" if self.progress else shown,
            plan=Plan(**planned),
            profile=False if self.profile is None else self.profiles.append,
            **settings,
        )

    def run(
        self,
        graph: Graph,
        program: Any,
        *,
        rank_by: str | None = None,
        limited: bool = False,
        make: Callable[[Result], pa.Table] | None = None,
        edge_output: Path | None = None,
        **parameters: Any,
    ) -> None:
        """Run a program, and write or show its result and trace.

        Parameters
        ----------
        graph : Graph
        program : VertexProgram or Loop
        rank_by : str, optional
            Column whose greatest values are shown first.
        limited : bool
            Whether the user asked for `max_iter`, so that reaching it is not an error.
        make : callable, optional
            Makes the frame to write or show from the result; default: its frame.
        edge_output : Path, optional
            Where to write the state of edges.
        **parameters
            The program's parameters.
        """
        from cugraph_ws.cli.output import deliver_result
        from cugraph_ws.errors import ConvergenceError, Interrupted
        from cugraph_ws.execution.loop import Result

        try:
            result = run(program, graph, **self.options.chosen(), **parameters)
        except Interrupted as interrupted:
            done = interrupted.result
            if self.partial and isinstance(done, Result):
                deliver_result(self, graph, done, rank_by, make, edge_output)
            after = "" if done is None else f" after {done.iterations:,} supersteps"
            raise Interrupted(f"{program.name} was interrupted{after}", done) from None
        if not (result.converged or self.partial or (limited and result.stopped == "max_iter")):
            residual = "" if math.isnan(result.residual) else f", residual {result.residual:.2g}"
            raise ConvergenceError(
                f"{program.name} was stopped by {result.stopped} after {result.iterations:,} "
                f"supersteps{residual}; raise --max-iter, --tol or --timeout, or take the state so far "
                "with --partial",
                result,
            )
        deliver_result(self, graph, result, rank_by, make, edge_output)

    def vertex_id(self, text: str, argument: str) -> Any:
        """Return the vertex id that a word of the command line means.

        The parts of an id of several columns are separated by commas.
        """
        parts = [part[0].as_py() for part in self._parts(text, argument)]
        return parts[0] if len(parts) == 1 else tuple(parts)

    def vertex_ids(self, texts: Sequence[str], argument: str) -> pa.Table:
        """Return the vertex ids that words of the command line mean, in the types of the file."""
        import pyarrow as pa

        ids = [self._parts(text, argument) for text in texts]
        columns = zip(*ids, strict=True) if ids else ([] for _ in self.source)
        return pa.table(
            {
                name: pa.chunked_array(list(column), kind)
                for name, kind, column in zip(self.source, self.id_types, columns, strict=True)
            }
        )

    def ids_in(self, path: Path, argument: str) -> pa.Table:
        """Return the vertex ids of a file: its columns with the names of ids, or its first ones."""
        import pyarrow as pa

        from cugraph_ws.errors import InputError

        table = self.read_vertices(path)
        for names in (("vertex",), self.source, table.column_names[: len(self.source)]):
            if len(names) == len(self.source) and set(names) <= set(table.column_names):
                break
        else:
            raise InputError(f"{argument}: {path} lacks columns {', '.join(self.source)}; add them")
        try:
            columns = [
                table[name].cast(kind) for name, kind in zip(names, self.id_types, strict=True)
            ]
        except pa.ArrowInvalid as error:
            raise InputError(
                f"{argument}: the ids in {path} are not of the edges' id types, {self.id_types}: {error}"
            ) from error
        return pa.table(dict(zip(self.source, columns, strict=True)))

    def read_vertices(self, path: Path, id_columns: Sequence[str] = ("vertex",)) -> pa.Table:
        """Read a file of vertices, with ids of text if those of the edges are text."""
        from cugraph_ws.frames.readers import read_frame

        naming = (self.source, ("vertex",)) if id_columns == ("vertex",) else (id_columns,)
        names = [name for names in naming for name in names]
        with input_file(path) as file:
            return read_frame(file, ids=self.id_kind, id_columns=names)

    @property
    def id_kind(self) -> IdKind:
        """How other files' ids are read: as text if asked for, or if those of the edges are text."""
        import pyarrow as pa

        text = any(pa.types.is_string(kind) for kind in self.id_types)
        return "text" if self.ids == "text" or text else "auto"

    def _parts(self, text: str, argument: str) -> list[pa.Array]:
        import csv

        from cugraph_ws.errors import InputError

        if len(self.id_types) == 1:
            return [_parsed(text, self.id_types[0], argument)]
        parts = next(csv.reader([text]), [])
        if len(parts) != len(self.id_types):
            raise InputError(
                f"{argument}: {text!r} has {len(parts)} parts, but an id has {len(self.id_types)}; "
                f"give {', '.join(self.source)}, separated by commas"
            )
        kinds = zip(parts, self.id_types, strict=True)
        return [_parsed(part, kind, argument) for part, kind in kinds]


def _are_the_same(path: Path, other: Path) -> bool:
    """Return whether two paths lead to one file; not if one leads to none, or cannot be looked at."""
    try:
        return path.samefile(other)
    except OSError:
        return False


def _one_or_list(names: tuple[str, ...]) -> str | list[str]:
    return names[0] if len(names) == 1 else list(names)


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return the type of a column's values, also if they are dictionary-encoded."""
    return getattr(kind, "value_type", kind)


def _parsed(text: str, kind: pa.DataType, argument: str) -> pa.Array:
    import pyarrow as pa

    from cugraph_ws.errors import InputError
    from cugraph_ws.frames.textids import is_plain_integer

    try:
        if pa.types.is_integer(kind) and not is_plain_integer(text.strip()):
            raise pa.ArrowInvalid
        return pa.array([text.strip()]).cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InputError(
            f"{argument}: {text!r} is not of the type of the vertex ids, {kind}; "
            "write the id as in the file"
        ) from None


def _choice(*names: str) -> click.Choice[str]:
    return click.Choice(names)


def option_flag(name: str, default: Any = None) -> Callable[[F], F]:
    """Return a decorator that adds the flag of an option of the run to a command.

    Parameters
    ----------
    name : str
        The option's name, as declared.
    default : Any
        The command's own default.

    Returns
    -------
    callable
        A decorator.
    """
    option = declared()[name]
    flag, text = f"--{name.replace('_', '-')}", summary(name)
    if default is None:
        default = option.default
    else:
        text = f"{text.partition(';')[0].rstrip('.')}."
    settings: dict[str, Any] = {"default": default, "show_default": default is not None}
    kind = option.kind
    if isinstance(kind, Flag):
        flag = f"{flag}/--no-{name.replace('_', '-')}"
    elif isinstance(kind, Choice):
        settings["type"] = click.Choice(kind.words)
    elif isinstance(kind, Count):
        settings["type"] = click.IntRange(min=kind.least, max=kind.most)
    elif isinstance(kind, Number):
        settings |= {"type": float, "metavar": kind.unit and kind.unit.upper()}
    else:
        settings |= {"type": A_FILE, "metavar": "FILE"}
    return click.option(flag, help=text, **settings)


def summary(name: str) -> str:
    """Return the first sentence that `run` or `Plan` says of an option.

    Parameters
    ----------
    name : str
        The option's name, as declared.

    Returns
    -------
    str
        "" if docstrings are stripped.
    """
    documented = Plan if name in options_of(Plan) else run
    text = described(inspect.getdoc(documented) or "", name)
    sentence = re.sub(r" \[\d\]_|`", "", text.partition(". ")[0].rstrip("."))
    return f"{sentence}." if sentence else ""


def program_options(command: F) -> F:
    """Add the flags of all options that vertex programs have to a command."""
    for name in reversed(declared("program", "gpu")):
        command = option_flag(name)(command)
    return command


FORMATS = _choice(
    *(
        "parquet",
        "arrow",
        "csv",
        "tsv",
        "snap",
        "matrix-market",
        "dimacs",
        "metis",
        "graphml",
        "gml",
    ),
    "pajek",
    "jsonl",
)
DUPLICATES = _choice("keep", "sum", "min", "max", "mean", "first", "error")

GRAPH_OPTIONS = (
    click.option("--format", type=FORMATS, help="Format of the edge file; default: detected."),
    click.option(
        "--ids",
        type=_choice("auto", "text"),
        default="auto",
        show_default=True,
        help="Ids of text files: integers if all are written as such (7, but not 007), else text; or all text.",
    ),
    click.option(
        "--header/--no-header",
        default=None,
        help="Whether the first row of a text file names the columns; default: detected.",
    ),
    click.option(
        "--separator",
        metavar="CHARACTER",
        help="Separator of a text file's cells, or: tab, blank; default: detected.",
    ),
    click.option(
        "--source",
        multiple=True,
        default=("source",),
        metavar="COLUMN",
        help="Column of the edges' sources (default: source); repeat it for ids of several columns.",
    ),
    click.option(
        "--destination",
        multiple=True,
        default=("destination",),
        metavar="COLUMN",
        help="Column of the edges' destinations (default: destination).",
    ),
    click.option(
        "--weight",
        metavar="COLUMN",
        help="Column of the weights; default: the column weight, if there is one and the command reads weights.",
    ),
    click.option("--unweighted", is_flag=True, help="Ignore weights, even a column named weight."),
    click.option("--undirected", is_flag=True, help="Let every edge go in both directions."),
    click.option(
        "--duplicates",
        type=DUPLICATES,
        default="keep",
        show_default=True,
        help="What to do with parallel edges.",
    ),
    click.option(
        "--self-loops",
        type=_choice("keep", "drop", "error"),
        default="keep",
        show_default=True,
        help="What to do with self-loops.",
    ),
    click.option(
        "--vertices",
        type=A_FILE,
        metavar="FILE",
        help="File of vertices: isolated ones, and columns of attributes.",
    ),
)
RUN_OPTIONS = (
    *map(option_flag, [name for name in declared("run") if name not in ("progress", "profile")]),
    click.option(
        "--trace", type=A_FILE, metavar="FILE", help="Write a table with a row for each superstep."
    ),
    click.option(
        "--profile",
        type=A_FILE,
        metavar="FILE",
        help="Write a table of what ran in each superstep: kernels, times, bytes.",
    ),
    click.option(
        "--partial",
        is_flag=True,
        help="If the run stops before it converges, write the state so far.",
    ),
)
CLUSTER_OPTIONS = (
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Run on a cluster of N workers on this machine; EDGES and -o are Parquet folders.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS|FILE",
        help="Run on a Dask cluster: tcp://…, tls://… or a scheduler file, .json.",
    ),
    click.option(
        "--tls-ca",
        type=A_FILE,
        metavar="FILE",
        help="Certificate of the authority (CA) that signed the cluster's certificates.",
    ),
    click.option("--tls-cert", type=A_FILE, metavar="FILE", help="Certificate of this client."),
    click.option("--tls-key", type=A_FILE, metavar="FILE", help="Key of this client."),
)
OUTPUT_OPTIONS = (
    click.option(
        "--progress/--no-progress",
        default=None,
        help="Show progress always or never; default: if stderr is a terminal.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="No progress and no summary."),
    click.option(
        "--rows",
        type=click.IntRange(min=0),
        default=20,
        show_default=True,
        help="Rows to show without -o.",
    ),
    click.option(
        "-o",
        "--output",
        type=A_FILE,
        metavar="FILE",
        help="Write the result: .parquet, .csv, .tsv or .jsonl, the last three also with .gz; - for "
        "standard output; a cluster writes a folder.",
    ),
    click.option(
        "--output-format",
        type=_choice("csv", "tsv", "jsonl", "parquet"),
        default="csv",
        show_default=True,
        help="Format of standard output (-o -).",
    ),
    debug_option,
)


def job_options(command: F) -> Callable[..., Any]:
    """Add the options of all runs after the command's own, and pass them as a `Job`.

    The `Job` also gets the options of the run (`option_flag`) that the command does not take itself.

    Only `click.command` and arguments before the edges may be decorators above this one.

    Parameters
    ----------
    command : callable
        Takes a `Job`, then its own options by name.

    Returns
    -------
    callable
        A function that click can make a command of.
    """
    names = [entry.name for entry in fields(Job) if entry.init and entry.name != "given"]
    parameters = inspect.signature(command).parameters  # by the command itself

    @functools.wraps(command)
    def wrapped(**values: Any) -> Any:
        job = Job(
            **{name: values.pop(name) for name in names},
            given={
                name: values.pop(name)
                for name in declared()
                if name in values and name not in parameters
            },
        )
        return command(job, **values)

    common: list[click.Parameter] = []
    for decorate in (*GRAPH_OPTIONS, *RUN_OPTIONS, *CLUSTER_OPTIONS, *OUTPUT_OPTIONS):
        holder = decorate(lambda: None)
        common += holder.__click_params__  # type: ignore[attr-defined]  # where click keeps them
    edges = click.Argument(["edges"], type=A_FILE)  # - for standard input
    own_parameters = getattr(command, "__click_params__", [])
    wrapped.__click_params__ = [*reversed(common), *own_parameters, edges]  # type: ignore[attr-defined]
    return wrapped

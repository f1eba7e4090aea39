"""The commands of the algorithms: each reads options, runs, and writes a result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from cugraph_ws.algorithms.components import WeaklyConnectedComponents
from cugraph_ws.algorithms.core import CoreNumber
from cugraph_ws.algorithms.heat import Heat
from cugraph_ws.algorithms.independent_set import Coloring, MaximalIndependentSet
from cugraph_ws.algorithms.leiden import Leiden
from cugraph_ws.algorithms.louvain import Louvain
from cugraph_ws.algorithms.neural_network import NeuralNetwork
from cugraph_ws.algorithms.registry import ALGORITHMS
from cugraph_ws.algorithms.strong_components import StronglyConnectedComponents
from cugraph_ws.algorithms.triangles import ClusteringCoefficient, TriangleCount
from cugraph_ws.algorithms.truss import TrussNumber
from cugraph_ws.cli.centralities import CENTRALITIES, DEGREE_TYPE
from cugraph_ws.cli.commands import function_command, loop_command
from cugraph_ws.cli.options import A_FILE, Job, job_options, option_flag
from cugraph_ws.cli.vertex_sets import given_set, need, set_option

if TYPE_CHECKING:
    import pyarrow as pa

    from cugraph_ws.execution.loop import Result

__all__ = ["COMMANDS", "components_command"]

F = TypeVar("F", bound=Callable[..., Any])

TOLERANCE = option_flag("tol", 1e-6)


def _values(name: str, help_text: str, *, required: bool = False) -> Callable[[F], F]:
    """Add `--name` and `--name-file`, a value for each vertex; only one of them may be given."""

    def decorate(function: F) -> F:
        file = click.option(
            f"--{name}-file",
            type=A_FILE,
            metavar="FILE",
            help="File with these values: a row for each vertex.",
        )
        more = " (This or the file is required.)" if required else ""
        word = click.option(f"--{name}", metavar="NUMBER|COLUMN", help=help_text + more)
        return word(file(function))

    return decorate


def _given_values(
    job: Job, name: str, word: str | None, file: Path | None, *, required: bool = False
) -> Any:
    """Return vertex values as functions take them: a frame, a number or a column's name."""
    if word is not None and file is not None:
        raise click.UsageError(f"give --{name} or --{name}-file, not both")
    if file is not None:
        return job.read_vertices(file)
    if word is None:
        if required:
            raise click.UsageError(f"give --{name} or --{name}-file")
        return None
    try:
        return float(word)
    except ValueError:
        return word


TO = click.option(
    "--to", multiple=True, metavar="ID", help="Write the shortest paths to these vertices instead."
)
EACH = click.option("--each", is_flag=True, help="Run a separate search from each start.")


def _paths(job: Job, targets: tuple[str, ...]) -> Callable[[Result], pa.Table] | None:
    """Return a function that makes paths from a search's result; None without `--to`."""
    if not targets:
        return None
    from cugraph_ws.algorithms.paths import shortest_path

    return lambda result: shortest_path(result, job.vertex_ids(targets, "--to"))


def _one_search(job: Job, each: bool, targets: tuple[str, ...]) -> None:
    if each and targets:
        raise click.UsageError("--to needs one search from all starts; leave --each out")
    if targets and job.on_cluster:
        raise click.UsageError(
            "--to works on one machine only; leave --workers and --scheduler out"
        )


@click.command("bfs")
@job_options
@set_option("start", "Vertex to start from; can be repeated.")
@click.option("--depth-limit", type=click.IntRange(min=0), help="Maximum number of hops.")
@EACH
@TO
def bfs_command(
    job: Job,
    start: tuple[str, ...],
    start_file: Path | None,
    depth_limit: int | None,
    each: bool,
    to: tuple[str, ...],
) -> None:
    """Count hops from the nearest start.

    Result: vertex, distance, predecessor; with --each also the start; with --to the paths.
    """
    from cugraph_ws.algorithms.bfs import BFS
    from cugraph_ws.algorithms.multi_source import MultiSource

    need(start, start_file, "start")
    _one_search(job, each, to)
    with job.graph(weighted=False) as graph:
        starts = given_set(job, "start", start, start_file)
        if each:
            loop = MultiSource(
                BFS, "start", starts, engine=job.options.engine, max_iter=depth_limit
            )
            job.run(graph, loop)
            return
        paths = _paths(job, to)
        job.run(graph, BFS, limited=True, make=paths, start=starts, max_iter=depth_limit)


@click.command("sssp")
@job_options
@set_option("start", "Vertex where paths begin; can be repeated.")
@click.option("--cutoff", type=float, help="Maximum length of a path.")
@EACH
@TO
def sssp_command(
    job: Job,
    start: tuple[str, ...],
    start_file: Path | None,
    cutoff: float | None,
    each: bool,
    to: tuple[str, ...],
) -> None:
    """Find shortest paths.

    The length of an edge is its weight, or 1 without weights.  Result: vertex, distance, predecessor;
    with --each also the start; with --to the paths.
    """
    from cugraph_ws.algorithms.multi_source import MultiSource
    from cugraph_ws.algorithms.sssp import SSSP

    need(start, start_file, "start")
    _one_search(job, each, to)
    with job.graph() as graph:
        starts = given_set(job, "start", start, start_file)
        if each:
            job.run(
                graph, MultiSource(SSSP, "start", starts, engine=job.options.engine, cutoff=cutoff)
            )
            return
        job.run(graph, SSSP, make=_paths(job, to), start=starts, cutoff=cutoff)


@click.command("widest-path")
@job_options
@set_option("start", "Vertex where paths begin; can be repeated.")
@TO
def widest_path_command(
    job: Job, start: tuple[str, ...], start_file: Path | None, to: tuple[str, ...]
) -> None:
    """Find widest paths.

    The width of a path is that of its narrowest edge.  The width of an edge is its weight, or 1
    without weights.
    Result: vertex, width, predecessor; with --to the paths.
    """
    from cugraph_ws.algorithms.widest_path import WidestPath

    need(start, start_file, "start")
    _one_search(job, False, to)
    with job.graph() as graph:
        starts = given_set(job, "start", start, start_file)
        job.run(graph, WidestPath, make=_paths(job, to), start=starts)


VERTEX_VALUES = ("personalization", "nstart", "dangling", "precomputed_vertex_out_weight")


@click.command("pagerank")
@job_options
@click.option("--alpha", type=float, default=0.85, show_default=True, help="Damping factor.")
@_values("personalization", "Teleport distribution over the vertices.")
@_values("nstart", "Initial ranks.")
@_values("dangling", "Distribution of the rank of vertices without out-edges.")
@_values("precomputed-vertex-out-weight", "Sum of each vertex's out-weights.")
@option_flag("max_iter", 100)
@TOLERANCE
@option_flag("extrapolate", "auto")
def pagerank_command(job: Job, alpha: float, **arguments: Any) -> None:
    """Rank vertices by PageRank.

    Result: vertex, pagerank.
    """
    from cugraph_ws.algorithms.pagerank import PageRank

    values = {
        name: _given_values(job, name.replace("_", "-"), arguments[name], arguments[f"{name}_file"])
        for name in VERTEX_VALUES
    }
    with job.graph() as graph:
        job.run(graph, PageRank, rank_by="pagerank", alpha=alpha, **values)


components_command = loop_command("weakly_connected_components", WeaklyConnectedComponents)


@click.command("k-core")
@job_options
@click.option("-k", type=click.IntRange(min=0), help="Order of the core; default: the innermost.")
@DEGREE_TYPE
def k_core_command(job: Job, k: int | None, degree_type: Any) -> None:
    """Extract the edges of a core.

    Each of its vertices has K or more neighbours in the core.  Result: edges.
    """
    from cugraph_ws.algorithms.core import k_core
    from cugraph_ws.cli.output import deliver

    if job.trace is not None:
        raise click.UsageError(
            "k-core writes no trace; core-number runs the same computation and writes one"
        )
    with job.graph() as graph:
        deliver(job, k_core(graph, k, degree_type=degree_type, **job.options.chosen()))


@click.command("circuit")
@job_options
@_values("sources", "Voltages of the vertices at which they are fixed.", required=True)
@option_flag("max_iter", 10_000)
@TOLERANCE
def circuit_command(job: Job, sources: str | None, sources_file: Path | None) -> None:
    """Compute the voltages of a circuit.

    Weights are conductances; without weights each is 1.  Result: vertex, voltage.
    """
    from cugraph_ws.algorithms.circuit import Circuit

    voltages = _given_values(job, "sources", sources, sources_file, required=True)
    with job.graph() as graph:
        job.run(graph, Circuit, sources=voltages)


def _iterative_command(
    name: str, text: str, what: Any, value: str, value_text: str, fixed_text: str, max_iter: int
) -> click.Command:
    """Return the command of a program that iterates from initial values, some of them fixed."""

    @click.command(name, help=text)
    @job_options
    @_values(value, value_text, required=True)
    @set_option("fixed", fixed_text)
    @option_flag("max_iter", max_iter)
    @TOLERANCE
    def command(job: Job, **arguments: Any) -> None:
        initial = _given_values(
            job, value, arguments[value], arguments[f"{value}_file"], required=True
        )
        with job.graph() as graph:
            fixed = given_set(job, "fixed", arguments["fixed"], arguments["fixed_file"])
            job.run(graph, what, **{value: initial}, fixed=fixed)

    return command


heat_command = _iterative_command(
    "heat",
    "Simulate heat flow until convergence.\n\n"
    "Weights are the coefficients.  Result: vertex, temperature.",
    Heat,
    "temperature",
    "Initial temperature of every vertex.",
    "Vertex that keeps its temperature; can be repeated.",
    10_000,
)
neural_network_command = _iterative_command(
    "neural-network",
    "Run a network of neurons until convergence.\n\n"
    "Weights are those of the synapses.  Result: vertex, activation.",
    NeuralNetwork,
    "activation",
    "Initial activation of every neuron.",
    "Neuron that keeps its activation; can be repeated.",
    1_000,
)


@click.command("belief-propagation")
@job_options
@click.option(
    "--priors",
    multiple=True,
    metavar="COLUMN",
    help="Column of --vertices with priors; give one for each state.",
)
@click.option(
    "--priors-file",
    type=A_FILE,
    metavar="FILE",
    help="File with a row for each vertex and a column for each state.",
)
@click.option(
    "--coupling",
    required=True,
    metavar="MATRIX|COLUMN",
    help='Matrix with rows between semicolons, as "2,1;1,2", or the edge column of Potts strengths.',
)
@click.option(
    "--damping",
    type=float,
    default=0.0,
    show_default=True,
    help="Weight of the old message in each update.",
)
@option_flag("max_iter", 100)
@TOLERANCE
def belief_propagation_command(
    job: Job,
    priors: tuple[str, ...],
    priors_file: Path | None,
    coupling: str,
    damping: float,
    max_iter: int,
    tol: float,
) -> None:
    """Compute the marginals of a Markov random field.

    Result: vertex, belief_0, belief_1 and so on, a column for each state.
    """
    from cugraph_ws.algorithms.belief_propagation import BeliefPropagation

    if bool(priors) == (priors_file is not None):
        raise click.UsageError("give --priors once for each state, or --priors-file")
    shared = _matrix(coupling)
    with job.graph([coupling] if shared is None else [], weighted=False) as graph:
        table = list(priors) if priors_file is None else job.read_vertices(priors_file)
        factor = coupling if shared is None else shared
        job.run(graph, BeliefPropagation(table, factor, damping, tol, max_iter))


@click.command("label-propagation")
@job_options
@option_flag("max_iter", 10)
@click.option("--seed", type=int, help="Update labels colour by colour; seed of the colouring.")
def label_propagation_command(job: Job, max_iter: int, seed: int | None) -> None:
    """Find communities by label propagation.

    Result: vertex, label.
    """
    from cugraph_ws.algorithms.label_propagation import LabelPropagation

    with job.graph() as graph:
        job.run(graph, LabelPropagation(max_iter, seed), limited=True)


LEVELS = (
    click.option(
        "--max-level", type=click.IntRange(min=1), default=100, show_default=True, help="Most."
    ),
    click.option(
        "--threshold", type=float, default=1e-7, show_default=True, help="Minimum gain of a sweep."
    ),
    click.option(
        "--resolution", type=float, default=1.0, show_default=True, help="Higher: smaller ones."
    ),
    click.option(
        "--objective",
        type=click.Choice(["modularity", "cpm"]),
        default="modularity",
        show_default=True,
        help="What is made great; cpm: constant Potts model.",
    ),
    click.option("--hierarchy", is_flag=True, help="Also write the communities of each level."),
    click.option("--seed", type=int, default=0, show_default=True, help="Of the order."),
)
LEVELS_TEXT = (
    "With --hierarchy also level_0, level_1 and so on.  The last residual is the negative of the "
    "modularity, or of the quality."
)


def _communities_command(name: str, what: Callable[..., Any]) -> click.Command:
    """Return the command of a method that finds communities, from given ones on if there is a file."""
    initial = click.option(
        "--initial", type=A_FILE, metavar="FILE", help="Communities to start from."
    )

    def loop(job: Job, initial: Path | None, **arguments: Any) -> Any:
        return what(initial=None if initial is None else job.read_vertices(initial), **arguments)

    return loop_command(name, loop, *LEVELS, initial, more=LEVELS_TEXT, takes_job=True)


louvain_command = _communities_command("louvain", Louvain)
leiden_command = _communities_command("leiden", Leiden)


COMMUNITIES = _values("communities", "Column of --vertices with communities.")


@click.command("modularity")
@job_options
@COMMUNITIES
@click.option(
    "--resolution",
    type=float,
    default=1.0,
    show_default=True,
    help="Weight of the expected share of edges.",
)
def modularity_command(
    job: Job, communities: str | None, communities_file: Path | None, resolution: float
) -> None:
    """Compute the modularity of communities.

    Result: modularity, one row.
    """
    import pyarrow as pa

    from cugraph_ws.algorithms.modularity import modularity
    from cugraph_ws.cli.output import deliver

    table = _given_communities(job, communities, communities_file)
    with job.graph() as graph:
        score = modularity(graph, table, resolution, engine=job.options.engine)
        deliver(job, pa.table({"modularity": [score]}))


@click.command("conductance")
@job_options
@COMMUNITIES
def conductance_command(job: Job, communities: str | None, communities_file: Path | None) -> None:
    """Compute the conductance of each community.

    Result: community, vertices, volume, cut, conductance.
    """
    from cugraph_ws.algorithms.modularity import conductance
    from cugraph_ws.cli.output import deliver

    table = _given_communities(job, communities, communities_file)
    with job.graph() as graph:
        deliver(job, conductance(graph, table, engine=job.options.engine))


def _given_communities(job: Job, word: str | None, file: Path | None) -> Any:
    if job.trace is not None:
        raise click.UsageError("measures of communities have no supersteps; leave --trace out")
    return _given_values(job, "communities", word, file, required=True)


def _matrix(text: str) -> list[list[float]] | None:
    """Return the matrix in a word; None if it is not a matrix."""
    try:
        return [[float(cell) for cell in row.split(",")] for row in text.split(";")]
    except ValueError:
        return None


@click.command("maximal-bipartite-matching")
@job_options
@set_option("left", "Vertex on the left; can be repeated.")
@click.option(
    "--left-column", metavar="COLUMN", help="Column of --vertices that is true for left vertices."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random order.")
def matching_command(
    job: Job, left: tuple[str, ...], left_file: Path | None, left_column: str | None, seed: int
) -> None:
    """Find a maximal matching of a bipartite graph.

    Result: vertex, mate.
    """
    from cugraph_ws.algorithms.matching import MaximalBipartiteMatching

    if left_column is None:
        need(left, left_file, "left")
    elif left or left_file is not None:
        raise click.UsageError("give --left-column or the vertices on the left, not both")
    with job.graph(weighted=False) as graph:
        side = left_column or given_set(job, "left", left, left_file)
        job.run(graph, MaximalBipartiteMatching(side, seed))


@click.command("k-truss")
@job_options
@click.option(
    "-k",
    type=click.IntRange(min=0),
    required=True,
    help="Order of the truss: each edge is in k - 2 triangles.",
)
def k_truss_command(job: Job, k: int) -> None:
    """Extract the edges of a k-truss.

    Each edge is in at least K - 2 triangles of the truss.  Result: edges.
    """
    from cugraph_ws.algorithms.truss import k_truss
    from cugraph_ws.cli.output import deliver

    if job.trace is not None:
        raise click.UsageError(
            "k-truss writes no trace; truss-number runs the same computation and writes one"
        )
    with job.graph() as graph:
        deliver(job, k_truss(graph, k, **job.options.chosen()))


MEASURES = {
    "jaccard": "Compare vertices by Jaccard's coefficient.",
    "overlap": "Compare vertices by the overlap coefficient.",
    "sorensen": "Compare vertices by Sørensen's coefficient.",
    "cosine": "Compare vertices by cosine similarity.",
    "adamic_adar": "Compare vertices by the Adamic-Adar index.",
}


def _similarity_command(measure: Any) -> click.Command:
    """Return the command of a measure of similarity."""

    def command(
        job: Job,
        pairs: Path | None,
        joined: bool,
        top: int | None,
        at_least: float | None,
        use_weight: bool = False,
    ) -> None:
        from cugraph_ws.algorithms.similarity import Similarity

        if joined and pairs is not None:
            raise click.UsageError("give --pairs or --edges, not both")
        if (joined or pairs is not None) and (top is not None or at_least is not None):
            raise click.UsageError(
                "--top and --at-least are for all pairs; leave out --pairs and --edges"
            )
        with job.graph(weighted=use_weight) as graph:
            pairs_table: Any = "edges" if joined else None
            if pairs is not None:
                pairs_table = job.read_vertices(pairs, ("first", "second"))
            loop = Similarity(measure, pairs_table, use_weight, top=top, at_least=at_least)
            job.run(graph, loop, rank_by=f"{measure}_coeff")

    command.__doc__ = f"""{MEASURES[measure]}

    By default, all pairs with a common neighbour are compared.  Result: first, second, {measure}_coeff.
    """
    if measure != "adamic_adar":
        flag = click.option("--use-weight", is_flag=True, help="Use the weights of edges.")
        command = flag(command)
    several = click.option(
        "--edges", "joined", is_flag=True, help="Compare all pairs that an edge joins."
    )
    file = click.option(
        "--pairs", type=A_FILE, metavar="FILE", help="Pairs in columns first and second."
    )
    best = click.option(
        "--top", type=click.IntRange(min=1), help="Of all pairs, the most similar of each vertex."
    )
    least = click.option(
        "--at-least", type=float, help="Of all pairs, those of such a coefficient."
    )
    built: click.Command = click.command(measure.replace("_", "-"))(
        job_options(file(several(best(least(command)))))
    )
    return built


SIMILARITY_COMMANDS = tuple(map(_similarity_command, MEASURES))

SEED = click.option(
    "--seed", type=int, default=0, show_default=True, help="Seed of the random priorities."
)

BY_HAND = (
    bfs_command,
    sssp_command,
    widest_path_command,
    pagerank_command,
    components_command,
    loop_command("strongly_connected_components", StronglyConnectedComponents),
    loop_command("core_number", CoreNumber, DEGREE_TYPE, rank_by="core_number"),
    k_core_command,
    heat_command,
    circuit_command,
    neural_network_command,
    belief_propagation_command,
    matching_command,
    *CENTRALITIES,
    loop_command("maximal_independent_set", MaximalIndependentSet, SEED),
    loop_command("coloring", Coloring, SEED),
    loop_command("triangle_count", TriangleCount, rank_by="counts"),
    loop_command("clustering_coefficient", ClusteringCoefficient, rank_by="clustering_coefficient"),
    loop_command("truss_number", TrussNumber, rank_by="truss_number"),
    k_truss_command,
    *SIMILARITY_COMMANDS,
    conductance_command,
    label_propagation_command,
    leiden_command,
    louvain_command,
    modularity_command,
)
_NAMES = {command.name for command in BY_HAND}
COMMANDS = (
    *BY_HAND,
    *(
        function_command(declared)
        for name, declared in ALGORITHMS.items()
        if name.replace("_", "-") not in _NAMES
    ),
)

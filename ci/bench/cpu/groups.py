"""Ten thousand graphs in one frame: `ws.run_groups` on all, and beside `groupby.apply` on a sample of them.

From frame to frame, with the build.  `groupby.apply` calls this library's own function, NetworkX or SciPy on each group.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import networkx
import numpy as np
import pandas as pd
from scipy import sparse

import cugraph_ws as ws
from bench.forms import NETWORKX, SCIPY
from bench.timing import OURS, Entrant, Section, race

GROUPS, EDGES, VERTICES = 10_000, 1_000, 400
SAMPLE = 100  # groups for `groupby.apply`
SUPERSTEPS, ALPHA = 20, 0.85
BOUND = 1.0  # seconds on two cores
APPLIED = f"groupby.apply, {OURS}"
BY, ENDS = "country", ["source", "destination"]
RANKS: dict[str, Any] = {"max_iter": SUPERSTEPS, "tol": 0, "fail_on_nonconvergence": False}

Apart = Callable[[pd.DataFrame], pd.DataFrame]  # takes the edges of one graph


def groups(name: str, section: Section, repeats: int) -> None:
    """Time components and supersteps of PageRank; compare with SciPy."""
    generator = np.random.default_rng(1)
    source, destination = generator.integers(0, VERTICES, (2, GROUPS * EDGES))
    edges = pd.DataFrame(
        {BY: np.arange(GROUPS).repeat(EDGES), "source": source, "destination": destination}
    )
    sample = edges[: SAMPLE * EDGES]
    for job, function, arguments, peers in (
        ("components", ws.weakly_connected_components, {}, PEERS_OF_COMPONENTS),
        (f"{SUPERSTEPS} supersteps of PageRank", ws.pagerank, RANKS, PEERS_OF_RANKS),
    ):
        expected = _applied(sample, peers[SCIPY]).iloc[:, 0].to_numpy()
        check = partial(_check, expected)
        ours = partial(ws.run_groups, function, by=BY, **arguments)
        entrants = [Entrant(OURS, partial(ours, edges), check)]
        timing = race(section, f"{job}, {GROUPS:,} graphs", entrants, repeats)[OURS]
        section.target(f"{job} of {GROUPS:,} graphs, seconds", timing.median, BOUND)
        alone = partial(_alone, function, arguments)
        applied = {APPLIED: alone, **peers}
        entrants = [Entrant(OURS, partial(ours, sample), check)]
        entrants += [
            Entrant(library, partial(_applied, sample, apart), check)
            for library, apart in applied.items()
        ]
        race(section, f"{job}, {SAMPLE:,} graphs", entrants, repeats)


def _applied(edges: pd.DataFrame, apart: Apart) -> pd.DataFrame:
    return edges.groupby(BY)[ENDS].apply(apart)


def _alone(function: Any, arguments: dict[str, Any], edges: pd.DataFrame) -> pd.DataFrame:
    frame: pd.DataFrame = function(edges, **arguments)
    return frame.set_index("vertex")


def _check(expected: Any, answer: pd.DataFrame) -> float:
    """Return the greatest difference of the first groups' values from SciPy's; raise if it is not small."""
    off = float(np.abs(answer.iloc[: len(expected), -1].to_numpy() - expected).max())
    assert off < 1e-12, f"the answer is off by {off}"
    return off


# ------------------------------------------------------------------ one graph, by other libraries


def _matrix(edges: pd.DataFrame) -> tuple[Any, Any]:
    """Return the vertices of a graph, and its matrix: an entry in row i and column j for each edge from i to j."""
    vertices, numbers = np.unique(edges.to_numpy(), return_inverse=True)
    rows, columns = numbers.reshape(-1, 2).T
    shape = len(vertices), len(vertices)
    return vertices, sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def _components_by_scipy(edges: pd.DataFrame) -> pd.DataFrame:
    vertices, matrix = _matrix(edges)
    _, labels = sparse.csgraph.connected_components(matrix, connection="weak")
    _, firsts = np.unique(labels, return_index=True)
    return pd.DataFrame({"labels": vertices[firsts][labels]}, index=vertices)


def _components_by_networkx(edges: pd.DataFrame) -> pd.DataFrame:
    graph = networkx.from_pandas_edgelist(edges, *ENDS)
    labels = {
        vertex: min(members)
        for members in networkx.connected_components(graph)
        for vertex in members
    }
    return pd.DataFrame({"labels": pd.Series(labels).sort_index()})


def _ranks_by_scipy(edges: pd.DataFrame) -> pd.DataFrame:
    vertices, matrix = _matrix(edges)
    count, degrees = len(vertices), matrix.sum(axis=1)
    shares = 1.0 / np.where(degrees > 0, degrees, 1.0)
    ranks = np.full(count, 1.0 / count)
    for _ in range(SUPERSTEPS):
        lost = ranks[degrees == 0].sum()
        ranks = ALPHA * (matrix.T @ (ranks * shares) + lost / count) + (1.0 - ALPHA) / count
    return pd.DataFrame({"pagerank": ranks}, index=vertices)


PEERS_OF_COMPONENTS: dict[str, Apart] = {
    NETWORKX: _components_by_networkx,
    SCIPY: _components_by_scipy,
}
PEERS_OF_RANKS: dict[str, Apart] = {SCIPY: _ranks_by_scipy}

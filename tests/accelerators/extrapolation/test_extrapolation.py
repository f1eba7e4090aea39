"""Runs that are extrapolated between supersteps: fewer of them, within the same bound of the error."""

from __future__ import annotations

import time
from itertools import combinations_with_replacement, pairwise

import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from plans import planned
from programs import Rank
from shapes import build, random_edges, undirected
from thread_ranks import on_ranks, over_links, share, with_ordered_ghosts
from verify import Edges, check_pagerank

import cugraph_ws as ws
from cugraph_ws.accelerators.extrapolation import cpu, cuda, runs
from cugraph_ws.accelerators.extrapolation.runs import factors_of
from cugraph_ws.algorithms.pagerank import PageRank
from cugraph_ws.backends.cuda import exchange as device_exchange
from cugraph_ws.errors import InputError, ProgramError
from cugraph_ws.program.decorator import l1_norm, max_norm
from cugraph_ws.program.linear import linear

ALPHA = 0.85
LATE = {"tol": 1e-8, "max_iter": 300}


def communities(groups: int, size: int) -> Edges:
    """Cliques in a ring, two neighbours joined by one edge, some with a pendant: slow to mix."""
    pairs = []
    for group in range(groups):
        first = group * size
        pairs += [(first + a, first + b) for a in range(size) for b in range(size) if a != b]
        following = (group + 1) % groups * size
        pairs += [(first, following), (following, first)]
        if group < 3:  # without out-edges
            pairs.append((first + 1, groups * size + group))
    source, destination = np.array(pairs, np.int64).T
    weight = 1.0 + np.arange(len(source)) % 5
    return Edges(source, destination, groups * size + 3, weight)


SLOW = communities(12, 5)


@pytest.fixture(autouse=True)
def on_small_graphs_too(monkeypatch):
    for least in ("LEAST_ARCS", "LEAST_ON_HOST"):
        monkeypatch.setattr(runs, least, 0)


def ran(edges: Edges, extrapolate: str, **options) -> ws.Result:
    with build(edges) as graph:
        return ws.run(PageRank, graph, **planned(extrapolate=extrapolate, **{**LATE, **options}))


def ranks_of(result) -> np.ndarray:
    return np.asarray(result.arrays["pagerank"])


def marked(result) -> list[int]:
    """The supersteps, from 1, whose states were replaced."""
    return (np.flatnonzero(result.rows.extrapolated) + 1).tolist()


# --- supersteps that are saved --------------------------------------------------------------------


def starts(n: int) -> dict[str, dict[str, np.ndarray]]:
    """Arguments of PageRank, and those of the oracle."""
    at = np.zeros(n)
    at[[3, 40]] = 1.0, 3.0
    return {
        "plain": {},
        "personalised": {"personalization": at},
        "dangling": {"dangling": at},
        "from an earlier result": {"nstart": at},
    }


@pytest.mark.parametrize("name", starts(SLOW.n))
def test_slow_graphs_take_half_the_supersteps_and_keep_the_bound(name):
    given = starts(SLOW.n)[name]
    frames = {key: {"vertex": np.arange(SLOW.n), key: values} for key, values in given.items()}
    named = {key: ws_frame(one) for key, one in frames.items()}
    plain, fewer = (ran(SLOW, mode, **named) for mode in ("never", "auto"))
    assert plain.converged
    assert fewer.converged
    assert fewer.iterations <= 0.6 * plain.iterations
    assert marked(plain) == []
    assert marked(fewer)[:3] == [8, 16, 24]
    assert fewer.residual <= LATE["tol"]
    arguments = {key: value for key, value in given.items() if key != "nstart"}
    exact = oracles.pagerank(SLOW, **arguments)
    for result in (plain, fewer):
        off = np.abs(ranks_of(result) - exact).sum()
        assert off <= LATE["tol"] * ALPHA / (1 - ALPHA)
    check_pagerank(SLOW, ranks_of(fewer), LATE["tol"], **arguments)


def ws_frame(columns):
    return pd.DataFrame(columns)


@pytest.mark.parametrize(
    "options",
    [
        {"engine": "python"},
        {"partitions": 3},
        {"engine": "cuda"},
        {"engine": "cuda", "partitions": 2},
        {"engine": "cuda", "layout": "windows"},
    ],
    ids=str,
)
def test_all_engines_extrapolate_the_same_supersteps(options):
    edges, tol = communities(6, 3), 1e-6
    expected = ran(edges, "auto", tol=tol)
    assert marked(expected) == [8, 16]
    with emulated(multiprocessors=1):
        found, again = (ran(edges, "auto", tol=tol, **options) for _ in range(2))
    assert marked(found) == marked(expected)
    assert found.iterations == expected.iterations
    # A GPU rounds what is sent along edges
    assert np.abs(ranks_of(found) - ranks_of(expected)).sum() < (
        1e-6 if "engine" in options else 1e-13
    )
    assert np.array_equal(ranks_of(found), ranks_of(again))


def test_ranks_of_a_cluster_extrapolate_together():
    edges = communities(6, 3)
    expected = ran(edges, "auto")
    with build(edges) as graph:
        parts = on_ranks(
            3,
            lambda comm: ws.run(
                PageRank, share(graph, comm), **planned(extrapolate="auto", **LATE)
            ),
        )
    assert [marked(one) for one in parts] == [marked(expected)] * 3
    found = np.concatenate([ranks_of(one) for one in parts])
    assert np.abs(found - ranks_of(expected)).sum() < LATE["tol"]


@pytest.mark.parametrize(("cuts", "exchange"), [((0, 5, 15), "ms"), ((0, 0, 6, 15), "auto")])
def test_gpus_that_send_before_a_superstep_ends(cuts, exchange, monkeypatch):
    """The part of the next superstep that is queued early must not be what is combined."""
    edges = communities(4, 3)
    monkeypatch.setattr(device_exchange, "LEAST_APART", 1)
    given = {"engine": "cuda", "exchange": exchange, "extrapolate": "always", "tol": 1e-7}

    def work(comm, linked=True):
        shard = share(graph, comm, cuts)
        result = ws.run(
            PageRank, with_ordered_ghosts(shard) if linked else shard, **planned(**given)
        )
        return ranks_of(result), marked(result), result.iterations

    with build(edges) as graph, emulated():
        linked = over_links(len(cuts) - 1, work)
        mailed = on_ranks(len(cuts) - 1, lambda comm: work(comm, linked=False))
    assert len(linked[0][1]) > 1
    for (ranks, *facts), (others, *expected) in zip(linked, mailed, strict=True):
        assert facts == expected
        assert np.array_equal(ranks, others)


# --- where it does not pay -----------------------------------------------------------------------


def kinds(seed: int) -> list[Edges]:
    """Random graphs: of any shape, undirected, bipartite, periodic, and in several parts."""
    one = random_edges(30, 70, seed)
    half = Edges(one.source % 10, 10 + one.destination % 20, 30, one.weight)
    period = Edges(one.source, (one.source // 5 * 5 + 5 + one.destination % 5) % 30, 30, one.weight)
    apart = Edges(one.source, one.source % 3 + one.destination // 3 * 3, 30, one.weight)
    return [one, undirected(one), half, undirected(half), period, apart]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("alpha", [0.5, 0.85, 1.0])
def test_runs_never_diverge_and_lose_no_supersteps(seed, alpha):
    for edges in kinds(seed):
        options = {"alpha": alpha, "max_iter": 100}
        plain, auto, always = (ran(edges, mode, **options) for mode in ("never", "auto", "always"))
        for result in (auto, always):
            residuals = np.asarray(result.rows.residual)
            # A superstep lengthens no difference; an extrapolation is taken if it shortens them
            assert (residuals[1:] <= residuals[:-1] * (1 + 1e-12) + 1e-15).all()
            assert np.asarray(ranks_of(result)).min() >= 0.0
            assert ranks_of(result).sum() == pytest.approx(1.0, abs=1e-13)
            assert result.converged or not plain.converged
            if alpha < 1.0:
                exact = oracles.pagerank(edges, alpha)
                assert np.abs(ranks_of(result) - exact).sum() <= LATE["tol"] * alpha / (1 - alpha)
        assert auto.iterations <= plain.iterations + 1


@pytest.mark.parametrize("edges", [
    Edges(np.empty(0, np.int64), np.empty(0, np.int64), 0, None),
    Edges(np.empty(0, np.int64), np.empty(0, np.int64), 1, None),
    Edges(np.zeros(1, np.int64), np.zeros(1, np.int64), 1, None),
    Edges(np.arange(7), (np.arange(7) + 1) % 7, 7, None),
], ids=["no vertices", "a vertex", "a self-loop", "a cycle"])  # fmt: skip
def test_trivial_graphs(edges):
    plain, fewer = (ran(edges, mode) for mode in ("never", "always"))
    assert fewer.iterations == plain.iterations
    assert np.array_equal(ranks_of(fewer), ranks_of(plain))


def test_a_cycle_from_one_vertex_is_not_slower():
    cycle = Edges(np.arange(7), (np.arange(7) + 1) % 7, 7, None)
    start = ws_frame({"vertex": [2], "nstart": [1.0]})
    plain, fewer = (ran(cycle, mode, nstart=start) for mode in ("never", "auto"))
    assert fewer.iterations <= plain.iterations
    assert np.abs(ranks_of(fewer) - 1 / 7).sum() <= LATE["tol"] * ALPHA / (1 - ALPHA)


@pytest.mark.parametrize("bound", [{"tol": 0.0}, {"tol": 1e-8, "max_iter": 7}])
def test_a_number_of_supersteps_that_is_asked_for_is_exact(bound):
    plain, auto = (ran(SLOW, mode, **{"max_iter": 40, **bound}) for mode in ("never", "auto"))
    assert marked(auto) == []
    assert np.array_equal(ranks_of(auto), ranks_of(plain))


def test_without_a_tolerance_it_is_done_if_asked_for():
    result = ran(SLOW, "always", tol=0.0, max_iter=20)
    assert marked(result) == [8, 16]
    assert result.iterations == 20


def test_the_last_superstep_is_plain():
    assert marked(ran(SLOW, "always", tol=0.0, max_iter=16)) == [8]


def test_runs_that_end_soon_are_left_alone():
    assert marked(ran(SLOW, "auto", tol=1e-3)) == []
    assert marked(ran(SLOW, "always", tol=1e-3)) == [8]


def test_a_gpu_extrapolates_where_supersteps_take_long(monkeypatch):
    """Below so many arcs a rank a combination takes longer than what it saves."""
    edges, tol = communities(4, 3), 1e-5
    arcs = len(edges.source)
    with emulated(multiprocessors=1):
        for least, ranks, expected in ((arcs, 1, True), (arcs + 1, 1, False), (arcs, 2, False)):
            monkeypatch.setattr(runs, "LEAST_ARCS", least)
            found = ran(edges, "auto", engine="cuda", partitions=ranks, tol=tol)
            assert bool(marked(found)) == expected
            check_pagerank(edges, ranks_of(found), tol)
        assert marked(ran(edges, "always", engine="cuda", tol=tol)) != []
    assert marked(ran(edges, "auto", engine="cpu", tol=tol)) != []


def test_short_memory_is_left_alone(monkeypatch):
    monkeypatch.setattr(runs, "available_memory", lambda: 0)
    assert marked(ran(SLOW, "auto")) != [], "so little is not asked for"
    monkeypatch.setattr(runs, "SMALL", 0)
    monkeypatch.setattr(runs, "available_memory", lambda: 8 * SLOW.n * 4)
    assert marked(ran(SLOW, "auto")) == []
    monkeypatch.setattr(runs, "available_memory", lambda: 8 * SLOW.n * 5 * 4)
    assert marked(ran(SLOW, "auto")) != []


def test_refused_combinations_are_tried_less_and_less(monkeypatch):
    tried = []
    monkeypatch.setattr(runs, "GUARD", 0.0)
    monkeypatch.setattr(
        runs, "factors_of", lambda products: tried.append(1) or factors_of(products)
    )
    plain, refused = (ran(SLOW, mode, tol=1e-12) for mode in ("never", "auto"))
    assert marked(refused) == []
    assert np.array_equal(ranks_of(refused), ranks_of(plain))
    periods = plain.iterations // 8
    assert 3 <= len(tried) < periods / 2


def test_check_compares_plain_supersteps():
    """With a limit a run decides otherwise than without: states after as many supersteps may differ."""
    with build(SLOW) as graph:
        report = ws.check(PageRank, graph)
        assert marked(ws.run(PageRank, graph)) != []
    assert not report.differences
    assert report.supersteps > 40, "not one was replaced"


# --- checkpoints ---------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [
    {}, {"partitions": 2}, {"engine": "cuda"},
], ids=["cpu", "partitions", "cuda"])  # fmt: skip
def test_a_run_goes_on_from_any_superstep_bit_by_bit(options, tmp_path):
    edges = communities(6, 3)
    file = tmp_path / "state"
    with emulated(multiprocessors=1):
        whole = ran(edges, "auto", **options)
        assert len(marked(whole)) > 1
        on_cpu = "engine" not in options
        for stop in (1, 3, 4, 5, 6, 7, 8, 9, 12, 15) if on_cpu else (5, 7, 8):
            # A GPU runs several supersteps in a call, which ends where max_iter says
            first = ran(edges, "auto", checkpoint=file, **options,
                        progress=lambda update, stop=stop: update.superstep < stop)  # fmt: skip
            assert first.stopped == "callback"
            rest = ran(edges, "auto", resume=file, **options)
            assert rest.iterations == whole.iterations
            assert np.array_equal(ranks_of(rest), ranks_of(whole))
            assert rest.residual == whole.residual


def test_a_checkpoint_of_another_mode_is_refused(tmp_path):
    ran(SLOW, "auto", checkpoint=tmp_path / "state", max_iter=6)
    with pytest.raises(InputError, match="another extrapolate"):
        ran(SLOW, "always", resume=tmp_path / "state")


def test_ranks_go_on_from_a_checkpoint(tmp_path):
    edges, file = communities(6, 3), tmp_path / "state"
    with build(edges) as graph:

        def parts(size, **options):
            return on_ranks(
                size,
                lambda comm: ws.run(
                    PageRank, share(graph, comm), **planned(extrapolate="auto", **options)
                ),
            )

        whole = parts(2, **LATE)

        def few(update):
            time.sleep(
                0.05
            )  # ranks vote on stopping by time; short supersteps could all be done before
            return update.superstep < 7

        stopped = parts(2, checkpoint=file, tol=LATE["tol"], max_iter=300, progress=few)
        assert stopped[0].stopped == "callback"
        rest = parts(2, resume=file, **LATE)
        others = parts(3, resume=file, **LATE)
    for one, other in zip(rest, whole, strict=True):
        assert np.array_equal(ranks_of(one), ranks_of(other))
    found = np.concatenate([ranks_of(one) for one in others])
    expected = np.concatenate([ranks_of(one) for one in whole])
    assert np.abs(found - expected).sum() < LATE["tol"]


# --- factors, sums, combinations ------------------------------------------------------------------


def vectors(n: int, seed: int = 0) -> list[np.ndarray]:
    return list(np.random.default_rng(seed).random((6, n)))


def products_of(given) -> np.ndarray:
    changes = [after - before for before, after in pairwise(given)]
    return np.array([one @ other for one, other in combinations_with_replacement(changes, 2)])


@pytest.mark.parametrize("n", [0, 1, 33, 300, 70_000])
def test_sums_and_combinations(n):
    given, factors = vectors(n), [0.5, -1.5, 0.25, 0.75, 1.0]
    mixed = sum(factor * one for factor, one in zip(factors, given[1:], strict=True))
    change = sum(
        factor * (after - before)
        for factor, (before, after) in zip(factors, pairwise(given), strict=True)
    )
    expected = np.abs(change).sum(), -mixed[mixed < 0].sum()
    with emulated(multiprocessors=1):
        for on_device in (False, True) if n <= 300 else (False,):
            loop, combined = cuda if on_device else cpu, np.full(n, np.nan)
            assert loop.products(given) == pytest.approx(products_of(given), rel=1e-12)
            assert loop.combine(given, factors, combined) == pytest.approx(expected, rel=1e-12)
            assert combined == pytest.approx(np.maximum(mixed, 0.0), rel=1e-12)


def test_factors_find_the_fixpoint_of_a_map_of_four_dimensions():
    rng = np.random.default_rng(3)
    matrix, shift = 0.4 * rng.random((4, 4)), rng.random(4)
    given = [rng.random(4)]
    for _ in range(5):
        given.append(matrix @ given[-1] + shift)
    factors = factors_of(products_of(given))
    assert factors.sum() == pytest.approx(1.0)
    found = factors @ np.array(given[1:])
    assert found == pytest.approx(np.linalg.solve(np.eye(4) - matrix, shift), rel=1e-6)


def test_factors_of_changes_that_are_alike_or_none_are_finite():
    still = factors_of(np.zeros(15))
    assert still.sum() == pytest.approx(1.0)
    alike = factors_of(np.ones(15))
    assert alike.sum() == pytest.approx(1.0)
    assert factors_of(np.full(15, np.nan)) is None
    assert factors_of(np.full(15, np.inf)) is None


def test_no_combination_of_vectors_that_are_not_finite(monkeypatch):
    monkeypatch.setattr(runs, "factors_of", lambda products: None)
    assert marked(ran(SLOW, "always", tol=1e-5)) == []


# --- refusals, declarations -----------------------------------------------------------------------


def test_what_cannot_be_extrapolated_is_refused_if_it_is_asked_for():
    with build(SLOW) as graph:
        with pytest.raises(InputError, match="extrapolate='always': Rank does not declare"):
            ws.run(Rank, graph, plan=ws.Plan(extrapolate="always"))
        with pytest.raises(InputError, match="extrapolate='always': supersteps in place"):
            ws.run(PageRank, graph, plan=ws.Plan(extrapolate="always", in_place=True))
        with pytest.raises(InputError, match="extrapolate='sometimes' is not known"):
            ws.pagerank(graph, plan=ws.Plan(extrapolate="sometimes"))
        with pytest.raises(InputError, match="in_place=True: PageRank: the answer would depend"):
            ws.run(PageRank, graph, plan=ws.Plan(in_place=True))


def test_phases_are_plain():
    twice = ws.phases(PageRank, rounds=2)
    with build(SLOW) as graph:
        with pytest.raises(InputError, match=r"extrapolate='always': .* runs in phases"):
            ws.run(twice, graph, plan=ws.Plan(extrapolate="always"))
        result = ws.run(twice, graph)
    assert marked(result) == []
    assert result.iterations > 20


def test_pagerank_takes_it():
    with build(SLOW) as graph:
        plain, fewer = (
            ws.pagerank(graph, tol=1e-8, plan=ws.Plan(extrapolate=mode))["pagerank"]
            for mode in ("never", "auto")
        )
    assert 0.0 < np.abs(plain - fewer).sum() <= 2 * LATE["tol"] * ALPHA / (1 - ALPHA)


def mixing(**settings):
    """A program that may be extrapolated, but for the settings."""

    class Mixing:
        value = ws.float64
        residual = l1_norm("value")
        extrapolation = linear("value")
        combine = sum

        def init(vertex):
            return 0.5

        def compute(src):
            return src.value

        def apply(old, gathered):
            return gathered

    for name, one in settings.items():
        setattr(Mixing, name, one)
    return ws.vertex_program(Mixing)


@pytest.mark.parametrize(("settings", "message"), [
    ({"extrapolation": "value"}, "use linear"),
    ({"extrapolation": linear("other")}, "it needs `residual"),
    ({"residual": max_norm("value")}, "it needs `residual"),
    ({"value": ws.float32}, "not declared ws.float64"),
    ({"combine": max}, "needs combine = sum"),
], ids=str)  # fmt: skip
def test_what_cannot_be_linear_is_not_declared(settings, message):
    assert mixing().extrapolation == linear("value")
    with pytest.raises(ProgramError, match=message):
        mixing(**settings)

"""Similarity of pairs of vertices, on all backends, against the sets of their neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
import oracles
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import SHAPES, build, column, edge_frame, random_edges, undirected
from thread_ranks import on_ranks, share
from verify import Edges
from whole import build as build_shard

import cugraph_ws as ws
from cugraph_ws.algorithms import similar_pairs, similarity
from cugraph_ws.backends.cuda.loops import similarity as on_gpu
from cugraph_ws.partition import neighbourhoods
from cugraph_ws.partition.partitioned_frame import Partitions

MEASURES = ("jaccard", "overlap", "sorensen", "cosine", "adamic_adar")
WEIGHTED = [(one, weighted) for one in MEASURES for weighted in (False, True)][:-1]
DENSE = random_edges(30, 120, seed=9)
STAR = Edges(
    np.concatenate([np.zeros(99, np.int64), [1, 2, 3]]),
    np.append(np.arange(1, 100), [2, 3, 4]),
    100,
    np.arange(102) % 9 / 8,
)


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with emulated(seed=1):
        yield


def pairs_of(n: int, count: int = 30) -> pd.DataFrame:
    ends = np.random.default_rng(n).integers(0, max(n, 1), (2, count if n else 0))
    return pd.DataFrame({"first": ends[0], "second": ends[1]})


def computed(graph: Any, measure: Any, given: Any, weighted: bool, **options: Any) -> Any:
    arrays = ws.run(ws.Similarity(measure, given, weighted), graph, **options).arrays
    first, second, values = arrays.values()
    return np.asarray(first.numbers), np.asarray(second.numbers), values


def check(edges: Edges, measure: str, weighted: bool, found: Any) -> None:
    first, second, values = found
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    expected = oracles.similarity(edges, measure, pairs, use_weight=weighted)
    np.testing.assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:directed=False")
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("name", [one for one in SHAPES if not one.startswith("rows")])
def test_every_shape(name: str, directed: bool) -> None:
    """By one of the measures, weighted or not; all of them over the battery."""
    edges = SHAPES[name] if directed else undirected(SHAPES[name])
    place = 2 * list(SHAPES).index(name) + directed
    measure, weighted = WEIGHTED[place % len(WEIGHTED)]
    with build(edges) as graph:
        given: list[Any] = [pairs_of(edges.n), "edges", None]
        for one in given:
            check(edges, measure, weighted, computed(graph, measure, one, weighted))


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
@pytest.mark.parametrize(("measure", "weighted"), WEIGHTED)
def test_every_measure(measure: str, weighted: bool, engine: str) -> None:
    for edges in (DENSE, STAR):
        with build(edges) as graph:
            given = pairs_of(edges.n)
            check(
                edges, measure, weighted, computed(graph, measure, given, weighted, engine=engine)
            )


@pytest.mark.parametrize("worth", [1, 1 << 20])
def test_rows_are_marked_in_bitmaps(worth: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some pairs by bitmaps and others by search, or all by bitmaps, in tasks of a few elements."""
    for name, value in (
        ("FEW", 0),
        ("LEAST_MARKED", 2),
        ("WORTH", worth),
        ("ELEMENTS_A_TASK", 7),
        ("MARKING", 64),
    ):
        monkeypatch.setattr(on_gpu, name, value)
    for edges in (DENSE, STAR):
        with build(edges) as graph:
            given = pairs_of(edges.n, 80)
            check(edges, "jaccard", False, computed(graph, "jaccard", given, False, engine="cuda"))


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_pairs_that_are_not_given(engine: str) -> None:
    with build(DENSE) as graph:
        first, second, _ = computed(graph, "jaccard", None, False, engine=engine)
        one, other, _ = computed(graph, "jaccard", "edges", False, engine=engine)
    near = oracles.neighbours(DENSE)
    two_hops = {(u, v) for middle in near for u in middle for v in middle if u < v}
    assert list(zip(first, second, strict=True)) == sorted(two_hops)
    joined = {(u, v) for u, row in enumerate(near) for v in row if u < v}
    assert list(zip(one, other, strict=True)) == sorted(joined)


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
@pytest.mark.parametrize(("measure", "weighted"), [("jaccard", True), ("adamic_adar", False)])
def test_ranks(measure: str, weighted: bool, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several steps, of which some ranks have fewer."""
    monkeypatch.setattr(similarity, "ARCS_A_STEP", 60)
    monkeypatch.setattr(neighbourhoods, "ARCS_A_BATCH", 100)
    given: list[Any] = ["edges", None]
    with build(DENSE) as graph:
        for one in given:
            expected = computed(graph, measure, one, weighted)
            parts = on_ranks(
                3,
                lambda comm: computed(share(graph, comm), measure, one, weighted, engine=engine),  # noqa: B023
            )
            found = [np.concatenate(column) for column in zip(*parts, strict=True)]
            check(DENSE, measure, weighted, found)
            for which in (0, 1):
                assert np.array_equal(found[which], expected[which])


@pytest.mark.parametrize("divided", [True, False])
def test_pairs_of_ranks_in_their_order(divided: bool) -> None:
    """A frame that all ranks have, or one in partitions; with text ids."""
    edges = edge_frame(DENSE)
    names = edges.assign(**{end: edges[end].map("v{}".format) for end in ("source", "destination")})
    given = pairs_of(30, 31).map("v{}".format)
    expected = ws.jaccard(names, given, use_weight=True)
    assert expected[["first", "second"]].equals(given)

    def work(shard: Any) -> Any:
        some = given[:20] if shard.comm.rank == 0 else given[20:]
        pairs: Any = Partitions([some]) if divided else given
        found = ws.jaccard(shard, pairs, use_weight=True)
        with pytest.raises(ws.InputError, match="on a cluster has no checkpoints"):
            ws.jaccard(shard, pairs, checkpoint="state.parquet")
        with pytest.raises(ws.InputError, match="'w' is not a vertex"):
            ws.jaccard(shard, Partitions([some.replace("v3", "w")]))
        counts = ws.triangle_count(shard)
        return found, counts, ws.k_truss(shard, 4)

    hands = [[(0, names[:50])], [(1, names[50:])]]
    parts = build_shard(2, hands, weight="weight", work=work)
    found, counts, truss = (
        pd.concat(column, ignore_index=True) for column in zip(*parts, strict=True)
    )
    pd.testing.assert_frame_equal(found, expected)
    pd.testing.assert_frame_equal(counts, ws.triangle_count(names))
    pd.testing.assert_frame_equal(truss, ws.k_truss(names, 4))


def test_networkx_agrees() -> None:
    edges = undirected(DENSE)
    simple = oracles.simple_graph(edges)
    given = pairs_of(30).query("first != second")
    pairs = list(given.itertuples(index=False, name=None))
    with build(edges) as graph:
        for measure, function in (
            ("jaccard", nx.jaccard_coefficient),
            ("adamic_adar", nx.adamic_adar_index),
        ):
            expected = [value for _, _, value in function(simple, pairs)]
            found = getattr(ws, measure)(graph, given)
            np.testing.assert_allclose(column(found, f"{measure}_coeff"), expected)


def test_ids_of_several_columns() -> None:
    frame = pd.DataFrame({"n": ["a", "b"], "i": [1, 1], "m": ["c", "c"], "j": [2, 2]})
    pairs = pd.DataFrame({"first_n": ["a"], "first_i": [1], "second_n": ["b"], "second_i": [1]})
    found = ws.cosine(frame, pairs, source=["n", "i"], destination=["m", "j"])
    assert found.equals(pairs.assign(cosine_coeff=1.0))


def test_the_accessor_and_the_other_functions() -> None:
    frame = edge_frame(SHAPES["star"], weighted=False)
    for measure in MEASURES:
        found = getattr(frame.ws, measure)()
        assert len(found) == 28
        expected = 1 / np.log(8) if measure == "adamic_adar" else 1.0
        np.testing.assert_allclose(found[f"{measure}_coeff"], expected)


@pytest.mark.parametrize("engines", [("cpu", "cuda"), ("cuda", "cpu")], ids="to".join)
def test_checkpoints_go_from_engine_to_engine(
    engines: tuple[str, str], tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity, "ARCS_A_STEP", 200)
    monkeypatch.setattr(similarity, "TOGETHER", 3)
    for name in ("ENTRIES", "ENTRIES_ON_DEVICE"):  # pairs are returned once their piece is done
        monkeypatch.setattr(similar_pairs, name, 100)
    path = tmp_path / "state.parquet"
    with build(DENSE) as graph:
        whole = ws.run(ws.Similarity("overlap"), graph)
        first = ws.run(
            ws.Similarity("overlap"),
            graph,
            engine=engines[0],
            checkpoint=path,
            progress=lambda made: made.superstep < 2,
        )
        assert 0 < len(first.frame) < len(whole.frame)
        second = ws.run(ws.Similarity("overlap"), graph, engine=engines[1], resume=path)
        assert second.frame.equals(whole.frame)
        with pytest.raises(ws.InputError):
            ws.run(ws.Similarity("cosine"), graph, resume=path)


@pytest.mark.parametrize("unit", [2.0**-1000, 2.0**900])
def test_a_cosine_does_not_depend_on_the_unit(unit: float) -> None:
    """Squares of such weights would be 0 or infinite."""
    frame = edge_frame(DENSE)
    expected = ws.cosine(frame, "edges", use_weight=True)
    assert ws.cosine(frame.assign(weight=frame.weight * unit), "edges", use_weight=True).equals(
        expected
    )


def test_what_is_refused() -> None:
    frame = edge_frame(SHAPES["star"])
    pairs = pd.DataFrame({"first": [1], "second": [2]})
    with pytest.raises(ws.InputError, match="no weights"):
        ws.jaccard(frame, pairs, use_weight=True, weight=None)
    negative = edge_frame(replace(SHAPES["one edge"], weight=np.array([-1.0])))
    with pytest.raises(ws.InputError, match="0 to 1 has the weight -1"):
        ws.overlap(negative, use_weight=True)
    with pytest.raises(ws.InputError, match="sums of such weights"):
        ws.jaccard(frame.assign(weight=1e308), use_weight=True)
    with pytest.raises(ws.InputError, match="'edges'"):
        ws.sorensen(frame, "all")  # a word that means nothing
    with pytest.raises(ws.InputError, match="first"):
        ws.cosine(frame, pairs.rename(columns={"first": "one"}))
    with pytest.raises(ws.InputError, match="first, second"):
        ws.cosine(frame, [(1, 2)])
    with pytest.raises(ws.InputError, match="99 is not a vertex"):
        ws.adamic_adar(frame, pairs.replace(2, 99))
    with pytest.raises(ws.InputError, match="does not use weights"):
        ws.Similarity("adamic_adar", None, True)
    with pytest.raises(ws.InputError, match="measure"):
        ws.Similarity("euclid")  # type: ignore[arg-type]

"""Samples of neighbours: against plain Python on every engine, against exact distributions, and what is refused."""

from __future__ import annotations

import re
from collections import Counter
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated

import cugraph_ws as ws
from cugraph_ws.program.randomness import philox

VERTICES = 12
RANDOM = np.random.default_rng(5)
FRAME = pd.DataFrame(
    {
        "source": RANDOM.integers(0, VERTICES, 90),
        "destination": RANDOM.integers(0, VERTICES // 2, 90),
        "day": RANDOM.integers(0, 9, 90),
        "row": np.arange(90),
        "weight": RANDOM.integers(0, 40, 90) // 7 * 0.3,
    }
)
PASSES = 64


def drawn_places(
    key: int, vertex: int, hop: int, degree: int, fanout: int, replace: bool
) -> list[int]:
    """Return the places that a vertex draws of its edges, written without the library's loops."""

    def draw(count: int, end: int) -> int:
        return int(philox(key, (0x7FFD << 48) | vertex, (hop << 32) | count)) % end

    if fanout < 0 or (not replace and fanout >= degree):
        return list(range(degree))
    if replace:
        return [draw(count, degree) for count in range(fanout)] if degree else []
    chosen: set[int] = set()
    if fanout**2 > PASSES * degree:
        for place in range(degree):
            if draw(place, degree - place) < fanout - len(chosen):
                chosen.add(place)
    else:
        for count in range(fanout):
            place = draw(count, degree - fanout + count + 1)
            chosen.add(degree - fanout + count if place in chosen else place)
    return sorted(chosen)


def places_by_weight(
    key: int, vertex: int, hop: int, weights: list[float], fanout: int, replace: bool
) -> list[int]:
    """Return the places that a vertex draws, each in proportion to the weights that are left."""
    if fanout < 0 or (not replace and fanout >= len(weights)):
        return list(range(len(weights)))
    sums, chosen, gone = np.cumsum(weights), [], 0.0
    for count in range(fanout if weights else 0):
        bits = int(philox(key, (0x7FFD << 48) | vertex, (hop << 32) | count)) >> 11
        at = bits * 2.0**-53 * (sums[-1] - gone)
        for place in [] if replace else sorted(chosen):
            before = sums[place - 1] if place else 0.0
            at += sums[place] - before if at >= before else 0.0
        place = int(np.searchsorted(sums[:-1], at, side="right"))
        gone += 0.0 if replace else sums[place] - (sums[place - 1] if place else 0.0)
        chosen.append(place)
    return chosen if replace else sorted(chosen)


def reference(
    frame: pd.DataFrame,
    starts: Any,
    fanouts: list[int],
    *,
    batches: Any = None,
    replace: bool = False,
    direction: str = "in",
    before: Any = None,
    directed: bool = True,
    weighted: bool = False,
    seed: int = 0,
) -> list[tuple[int, ...]]:
    """Return rows of (batch, hop, source, destination, row)."""
    edges = [
        tuple(edge) for edge in frame[["source", "destination", "row", "day"]].to_numpy().tolist()
    ]
    weights = frame.weight.tolist() if weighted else []
    if not directed:
        both = [(edge, (edge[1], edge[0], *edge[2:])) for edge in edges]
        edges = [arc for arcs in both for arc in dict.fromkeys(arcs)]
    own, far = (1, 0) if direction == "in" else (0, 1)
    batches = [0] * len(starts) if batches is None else list(batches)
    bounds = dict(zip(batches, np.broadcast_to(before, len(starts)).tolist(), strict=True))
    keys = {name: int(philox(seed, name % 2**64, 0x7FFD << 48)) for name in batches}
    reached = set(zip(batches, starts, strict=True))
    frontier, rows = sorted(reached), []
    for hop, fanout in enumerate(fanouts):
        found = set()
        for batch, vertex in frontier:
            near = sorted(
                (edge for edge in edges if edge[own] == vertex), key=lambda edge: edge[far]
            )
            if before is not None:
                near = sorted((e for e in near if e[3] <= bounds[batch]), key=lambda edge: edge[3])
            draws = keys[batch], vertex, hop
            if weighted:
                near = [edge for edge in near if weights[edge[2]] > 0]
                some = [weights[edge[2]] for edge in near]
                places = places_by_weight(*draws, some, fanout, replace)
            else:
                places = drawn_places(*draws, len(near), fanout, replace)
            for place in places:
                rows.append((batch, hop, *near[place][:3]))
                found.add((batch, near[place][far]))
        frontier = sorted(found - reached)
        reached |= found
    return rows


CALLS: list[dict[str, Any]] = [
    {"starts": [3], "fanouts": [4]},
    {"starts": [0, 3, 3, 11], "fanouts": [3, 2, 2], "seed": 1},
    {"starts": [0, 1, 2, 0], "fanouts": [2, 3], "batches": [7, -2, 7, -2], "direction": "out"},
    {"starts": [0, 1], "fanouts": [5, -1], "replace": True, "seed": 2},
    {"starts": [0, 1, 2], "fanouts": [3, 3], "batches": range(3), "before": [2, 7, 4]},
    {"starts": [4, 1], "fanouts": [-1, 2], "before": 3.5, "direction": "out", "directed": False},
    {"starts": [0, 3, 5], "fanouts": [4, 3], "weighted": True},
    {"starts": [0, 3], "fanouts": [5, -1], "weighted": True, "replace": True, "seed": 3},
    {"starts": [1, 4], "fanouts": [3, 3], "weighted": True, "before": 6, "direction": "out"},
    {"starts": [], "fanouts": [2, 2], "weighted": True},
    {"starts": [], "fanouts": [2, 2]},
    {"starts": [3, 4], "fanouts": []},
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS)
def test_every_engine_draws_what_plain_python_draws(call: dict[str, Any]) -> None:
    expected = reference(FRAME, **call)
    given = {**call, "attributes": ["row"], "time": "day" if "before" in call else None}
    assert rows_of(ws.neighbor_sample(FRAME, **given)) == expected
    with emulated():
        assert rows_of(ws.neighbor_sample(FRAME, **given, engine="cuda")) == expected


def rows_of(frame: pd.DataFrame) -> list[tuple[int, ...]]:
    return list(frame.itertuples(index=False, name=None))


def test_long_rows_are_read_in_one_pass() -> None:
    star = pd.DataFrame({"source": range(1, 301), "destination": 0, "row": range(300), "day": 0})
    for fanout in (100, 200, 299):  # the first one by Floyd's algorithm
        expected = reference(star, [0], [fanout])
        assert rows_of(ws.neighbor_sample(star, [0], [fanout], attributes="row")) == expected
        assert len({row[-1] for row in expected}) == fanout
    with emulated():
        assert rows_of(
            ws.neighbor_sample(star, [0], [299], attributes="row", engine="cuda")
        ) == expected  # fmt: skip


@pytest.mark.parametrize(("fanout", "threshold"), [(2, 27.9), (4, 18.5)])
def test_every_set_of_edges_is_equally_likely(fanout: int, threshold: float) -> None:
    times = 6000
    star = pd.DataFrame({"source": range(1, 6), "destination": 0})
    sample = ws.neighbor_sample(star, [0] * times, [fanout], batches=range(times), seed=4)
    sets = Counter(sample.groupby("batch").source.agg(tuple))
    every = list(combinations(range(1, 6), fanout))
    assert set(sets) == set(every)
    expected = times / len(every)
    # 99.9 % for 9 and for 4 degrees of freedom
    assert sum((count - expected) ** 2 / expected for count in sets.values()) < threshold


@pytest.mark.parametrize("replace", [False, True])
def test_edges_are_drawn_in_proportion_to_their_weights(replace: bool) -> None:
    """Against the exact probabilities of ordered draws, added up over the orders."""
    times, weights = 6000, [1.0, 2.0, 0.0, 4.0, 8.0, 1.0]
    star = pd.DataFrame({"source": range(6), "destination": 6, "weight": weights})
    sample = ws.neighbor_sample(
        star, [6] * times, [2], batches=range(times), weighted=True, replace=replace, seed=4
    )
    found = Counter(sample.groupby("batch").source.agg(lambda ends: tuple(sorted(ends))))
    exact: Counter[tuple[int, ...]] = Counter()
    for first, second in product(range(6), repeat=2):
        left = sum(weights) - (0.0 if replace else weights[first])
        if replace or first != second:
            pair = tuple(sorted((first, second)))
            exact[pair] += times * weights[first] / sum(weights) * weights[second] / left
    assert all(found[pair] == 0 for pair, expected in exact.items() if expected == 0)
    statistic = sum(
        (found[pair] - expected) ** 2 / expected for pair, expected in exact.items() if expected
    )
    # 99.9 % for 9 and for 14 degrees of freedom
    assert statistic < (36.1 if replace else 27.9)


def test_weights_that_rounding_hides_are_drawn_last() -> None:
    star = pd.DataFrame({"source": range(4), "destination": 4, "weight": [1.0, 1e20, 1.0, 1.0]})
    for engine in ("cpu", "cuda"):
        with emulated():
            sample = ws.neighbor_sample(
                star, [4] * 20, [3], batches=range(20), weighted=True, engine=engine
            )
        sets = sample.groupby("batch").source.agg(set)
        assert all(len(one) == 3 and 1 in one for one in sets)


def test_a_pass_takes_every_edge_equally_often_and_so_does_replacement() -> None:
    times, degree = 400, 70
    star = pd.DataFrame({"source": range(degree), "destination": degree})
    for given in ({"fanouts": [68]}, {"fanouts": [30], "replace": True}):
        sample = ws.neighbor_sample(star, [degree] * times, batches=range(times), seed=1, **given)
        (fanout,) = given["fanouts"]
        expected = times * fanout / degree
        left = 1.0 if "replace" in given else 1 - fanout / degree
        counts = sample.source.value_counts()
        assert len(counts) == degree
        statistic = ((counts - expected) ** 2).sum() / expected / left * (degree - 1) / degree
        assert statistic < 112  # 99.9 % for 69 degrees of freedom


def test_draws_differ_between_hops_vertices_batches_and_seeds() -> None:
    # Each vertex has the ten of the layer before as neighbours, of which it draws one.
    layers = [
        (a + 10 * hop, b + 10 * hop + 10) for hop in range(4) for a in range(10) for b in range(10)
    ]
    edges = pd.DataFrame(layers, columns=["source", "destination"])
    starts, batches = np.repeat(range(40, 50), 8), np.tile(range(8), 10)
    sample = ws.neighbor_sample(edges, starts, [1, 1, 1, 1], batches=batches)
    other = ws.neighbor_sample(edges, starts, [1], batches=batches, seed=1)
    place = sample.source % 10
    first = place[sample.hop == 0].to_numpy().reshape(8, 10)
    assert all(len(set(draws)) > 3 for draws in first)
    assert all(len(set(draws)) > 3 for draws in first.T)
    assert (first.ravel() != other.source % 10).mean() > 0.7
    # Of the vertices that two hops have in common in a batch, most draw another place.
    lines = sample.assign(place=place, vertex=sample.destination % 10).set_index(
        ["batch", "vertex"]
    )
    both = lines[lines.hop == 0].join(lines[lines.hop == 1], rsuffix="_next", how="inner")
    assert len(both) > 20
    assert (both.place != both.place_next).mean() > 0.7


def test_a_batch_is_the_same_alone_and_among_others() -> None:
    starts, batches = [0, 1, 2, 3], [9, 4, 9, 4]
    both = ws.neighbor_sample(FRAME, starts, [3, 2], batches=batches, seed=6)
    alone = ws.neighbor_sample(FRAME, [2, 0], [3, 2], batches=[9, 9], seed=6)
    pd.testing.assert_frame_equal(both[both.batch == 9].reset_index(drop=True), alone)


def test_threads_do_not_change_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    from cugraph_ws.backends.cpu.loops import sampling

    expected = ws.neighbor_sample(FRAME, range(12), [3, 3], replace=True)
    monkeypatch.setattr(sampling, "LEAST", 2)
    monkeypatch.setattr(sampling, "MOST", 4)
    pd.testing.assert_frame_equal(
        ws.neighbor_sample(FRAME, range(12), [3, 3], replace=True), expected
    )


def test_all_neighbours_are_the_ego_graph() -> None:
    sample = ws.neighbor_sample(FRAME, [3], [-1, -1], direction="out", attributes="row")
    ego = ws.ego_graph(FRAME.assign(weight=FRAME.row), 3, radius=1)
    assert set(ego.weight) <= set(sample.row)
    assert sample.row.is_unique
    sizes = FRAME.groupby("source").size()
    assert (sample.groupby("source").size() == sizes[sample.source.unique()].sort_index()).all()


def test_ids_of_text_and_of_two_columns() -> None:
    text = pd.DataFrame({"source": list("abc"), "destination": list("bcd")})
    assert ws.neighbor_sample(text, "d", [1, 1]).source.tolist() == ["c", "b"]
    names = {"source": ["source", "one"], "destination": ["destination", "two"]}
    sample = ws.neighbor_sample(text.assign(one=1, two=1), [("d", 1)], [1, 1], **names)
    assert list(sample) == [
        "batch",
        "hop",
        "source_source",
        "source_one",
        "destination_source",
        "destination_one",
    ]
    assert sample.source_source.tolist() == ["c", "b"]
    with pytest.raises(ws.InputError, match=r"starts.*'x'"):
        ws.neighbor_sample(text, ["a", "x"], [2])


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ({"starts": None}, "starts=None"),
        ({"fanouts": 3}, r"fanouts=3 must list an integer for each hop"),
        ({"fanouts": [3, -2]}, "fanouts=-2"),
        ({"fanouts": [2.5]}, "fanouts=2.5"),
        ({"replace": 1}, "replace=1"),
        ({"weighted": 1}, "weighted=1"),
        ({"weighted": True, "weight": "debt"}, "the edge from .* has the weight -1"),
        ({"direction": "both"}, "direction='both'"),
        ({"seed": -1}, "seed=-1"),
        ({"time": "day"}, "also needs before="),
        ({"before": 3}, "also needs time="),
        ({"time": "day", "before": np.nan}, "before=nan must be finite"),
        ({"time": "day", "before": "now"}, "before='now' must be a number"),
        ({"time": "day", "before": [1, 2]}, "before=2 of start 1 differs from 1 of batch 0"),
        ({"time": "hour", "before": 1}, "hour"),
        ({"batches": [0]}, "batches=.* each of the 2 starts"),
        ({"batches": [0.5, 1.5]}, "batches=.* each of the 2 starts"),
        ({"attributes": ["hop"]}, "a column 'hop' of its own"),
        ({"attributes": ["nothing"]}, "nothing"),
        ({"attributes": 1.5}, "attributes=1.5: give the name of a column"),
        ({"checkpoint": "x.parquet"}, "has no checkpoints"),
    ],
)
def test_arguments(given: dict[str, Any], error: str) -> None:
    with pytest.raises(ws.InputError, match=error):
        ws.neighbor_sample(FRAME.assign(debt=-1), **{"starts": [0, 1], "fanouts": [2], **given})
    with pytest.raises(ws.InputError, match="weighted=True: the graph has no weights"):
        ws.neighbor_sample(FRAME[["source", "destination"]], [0], [2], weighted=True)


def test_a_column_that_the_graph_lacks_is_named() -> None:
    with pytest.raises(ws.InputError, match="no edge column 'row'"):
        ws.neighbor_sample(ws.Graph(FRAME), [0], [2], attributes="row")


def test_a_sample_numbered_as_loaders_do_is_the_same_edges() -> None:
    """The recipe of `docs/site/how-to/mini-batches.md`: starts first, every vertex once, ends as places."""
    text = (Path(__file__).parents[2] / "docs/site/how-to/mini-batches.md").read_text("utf-8")
    names: dict[str, Any] = {"pd": pd}
    exec(re.findall(r"(?s)(def local.*?)\n\n\n", text)[0], names)
    starts = [4, 1]
    sample = ws.neighbor_sample(FRAME, starts, [3, 2], attributes="row", seed=1)
    node, row, col, edge = names["local"](sample, starts)
    assert node[:2].tolist() == starts
    assert node.is_unique
    assert set(node) == {*starts, *sample.source}
    ends = FRAME.iloc[edge]
    assert (node[row] == ends.source).all()
    assert (node[col] == ends.destination).all()

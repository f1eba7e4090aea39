"""Similarity of all pairs with a common neighbour: chosen, counted, refused, and in pieces that a run can stop at."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated
from shapes import build, edge_frame, random_edges
from thread_ranks import on_ranks, share
from verify import Edges

import cugraph_ws as ws
from cugraph_ws.algorithms import similar_pairs, similarity
from cugraph_ws.runtime.looks import StepAbandoned

MEASURES = ("jaccard", "overlap", "sorensen", "cosine", "adamic_adar")
DENSE = random_edges(30, 120, seed=9)
BIPARTITE = Edges(np.repeat(np.arange(40), 40), np.tile(np.arange(40, 80), 40), 80)


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with emulated(seed=1):
        yield


@pytest.fixture(params=[7, 1 << 18], ids=["in pieces", "at once"])
def entries(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    for name in ("ENTRIES", "ENTRIES_ON_DEVICE"):
        monkeypatch.setattr(similar_pairs, name, request.param)
    return int(request.param)


def star(leaves: int) -> pd.DataFrame:
    return pd.DataFrame(
        {"source": np.zeros(leaves, np.int64), "destination": np.arange(leaves) + 1}
    )


def chosen(plain: pd.DataFrame, top: int | None, at_least: float | None) -> pd.DataFrame:
    """Choose among the rows of a plain call."""
    score = plain.columns[2]
    if at_least is not None:
        plain = plain[plain[score] >= at_least]
    if top is not None:
        swapped = plain.rename(columns={"first": "second", "second": "first"})
        plain = pd.concat([plain, swapped])
        plain = plain.sort_values(["first", score, "second"], ascending=[True, False, True])
        plain = plain.groupby("first").head(top)
    return plain.reset_index(drop=True)


@pytest.mark.parametrize(
    ("measure", "engine"), [*((measure, "cpu") for measure in MEASURES), ("cosine", "cuda")]
)
def test_top_and_at_least_choose_among_all_pairs(measure: str, engine: Any, entries: int) -> None:
    run = getattr(ws, measure)
    for edges in (DENSE, Edges(np.zeros(9, np.int64), np.arange(1, 10), 10)):
        with build(edges) as graph:
            plain = run(graph, engine="cpu")
            middle = float(plain.iloc[:, 2].median())
            for top, at_least in ((1, None), (3, None), (None, middle), (2, middle), (99, 0.0)):
                found = run(graph, top=top, at_least=at_least, engine=engine)
                expected = chosen(plain, top, at_least)
                pd.testing.assert_frame_equal(found, expected, rtol=1e-12)


@pytest.mark.parametrize("engine", ["cpu", "cuda"])
def test_ranks_choose_the_same(engine: Any, entries: int) -> None:
    with build(DENSE) as graph:
        for top, at_least in ((None, None), (2, 0.3)):

            def loop() -> Any:
                return ws.Similarity("jaccard", top=top, at_least=at_least)  # noqa: B023

            expected = list(ws.run(loop(), graph).arrays.values())
            parts = on_ranks(
                3,
                lambda comm: list(
                    ws.run(loop(), share(graph, comm), engine=engine).arrays.values()
                ),
            )
            for which in (0, 1):
                found = np.concatenate([np.asarray(part[which].numbers) for part in parts])
                assert np.array_equal(found, np.asarray(expected[which].numbers))
            np.testing.assert_allclose(np.concatenate([part[2] for part in parts]), expected[2])


def test_a_vertex_whose_neighbours_have_long_rows_is_listed_in_pieces(monkeypatch: Any) -> None:
    with build(BIPARTITE) as graph:
        expected = ws.overlap(graph)
        monkeypatch.setattr(similar_pairs, "ENTRIES", 90)  # a vertex has 40 neighbours of 40
        looks: list[None] = []
        monkeypatch.setattr(similar_pairs, "look", lambda: looks.append(None))
        assert ws.overlap(graph).equals(expected)
    assert len(looks) > 80 * 20  # a batch has at most two rows


def test_arguments() -> None:
    for wrong, words in (
        ({"top": 0}, "top=0"),
        ({"top": 1.5}, "top=1.5"),
        ({"at_least": "x"}, "at_least"),
    ):
        with pytest.raises(ws.InputError, match=words):
            ws.jaccard(star(3), **wrong)
    with pytest.raises(ws.InputError, match=r"top=2 chooses among all pairs"):
        ws.jaccard(star(3), "edges", top=2)


# --- memory -----------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
def test_all_pairs_that_do_not_fit_are_refused(measure: str, monkeypatch: Any) -> None:
    """A star of 2,500 leaves has 3.1 million pairs; `top` and `at_least` are the remedies."""
    run = getattr(ws, measure)
    with ws.Graph(star(2500)) as graph:
        monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "20000000")
        monkeypatch.setattr(similar_pairs.AllPairs, "next", None)  # refused before any is listed
        with pytest.raises(
            ws.GraphMemoryError, match=r"3,123,750 or more pairs.*19\.1 MiB.*top=.*at_least="
        ):
            run(graph)
        with pytest.raises(ws.GraphMemoryError, match=r"up to 1,250,000 pairs with top=500"):
            run(graph, top=500)


def test_what_is_chosen_fits_where_all_pairs_do_not(monkeypatch: Any) -> None:
    with ws.Graph(star(600)) as graph:
        monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "2000000")
        with pytest.raises(ws.GraphMemoryError):
            ws.jaccard(graph)
        assert len(ws.jaccard(graph, top=2)) == 1200
        assert len(ws.jaccard(graph, at_least=1.5)) == 0
        with pytest.raises(ws.GraphMemoryError, match=r"pairs so far, of 72 bytes each"):
            ws.jaccard(graph, at_least=0.5)


def test_pairs_are_counted_where_bounds_do_not_decide(monkeypatch: Any) -> None:
    """40 and 40 vertices have 1,560 pairs, of which degrees tell that they are 780 to 3,160."""
    with ws.Graph(edge_frame(BIPARTITE), directed=False) as graph:
        expected = ws.jaccard(graph)
        assert len(expected) == 1560
        monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "192000")
        result = ws.run(ws.Similarity("jaccard"), graph)
        assert result.frame.equals(expected)
        assert next(iter(result.trace["direction"])) == "count"
        monkeypatch.setenv("CUGRAPH_WS_MEMORY_LIMIT", "115200")
        with pytest.raises(ws.GraphMemoryError, match=r"has 1,560 pairs, of 72 bytes"):
            ws.jaccard(graph)


# --- stops ------------------------------------------------------------------------------------


def test_a_hub_does_not_keep_a_run_from_stopping() -> None:
    """20,000 leaves have 200 million pairs, of which none are kept."""
    with ws.Graph(star(20_000)) as graph:
        ws.jaccard(graph, "edges")
        began = time.process_time()  # what else the machine does is not counted
        result = ws.run(ws.Similarity("jaccard", at_least=1.5), graph, timeout=0.3)
        assert result.stopped == "timeout"
        assert time.process_time() - began < 2


@pytest.mark.parametrize("at", [1, 2, 5])
def test_a_step_that_is_abandoned_loses_no_pairs(at: int, monkeypatch: Any, tmp_path: Any) -> None:
    path = tmp_path / "state.parquet"
    with build(DENSE) as graph:
        whole = ws.run(ws.Similarity("cosine", top=2), graph).frame
        monkeypatch.setattr(similar_pairs, "ENTRIES", 100)
        folds = []

        def fold(self: Any) -> Any:
            folds.append(None)
            if len(folds) == at:
                raise StepAbandoned("timeout")
            return compute(self)

        compute = similarity.Similarity._compute
        monkeypatch.setattr(similarity.Similarity, "_compute", fold)
        first = ws.run(ws.Similarity("cosine", top=2), graph, checkpoint=path)
        assert first.stopped == "timeout"
        assert len(first.frame) < len(whole)
        second = ws.run(ws.Similarity("cosine", top=2), graph, resume=path)
        assert second.frame.equals(whole)
        with pytest.raises(ws.InputError):
            ws.run(ws.Similarity("cosine", top=3), graph, resume=path)

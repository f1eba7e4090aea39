"""`result.plot()`: distributions, sizes of groups, and the frontier beside them."""

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import cugraph_ws as ws

mpl.use("Agg")
from matplotlib import pyplot


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


def test_a_wide_distribution_is_drawn_on_logarithmic_scales(tmp_path):
    with ws.Graph(ws.datasets.preferential_attachment(500, 2, seed=1)) as graph:
        result = ws.run(ws.PageRank, graph)
        left, right = result.plot(file=tmp_path / "ranks.svg")
        assert (left.get_xscale(), left.get_yscale()) == ("log", "log")
        ranks, share = left.lines[0].get_data()
        assert share[0] == 1
        assert share[-1] == pytest.approx(1 / 500)
        assert ranks[-1] == result.frame["pagerank"].max()
        assert left.get_title("left") == "pagerank, of 500 vertices"
        assert right.get_xlabel() == "superstep"
        assert right.get_title("left") == f"{result.iterations} supersteps: converged"
        assert (tmp_path / "ranks.svg").exists()


def test_a_narrow_distribution_is_drawn_as_steps():
    with ws.Graph(ws.datasets.karate_club(), directed=False) as graph:
        left, _ = ws.run(ws.BFS, graph, start=0).plot()
    assert left.get_yscale() == "linear"
    distances, share = left.lines[0].get_data()
    assert distances.tolist() == [0, 1, 2, 3]
    np.testing.assert_allclose(share, [1, 33 / 34, 17 / 34, 8 / 34])


@pytest.mark.parametrize(("parts", "drawn"), [(3, "bars"), (40, "points")])
def test_groups_are_drawn_by_size(parts, drawn):
    starts = np.repeat(np.arange(parts) * 100, np.arange(1, parts + 1))
    edges = pd.DataFrame({"source": starts, "destination": starts})
    edges["destination"] += 1 + edges.groupby("source").cumcount()
    with ws.Graph(edges) as graph:
        left, _ = ws.run(ws.WeaklyConnectedComponents(), graph).plot()
    sizes = list(range(parts + 1, 1, -1))
    heights = [bar.get_height() for bar in left.patches] or left.lines[0].get_ydata().tolist()
    assert heights == sizes
    assert bool(left.patches) == (drawn == "bars")
    assert left.get_title("left") == f"labels: {parts} groups"


def test_a_column_may_be_chosen():
    with ws.Graph(ws.datasets.karate_club(), directed=False) as graph:
        result = ws.run(ws.BFS, graph, start=0, predecessors=True)
        assert result.plot("predecessor")[0].get_title("left").startswith("predecessor: ")
        with pytest.raises(
            ws.InputError, match="column='rank': the result has no such column; it has: 'dist"
        ):
            result.plot("rank")

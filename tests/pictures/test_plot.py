"""Pictures of graphs: what is drawn where, and labels that do not overlap."""

import itertools
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

import cugraph_ws as ws
from cugraph_ws.pictures import plot as plots
from cugraph_ws.pictures import style

mpl.use("Agg")
from matplotlib import pyplot
from matplotlib.collections import EllipseCollection, LineCollection, PathCollection


@pytest.fixture(autouse=True)
def _closed_figures():
    yield
    pyplot.close("all")


@pytest.fixture(scope="module")
def club():
    with ws.Graph(ws.datasets.karate_club(), directed=False) as graph:
        yield graph


def drawn(axes, kind):
    return [artist for artist in axes.collections if type(artist) is kind]


def legend(axes):
    return [text.get_text() for text in axes.get_legend().get_texts()]


def test_vertices_and_edges_are_where_the_layout_says(club):
    places = club.layout()
    axes = club.plot(places)
    [lines], [points] = drawn(axes, LineCollection), drawn(axes, PathCollection)
    np.testing.assert_allclose(points.get_offsets(), places[["x", "y"]])
    ends = sorted(tuple(map(tuple, line)) for line in lines.get_segments())
    where = list(places[["x", "y"]].itertuples(index=False, name=None))
    pairs = ws.datasets.karate_club()[["source", "destination"]].itertuples(index=False)
    assert len(ends) == 78
    np.testing.assert_allclose(ends, sorted((where[source], where[end]) for source, end in pairs))


def test_groups_have_colours_and_a_legend(club):
    axes = club.plot(club.layout(), colour=ws.datasets.karate_factions(), size=club.pagerank())
    assert legend(axes) == ["Mr. Hi", "Officer"]
    assert axes.get_legend().get_title().get_text() == "faction"
    areas = np.concatenate([points.get_sizes() for points in drawn(axes, PathCollection)])
    assert areas.max() > 5 * areas.min()


def test_the_largest_groups_have_colours_of_their_own(club):
    axes = club.plot(club.layout(), colour=np.arange(34) % 10)
    assert legend(axes) == [*"0123456"[:7], "3 more"]


def test_floats_are_a_scale(club):
    distance = club.bfs(0).astype({"distance": float})
    axes = club.plot(club.layout(), colour=distance[["vertex", "distance"]])
    assert [other.get_ylabel() for other in axes.figure.axes[1:]] == ["distance"]


def test_labels_do_not_overlap(club):
    axes = club.plot(club.layout(), labels=[f"member {number}" for number in range(34)])
    boxes = [text.get_window_extent() for text in axes.texts]
    assert 10 < len(boxes) <= 34
    for one, two in itertools.combinations(boxes, 2):
        assert not one.overlaps(two), (one, two)


def test_a_map_has_a_disc_for_each_community_named_by_its_top_vertex():
    edges = ws.datasets.circles()
    axes = ws.plot(edges)
    [discs] = drawn(axes, EllipseCollection)
    communities, _ = ws.leiden(edges)
    sizes = communities["partition"].value_counts()
    assert axes.get_title("left") == f"{len(sizes)} communities of 340 vertices"
    widths = np.sort(discs._widths * 2)  # half of them are kept
    np.testing.assert_allclose(widths / widths[-1], np.sqrt(np.sort(sizes) / sizes.max()))
    degrees = ws.degree(edges, directed=False).merge(communities)
    tops = degrees.sort_values(["degree", "vertex"], ascending=[False, True]).drop_duplicates(
        "partition"
    )
    assert sorted(text.get_text() for text in axes.texts) == sorted(map(str, tops["vertex"]))


def test_many_edges_are_a_density(club, monkeypatch):
    monkeypatch.setattr(plots, "SHADED", 10)
    monkeypatch.setattr(plots, "SAMPLES", 1000)  # several pieces
    places = club.layout()
    axes = club.plot(places)
    assert not drawn(axes, LineCollection)
    [image] = axes.images
    counts = image.get_array().filled(0)
    left, right, bottom, _ = image.get_extent()
    pixel = (right - left) / counts.shape[1]
    for start, end in ws.datasets.karate_club()[["source", "destination"]].to_numpy():
        middle = (places.loc[start, ["x", "y"]] + places.loc[end, ["x", "y"]]) / 2
        row, column = int((middle["y"] - bottom) / pixel), int((middle["x"] - left) / pixel)
        assert counts[row - 1 : row + 2, column - 1 : column + 2].any()
    assert (counts > 0).mean() < 0.1


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_files(club, tmp_path, suffix):
    start = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}[suffix]
    file = tmp_path / f"club.{suffix}"
    club.plot(file=file)
    assert file.read_bytes().startswith(start)


def test_edge_frames_name_their_columns():
    axes = ws.datasets.southern_women().ws.plot(source="woman", destination="event")
    assert axes.get_title("left").endswith("communities of 32 vertices")


def test_groups_are_ordered_by_number_where_they_are_as_large(club):
    axes = club.plot(club.layout(), colour=10 * (np.arange(34) % 2) + 2)
    assert legend(axes) == ["2", "12"]


def test_the_least_graphs():
    empty = pd.DataFrame({"source": np.zeros(0, np.int64), "destination": np.zeros(0, np.int64)})
    single = pd.DataFrame({"source": [4], "destination": [4]})
    for edges in (empty, single):
        with ws.Graph(edges) as graph:
            graph.plot()
            graph.plot(graph.layout())


def test_errors(club, monkeypatch, tmp_path):
    with pytest.raises(
        ws.InputError, match=r"file is 'club.xls': end it in one of .png, .svg, .pdf"
    ):
        club.plot(file="club.xls")
    dask = pytest.importorskip("dask.dataframe")
    with pytest.raises(ws.InputError, match=r"plot\(\) draws graphs of one machine"):
        ws.plot(dask.from_pandas(ws.datasets.circles(), npartitions=1))
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ws.InputError, match=r"plot\(\) needs matplotlib.pyplot; run pip install"):
        club.plot()


def test_shares():
    distinct, at_least = style.shares(np.array([3, 1, 1, 2]))
    assert distinct.tolist() == [1, 2, 3]
    assert at_least.tolist() == [1, 0.5, 0.25]

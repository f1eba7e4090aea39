"""`graph.plot()`: a graph as points and lines, or as a map of its communities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.leiden import leiden
from cugraph_ws.algorithms.options import Columns
from cugraph_ws.errors import InputError
from cugraph_ws.execution.keywords import takes_names_of_others
from cugraph_ws.frames.conversions import to_arrow
from cugraph_ws.graph.graph import Graph
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.labels import read_labels
from cugraph_ws.pictures import style
from cugraph_ws.pictures.forces import positions
from cugraph_ws.pictures.layout import graph_to_draw, neighbour_rows
from cugraph_ws.pictures.values import coordinates, values_of

__all__ = ["plot"]

Array = npt.NDArray[Any]

SHADED = 100_000  # edges above which they are a density, not lines
PIXELS = 900  # of a density, along a side
SAMPLES = 1 << 22  # points of edges counted at a time
COMMUNITIES = 40  # most that a map shows
NAMED = 25  # most vertices whose names a picture shows


@takes_names_of_others
def plot(
    graph: Graph[Any] | Any,
    layout: Any = None,
    *,
    colour: Any = None,
    size: Any = None,
    labels: Any = None,
    file: str | Path | None = None,
    axes: Any = None,
    seed: int = 0,
    source: Columns = "source",
    destination: Columns = "destination",
    directed: bool = True,
) -> Any:
    """Draw the graph; without a layout, a map of its communities.

    A map has a disc for each of the largest communities that `leiden` finds, with an area in proportion to its
    vertices and the name of its vertex of highest degree; lines are as wide as there are edges.  A graph of more
    than 100,000 edges is drawn as a density.

    Parameters
    ----------
    graph : Graph or DataFrame
        The graph, or an edge frame; not one on a cluster.
    layout : DataFrame, optional
        Ids, x and y, as `graph.layout()` returns.
    colour : frame, mapping, str or sequence, optional
        A value for each vertex: a frame of ids, whose first other column is taken; a mapping from ids; the
        name of a column of `graph.vertices`; or an array by row of `graph.vertices`.  Floats are a scale,
        integers and text are groups, of which the seven largest have a colour of their own.
    size : frame, mapping, str or sequence, optional
        Likewise, numbers of 0 or more: the area of each vertex in proportion to the largest.
    labels : frame, mapping, str or sequence, optional
        Likewise, the text of each vertex.  By default the ids, if there are at most 25 vertices.  Labels that
        would cover another are left out, those of vertices of low degree first.
    file : path, optional
        Where to save the picture: .png, .svg or .pdf.
    axes : matplotlib Axes, optional
        Where to draw; axes of a new figure if not given.
    seed : int
        Of the map's layout.
    source, destination : str or list of str
        Id columns of an edge frame.
    directed : bool
        How an edge frame is read; it does not change the picture.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    InputError
        If Matplotlib is not installed, the graph is on a cluster, or an argument is invalid.

    Examples
    --------
    >>> import cugraph_ws as ws
    >>> graph = ws.Graph(ws.datasets.karate_club(), directed=False)
    >>> axes = graph.plot(graph.layout(), colour=ws.datasets.karate_factions(), size=graph.pagerank())
    """
    opened = graph_to_draw("plot", graph, source=source, destination=destination, directed=directed)
    if axes is None:
        axes = style.new_axes("plot()")
    axes.set_aspect("equal")
    axes.set_axis_off()
    if layout is None:
        for name, value in (("colour", colour), ("size", size), ("labels", labels)):
            if value is not None:
                raise InputError(
                    f"{name}= is of vertices, and a map of communities has none; give layout=graph.layout()"
                )
        _draw_map(axes, opened, seed)
    else:
        _draw(axes, opened, coordinates(opened, layout), colour, size, labels)
    style.save(axes, file)
    return axes


def _draw(
    axes: Any, graph: GraphView[Any], laid: Array, colour: Any, size: Any, labels: Any
) -> None:
    """Draw vertices and edges."""
    rows = neighbour_rows(graph)
    degrees, count = np.diff(rows.offsets), len(laid)
    starts = np.repeat(np.arange(count), degrees)
    once = starts < rows.indices
    ends = np.stack([starts[once], rows.indices[once]], axis=1)
    largest = np.clip(60_000 / max(count, 1), 2, 160)
    areas = np.full(count, largest / 2)
    if size is not None:
        values = np.nan_to_num(np.asarray(values_of(graph, size, "size"), np.float64)).clip(0)
        areas = largest * (0.05 + 0.95 * values / max(values.max(initial=0), 1e-300))
    _frame(axes, laid)
    if len(ends) > SHADED:
        _shade(axes, laid, ends)
    else:
        from matplotlib.collections import LineCollection

        alpha = float(np.clip(800 / max(len(ends), 1), 0.1, 0.6))
        width = 0.8 if len(ends) < 10_000 else 0.3
        axes.add_collection(
            LineCollection(laid[ends], colors="#888888", alpha=alpha, linewidths=width, zorder=1)
        )
    _draw_vertices(axes, graph, laid, areas, colour)
    if labels is None and count <= NAMED:
        texts: Any = _names(graph)
    elif labels is None:
        return
    else:
        texts = values_of(graph, labels, "labels")
    order = np.argsort(-degrees, kind="stable")[: 4 * NAMED]
    named = [place for place in order.tolist() if texts[place] is not None]
    radii = np.sqrt(areas[named]) / 2
    style.write_labels(axes, laid[named], [str(texts[place]) for place in named], radii)


def _draw_vertices(
    axes: Any, graph: GraphView[Any], laid: Array, areas: Array, colour: Any
) -> None:
    """Draw the vertices, with a legend of groups or a bar of the scale."""
    edge = {"linewidths": 0.4 if len(laid) <= 2000 else 0, "edgecolors": "white", "zorder": 2}
    many = {"rasterized": len(laid) > 2000}  # in an SVG
    if colour is None:
        axes.scatter(*laid.T, areas, style.COLOURS[0], **edge, **many)
        return
    values = values_of(graph, colour, "colour")
    if values.dtype.kind == "f":
        known = np.isfinite(values)
        axes.scatter(*laid[~known].T, areas[~known], "#dddddd", **edge, **many)
        order = np.flatnonzero(known)[np.argsort(values[known], kind="stable")]  # high ones on top
        drawn = axes.scatter(
            *laid[order].T, areas[order], values[order], cmap=style.SCALE, **edge, **many
        )
        axes.figure.colorbar(drawn, ax=axes, shrink=0.6, label=_title(colour))
        return
    if values.dtype == object:  # numbers keep their order
        values = np.array([str(value) for value in values], object)
    groups, members = np.unique(values, return_inverse=True)
    sizes = np.bincount(members)
    ranked = np.argsort(-sizes, kind="stable")
    shown = ranked if len(ranked) <= len(style.COLOURS) else ranked[: len(style.COLOURS)]
    rest = ~np.isin(members, shown)
    for group, paint in zip(shown, style.COLOURS, strict=False):
        chosen = members == group
        axes.scatter(
            *laid[chosen].T, areas[chosen], paint, label=str(groups[group]), **edge, **many
        )
    if rest.any():
        more = f"{len(groups) - len(shown):,} more"
        below = edge | {"zorder": 1.9}
        axes.scatter(*laid[rest].T, areas[rest], style.GREY, label=more, **below, **many)
    legend = axes.legend(title=_title(colour), frameon=False, fontsize=8, title_fontsize=8,
                         loc="upper left", bbox_to_anchor=(1.0, 1.0))  # fmt: skip
    for handle in legend.legend_handles:
        handle.set_sizes([30])


def _draw_map(axes: Any, graph: GraphView[Any], seed: int) -> None:
    """Draw the graph of communities."""
    communities, _ = leiden(graph)
    codes = np.asarray(read_labels(graph, communities, "labels")[0])[: graph.owned]
    codes = np.unique(codes, return_inverse=True)[1]
    sizes = np.bincount(codes)
    ranked = np.argsort(-sizes, kind="stable")[:COMMUNITIES]
    place = np.full(len(sizes), -1)
    place[ranked] = np.arange(len(ranked))
    rows = neighbour_rows(graph)
    degrees = np.diff(rows.offsets)
    pairs = np.stack([np.repeat(place[codes], degrees), place[codes[rows.indices]]])
    pairs = pairs[:, (pairs >= 0).all(axis=0) & (pairs[0] != pairs[1])]
    keys, counts = np.unique(pairs[0] * len(ranked) + pairs[1], return_counts=True)
    starts, ends = keys // len(ranked), keys % len(ranked)
    offsets = np.concatenate([[0], np.cumsum(np.bincount(starts, minlength=len(ranked)))])
    radii = np.sqrt(sizes[ranked] / sizes.max(initial=1))
    laid = _apart(positions(offsets, ends, 200, seed), radii)
    _frame(axes, np.concatenate([laid - radii[:, None], laid + radii[:, None]]))
    axes.figure.draw_without_rendering()
    points = np.diff(axes.transData.transform([(0, 0), (1, 0)])[:, 0])[0] * 72 / axes.figure.dpi
    from matplotlib.collections import EllipseCollection, LineCollection

    once = starts < ends
    widest = float(np.clip(240 / max(len(keys), 1), 1, 6))  # lines, not a carpet
    widths = 0.4 + widest * counts[once] / counts.max(initial=1)
    lines = laid[np.stack([starts[once], ends[once]], axis=1)]
    axes.add_collection(LineCollection(lines, colors="#bbbbbb", linewidths=widths, zorder=1))
    paints = [style.COLOURS[number % len(style.COLOURS)] for number in range(len(ranked))]
    axes.add_collection(
        EllipseCollection(
            2 * radii, 2 * radii, np.zeros(len(radii)), units="xy", offsets=laid, facecolors=paints,
            offset_transform=axes.transData, edgecolors="white", linewidths=0.8, zorder=2,
        )
    )  # fmt: skip
    by_degree = np.lexsort((np.arange(len(codes)), -degrees))
    top = by_degree[np.unique(codes[by_degree], return_index=True)[1]]  # of each community
    names = _names(graph)
    style.write_labels(axes, laid, [str(names[vertex]) for vertex in top[ranked]], radii * points)
    more = f"{len(ranked)} largest of " if len(sizes) > len(ranked) else ""
    title = f"{more}{len(sizes):,} communities of {graph.number_of_vertices:,} vertices"
    axes.set_title(title, loc="left", fontsize=9)


def _apart(laid: Array, radii: Array) -> Array:
    """Scale positions so that discs hardly overlap, then push overlapping ones apart."""
    if len(laid) < 2:
        return laid
    laid = laid * 2.2 * np.sqrt((radii**2).mean())
    upper = np.triu_indices(len(laid), 1)
    for _ in range(200):
        apart = laid[upper[0]] - laid[upper[1]]
        distance = np.maximum(np.linalg.norm(apart, axis=1), 1e-9)
        lacking = np.maximum(1.1 * (radii[upper[0]] + radii[upper[1]]) - distance, 0)
        if not lacking.any():
            break
        shift = apart * (lacking / distance / 2)[:, None]
        for axis in range(2):
            laid[:, axis] += np.bincount(upper[0], shift[:, axis], len(laid)) / 2
            laid[:, axis] -= np.bincount(upper[1], shift[:, axis], len(laid)) / 2
    return laid


def _frame(axes: Any, laid: Array) -> None:
    """Set the limits of axes to those of the positions."""
    low, high = (laid.min(axis=0), laid.max(axis=0)) if len(laid) else (np.zeros(2), np.ones(2))
    margin = 0.06 * float((high - low).max(initial=0)) + 1e-3
    axes.set_xlim(low[0] - margin, high[0] + margin)
    axes.set_ylim(low[1] - margin, high[1] + margin)


def _shade(axes: Any, laid: Array, ends: Array) -> None:
    """Draw how many edges cross each pixel, on a logarithmic scale."""
    from matplotlib.colors import LogNorm

    left, right = axes.get_xlim()
    bottom, top = axes.get_ylim()
    pixel = max(right - left, top - bottom) / PIXELS
    shape = max(int((top - bottom) / pixel), 1), max(int((right - left) / pixel), 1)
    density = np.zeros(shape[0] * shape[1])
    steps = (
        np.ceil(np.abs(laid[ends[:, 0]] - laid[ends[:, 1]]).max(axis=1) / pixel).astype(np.int64)
        + 1
    )
    limits = np.concatenate([[0], np.cumsum(steps)])
    first = 0
    while first < len(ends):
        last = max(
            int(np.searchsorted(limits, limits[first] + SAMPLES, side="right")) - 1, first + 1
        )
        edge = np.repeat(np.arange(first, last), steps[first:last])
        along = (np.arange(limits[first], limits[last]) - limits[edge] + 0.5) / steps[edge]
        points = laid[ends[edge, 0]] * (1 - along)[:, None] + laid[ends[edge, 1]] * along[:, None]
        column = ((points[:, 0] - left) / pixel).astype(np.int64).clip(0, shape[1] - 1)
        row = ((points[:, 1] - bottom) / pixel).astype(np.int64).clip(0, shape[0] - 1)
        density += np.bincount(row * shape[1] + column, minlength=len(density))
        first = last
    image = np.ma.masked_equal(density.reshape(shape), 0)
    norm = LogNorm(1, max(float(density.max(initial=0)), 2) ** 1.6)  # no darker than grey
    axes.imshow(image, cmap="Greys", norm=norm, origin="lower", alpha=0.8, zorder=1,
                extent=(left, right, bottom, top), interpolation="nearest")  # fmt: skip


def _names(graph: GraphView[Any]) -> list[str]:
    """Return the ids of the vertices as text."""
    table = to_arrow(graph.vertices).select(graph._vertices.names)
    columns = [[str(value) for value in column.to_pylist()] for column in table.columns]
    return [" ".join(row) for row in zip(*columns, strict=True)]


def _title(data: Any) -> str:
    """Return the name of the column that `values_of` takes."""
    if isinstance(data, str):
        return data
    columns = [str(name) for name in getattr(data, "columns", [])]
    return columns[1] if len(columns) == 2 else ""

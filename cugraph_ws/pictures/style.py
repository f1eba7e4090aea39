"""What all pictures share: colours that everyone can tell apart, figures, and labels that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import shown
from cugraph_ws.errors import FileError, InputError
from cugraph_ws.execution import trace
from cugraph_ws.runtime.extras import import_optional, install_command

__all__ = ["COLOURS", "GREY", "SCALE", "new_axes", "plain", "save", "shares", "write_labels"]

COLOURS = (
    *trace.COLOURS,
    "#F0E442",
)  # Okabe's and Ito's without black; then grey for everything else
GREY = "#999999"
SCALE = "viridis"
LARGE = 10  # points: the radius of a disc that may be written on
SUFFIXES = (".png", ".svg", ".pdf")


def new_axes(what: str, columns: int = 1, size: tuple[float, float] = (7.0, 6.0)) -> Any:
    """Return the axes of a new figure, which notebooks show.

    Parameters
    ----------
    what : str
        What draws, for the error.
    columns : int
        Number of axes side by side.
    size : pair of float
        Of the figure, in inches.

    Returns
    -------
    matplotlib Axes, or ndarray of Axes

    Raises
    ------
    InputError
        If Matplotlib is not installed.
    """
    pyplot = import_optional("matplotlib.pyplot", what, f"run {install_command('plot')}")
    return pyplot.subplots(1, columns, figsize=size, layout="constrained")[1]


def plain(axes: Any, title: str = "") -> None:
    """Draw a light grid, and the axes' left and lower lines alone.

    Parameters
    ----------
    axes : matplotlib Axes
    title : str
    """
    axes.set_axisbelow(True)
    axes.grid(color="#dddddd", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(title, loc="left", fontweight="bold", fontsize=10)


def save(axes: Any, file: str | Path | None) -> None:
    """Write the figure of axes to a file, if one is given.

    Parameters
    ----------
    axes : matplotlib Axes
    file : path or None
        Its suffix is the format: .png, .svg or .pdf.

    Raises
    ------
    InputError
        If the suffix is another.
    FileError
        If the file cannot be written.
    """
    if file is None:
        return
    if Path(file).suffix.lower() not in SUFFIXES:
        raise InputError(f"file is {shown(str(file))}: end it in one of {', '.join(SUFFIXES)}")
    try:
        axes.figure.savefig(file, dpi=150, bbox_inches="tight")
    except OSError as error:
        raise FileError(
            f"file={shown(str(file))} cannot be written ({error.strerror}); give a file in a writable folder"
        ) from error


def write_labels(
    axes: Any, places: npt.NDArray[Any], texts: Sequence[str], radii: npt.NDArray[Any]
) -> int:
    """Write texts beside places, the first ones first; leave out what would cover another label.

    Parameters
    ----------
    axes : matplotlib Axes
        Its limits must not change any more.
    places : ndarray, shape (labels, 2)
        In the data's coordinates.
    texts : sequence of str
    radii : ndarray, shape (labels,)
        Of the discs at the places, in points.

    Returns
    -------
    int
        Number of labels that were written.
    """
    from matplotlib import patheffects

    figure = axes.figure
    figure.draw_without_rendering()
    renderer, frame = figure.canvas.get_renderer(), axes.get_window_extent()
    covered: list[Any] = []
    outline = [patheffects.withStroke(linewidth=2.5, foreground="white")]
    for place, text, radius in zip(places, texts, radii, strict=True):
        gap = radius + 2
        beside = [
            ((gap, 0), "left", "center"), ((0, gap), "center", "bottom"), ((0, -gap), "center", "top"),
            ((-gap, 0), "right", "center"),
        ]  # fmt: skip
        within = [((0, 0), "center", "center")] if radius >= LARGE else []
        for offset, across, up in within + beside:
            label = axes.annotate(
                text, place, offset, textcoords="offset points", ha=across, va=up, fontsize=8,
                path_effects=outline, annotation_clip=False, zorder=5,
            )  # fmt: skip
            box = label.get_window_extent(renderer).padded(1)
            inside = (
                frame.x0 <= box.x0
                and box.x1 <= frame.x1
                and frame.y0 <= box.y0
                and box.y1 <= frame.y1
            )
            if inside and not any(box.overlaps(taken) for taken in covered):
                covered.append(box)
                break
            label.remove()
    figure.draw_without_rendering()
    return len(covered)


def shares(values: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the distinct values, ascending, and the share of all that are at least as large.

    Parameters
    ----------
    values : ndarray

    Returns
    -------
    distinct, at_least : ndarray
    """
    distinct, counts = np.unique(values, return_counts=True)
    return distinct, counts[::-1].cumsum()[::-1] / len(values)

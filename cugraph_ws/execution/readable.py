"""`ReadableResult`: what people try first at the result of a run, here and on a cluster."""

from __future__ import annotations

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from cugraph_ws.arguments import listed
from cugraph_ws.errors import InputError
from cugraph_ws.frames import conversions
from cugraph_ws.frames.base import is_dask_frame
from cugraph_ws.graph.methods import table_of
from cugraph_ws.runtime.dispatch import provider
from cugraph_ws.suggestions import did_you_mean

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["ReadableResult"]

FRAME_CLASSES = (
    ("pandas", "DataFrame"),
    ("polars", "DataFrame"),
    ("cudf", "DataFrame"),
    ("pyarrow", "Table"),
    ("dask.dataframe", "DataFrame"),
)
ROWS = 5  # of a result's frame, in notebooks


# Members of a result, by what else they are called
OF_RESULTS = {
    "convergence": "converged",
    "has_converged": "converged",
    "history": "trace",
    "n_iter": "iterations",
    "n_iter_": "iterations",
    "num_iterations": "iterations",
    "reason": "stopped",
    "state": "frame",
    "supersteps": "iterations",
    "vertices": "frame",
}


def _frame_classes() -> list[Any]:
    """Return the classes of frames of the libraries that are loaded."""
    loaded = [(sys.modules.get(name), kind) for name, kind in FRAME_CLASSES]
    return [getattr(library, kind) for library, kind in loaded if hasattr(library, kind)]


class ReadableResult:
    """The rows of a result's frame: first ones, columns, and as frames of other libraries."""

    iterations: int
    residual: float
    stopped: str
    frame: Any

    def head(self, n: int = ROWS) -> Any:
        """Return the first rows of the frame.

        Parameters
        ----------
        n : int

        Returns
        -------
        DataFrame or Table
            Of the kind of the frame; of a Dask frame, of its partitions' kind.
        """
        frame = self.frame
        return frame.slice(0, n) if isinstance(frame, pa.Table) else frame.head(n)

    __iter__ = None  # a result is no sequence of rows

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            remedy = f"; its rows are a frame: result.frame.{name}"
            if name in self.__dict__.get("arrays", {}):
                remedy = f"; its columns are items: result[{name!r}]"
            elif near := difflib.get_close_matches(name, self.__dict__.get("arrays", {}), 1):
                remedy = f"; did you mean result[{near[0]!r}]?"
            elif not any(hasattr(library, name) for library in _frame_classes()):
                own = [one for one in (*vars(self), *dir(type(self))) if not one.startswith("_")]
                remedy = did_you_mean(OF_RESULTS.get(name, name), own, "result.")
            raise AttributeError(f"a result has no {name!r}{remedy}", name=name)

    def __getitem__(self, column: Any) -> Any:
        """Return a column of the frame, or a frame of several."""
        frame = self.frame
        names = list(getattr(frame, "column_names", frame.columns))
        if isinstance(column, str | int) and column not in names:
            raise InputError(
                f"the result has no column {column!r}; its columns are {listed(names)}"
            )
        if isinstance(column, list) and (lacking := [one for one in column if one not in names]):
            raise InputError(
                f"the result has no column {listed(lacking)}; its columns are {listed(names)}"
            )
        several = isinstance(column, list) and isinstance(frame, pa.Table)
        return frame.select(column) if several else frame[column]

    def to_pandas(self) -> pd.DataFrame:
        """Return the frame as one of pandas; a Dask frame's partitions are brought together here."""
        return conversions.to_pandas(self.frame)

    def to_polars(self) -> pl.DataFrame:
        """Return the frame as one of Polars; a Dask frame's partitions are brought together here."""
        return conversions.to_polars(self.frame)

    def to_arrow(self) -> pa.Table:
        """Return the frame as an Arrow table; a Dask frame's partitions are brought together here."""
        return conversions.to_arrow(self.frame)

    def to_cudf(self) -> Any:
        """Return the frame as one of cuDF; a Dask frame's partitions are brought together here."""
        return conversions.to_cudf(self.frame)

    def plot(self, column: str | None = None, file: str | Path | None = None) -> Any:
        """Draw how the values of a column are distributed, beside the frontier of each superstep.

        Numbers are drawn as the share of vertices that have at least each value, on logarithmic scales if they
        differ much; ids, text, and columns such as `labels` and `partition` as the sizes of groups.

        Parameters
        ----------
        column : str, optional
            By default the first column beside the ids.
        file : path, optional
            Where to save the picture: .png, .svg or .pdf.

        Returns
        -------
        ndarray of two matplotlib Axes

        Raises
        ------
        InputError
            If Matplotlib is not installed, there is no such column, or the frame is on a cluster.
        """
        return provider("pictures of results").plot_result(self, column, file)

    def _repr_html_(self) -> str:
        facts = {
            "ended by": self.stopped,
            "supersteps": f"{self.iterations:,}",
            "residual": f"{self.residual:.3g}",
        }
        if self.residual != self.residual:  # the program has none
            del facts["residual"]
        title = "Result"
        if is_dask_frame(self.frame):  # nothing is computed to show it
            return table_of(title, {**facts, "columns": ", ".join(map(str, self.frame.columns))})
        rows = conversions.to_pandas(self.head())
        return table_of(title, facts) + str(rows.to_html(index=False))

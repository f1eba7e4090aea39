"""A stand-in for cuDF, made of pandas: what this library uses of it, on machines without a GPU.

Together with the emulated device, whose arrays are NumPy's, whole graphs are made of "cuDF" frames.
Where cuDF and pandas differ it does as cuDF: integers keep their type beside nulls, a NaN is no null
unless asked for, host copies are made by `to_arrow` alone, and that counts them.
"""

import contextlib
import sys
import types

import numpy as np
import pandas as pd
import pyarrow as pa

__all__ = ["DataFrame", "Series", "installed"]


class Times:
    """What a column of times has at `.dt`."""

    def __init__(self, series):
        self._times = pd.Series(series).dt

    def tz_localize(self, zone):
        return Series(self._times.tz_localize(zone))

    def tz_convert(self, zone):
        return Series(self._times.tz_convert(zone))


class Series(pd.Series):
    """A column."""

    dt = property(Times)

    copies = 0

    def __init__(self, data=None, *args, nan_as_null=True, **options):
        super().__init__(data, *args, **options)

    @property
    def _constructor(self):
        return Series

    @property
    def _constructor_expanddim(self):
        return DataFrame

    @classmethod
    def from_arrow(cls, array):
        if array.null_count and pa.types.is_integer(array.type):
            return cls(array.fill_null(0).to_numpy()).where(array.is_valid().to_numpy(False))
        return cls(array.to_pandas())

    @property
    def null_count(self):
        if isinstance(self.dtype, np.dtype) and self.dtype.kind == "f":
            return 0
        return int(self.isna().sum())

    def to_arrow(self):
        Series.copies += len(self) > 1
        return pa.Array.from_pandas(pd.Series(self))

    def where(self, cond, other=None):
        kept = self
        if isinstance(self.dtype, np.dtype) and self.dtype.kind in "iub":
            name = self.dtype.name  # pandas has other types for integers with nulls
            kept = self.astype(
                "boolean" if name == "bool" else name.replace("i", "I").replace("uI", "UI")
            )
        return pd.Series.where(kept, cond)

    def hash_values(self, method):
        assert method == "xxhash64"
        return Series(pd.util.hash_array(self.to_numpy(object)))

    def to_pylibcudf(self):
        return Bare(self), {}

    @classmethod
    def from_pylibcudf(cls, column):
        return column.series

    def tolist(self):
        raise TypeError("cuDF does not support conversion to host memory")

    to_list = tolist


class Bare:
    """A column as libcudf has it; a mask is a bit for each row, in pieces of 64 bytes."""

    def __init__(self, series):
        self.series = series

    @classmethod
    def from_cuda_array_interface(cls, values):
        assert len(values)
        assert values.flags.c_contiguous
        return cls(Series(values, copy=False))  # cuDF takes the memory as it is

    def with_mask(self, mask, nulls):
        if mask is None:
            assert nulls == 0
            return Bare(self.series.where(np.ones(len(self.series), np.bool_)))
        assert len(mask) == -(-len(self.series) // 512) * 64
        valid = np.unpackbits(mask, bitorder="little", count=len(self.series)).astype(np.bool_)
        assert nulls == np.count_nonzero(~valid)
        return Bare(self.series.where(valid))


class DataFrame(pd.DataFrame):
    """A frame."""

    @property
    def _constructor(self):
        return DataFrame

    @property
    def _constructor_sliced(self):
        return Series

    @classmethod
    def from_pandas(cls, frame):
        return cls(frame)

    @classmethod
    def from_arrow(cls, table):
        return cls(table.to_pandas())

    @classmethod
    def from_pylibcudf(cls, table, metadata):
        series = [column.series for column in table]
        return cls(dict(zip(metadata["columns"], series, strict=True)), copy=False)

    def to_arrow(self, preserve_index=True):
        Series.copies += 1
        return pa.Table.from_pandas(pd.DataFrame(self), preserve_index=preserve_index)


Series.__module__ = DataFrame.__module__ = "cudf.core.stand_in"


@contextlib.contextmanager
def installed():
    """Let `import cudf` give the stand-in."""
    module = types.ModuleType("cudf")
    module.DataFrame, module.Series = DataFrame, Series
    module.CategoricalDtype = pd.CategoricalDtype
    module.concat = lambda parts, ignore_index: Series(pd.concat(parts, ignore_index=ignore_index))
    module.option_context = lambda *options: contextlib.nullcontext()
    bare = types.ModuleType("pylibcudf")
    bare.gpumemoryview, bare.Table, bare.Column = np.asarray, list, Bare
    Series.copies = 0
    stand_ins = {"cudf": module, "pylibcudf": bare}
    before = {name: sys.modules.get(name) for name in stand_ins}
    sys.modules.update(stand_ins)
    try:
        yield module
    finally:
        for name, usual in before.items():
            del sys.modules[name]
            if usual is not None:
                sys.modules[name] = usual

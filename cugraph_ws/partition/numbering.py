"""Numbering of vertex ids that are partitioned across ranks.

Every rank finds its distinct ids and sends each to the rank whose id range contains it, which
returns the number.  If integers nearly fill their range, the ranks' id ranges are equal parts of
it.  Otherwise id ranges are bounded by splitters sampled from the ids of all ranks.  When the
owners of vertices have been chosen, ids are sent to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from cugraph_ws.graph.numbering import (
    DenseIntegers,
    IdValues,
    Numbered,
    SortedIntegers,
    SortedText,
    check_pairs,
    number_values,
)
from cugraph_ws.partition import id_encoding
from cugraph_ws.partition.id_encoding import Form, Values
from cugraph_ws.partition.identities import Distinct, IdRange, Pairs, SortedRun
from cugraph_ws.runtime.communicator import Communicator, total

__all__ = ["NumberedRows", "number_partitioned_rows"]

Numbers = npt.NDArray[np.int64]

_INT64_MAX = np.iinfo(np.int64).max
_SAMPLES = 256  # distinct ids sampled for each range; sizes of ranges then differ by a few per cent


@dataclass
class NumberedRows:
    """Vertex numbers of one rank's columns of ids.

    Attributes
    ----------
    columns : list of ndarray of int64
        The numbers of each column's rows.
    ids : Distinct
        All ids, partitioned across ranks.
    """

    columns: list[Numbers]
    ids: Distinct


def number_partitioned_rows(
    comm: Communicator,
    columns: Sequence[Sequence[IdValues]],
    forms: Sequence[Form],
    *,
    dense_up_to: int,
) -> NumberedRows:
    """Assign numbers to ids of one or several parts; collective; see `numbering.number_rows`.

    A rank holds its columns, two copies of their distinct values, and at most three copies of its
    range of all distinct values.

    Parameters
    ----------
    comm : Communicator
    columns : sequence of sequences of ndarray or pyarrow.ChunkedArray
        For each part of the id, this rank's columns of it, perhaps none.
    forms : sequence of dtype or pyarrow.DataType
        The form of each part, `id_encoding.form_of` its type; the same on all ranks.
    dense_up_to : int
        Largest range of integers that counts as nearly filled; the same on all ranks.

    Returns
    -------
    NumberedRows

    Raises
    ------
    InputError
        If an int64 cannot number the pairs of parts; raised on all ranks.
    """
    head = _number_values(comm, columns[0], forms[0], dense_up_to)
    for part, form in zip(columns[1:], forms[1:], strict=True):
        last = _number_values(comm, part, form, dense_up_to)
        width = last.ids.size
        check_pairs(head.ids.size, width)
        keys = [
            first * width + second for first, second in zip(head.columns, last.columns, strict=True)
        ]
        pairs = _number_values(comm, keys, np.dtype(np.int64), dense_up_to)
        pairs.ids = Pairs(head.ids, last.ids, pairs.ids)
        head = pairs
    return head


def _number_values(
    comm: Communicator, columns: Sequence[IdValues], form: Form, dense_up_to: int
) -> NumberedRows:
    """Assign numbers to ids that are single values; collective."""
    rows = sum(map(len, columns))
    if not rows:  # there may be no column either
        _, ids = _number_distinct(comm, id_encoding.join([], form), form, dense_up_to)
        return NumberedRows([np.empty(0, np.int64) for _ in columns], ids)
    numbered = number_values(list(columns), dense_up_to=_table_for(rows))
    numbers, ids = _number_distinct(comm, _distinct(numbered, form), form, dense_up_to)
    return NumberedRows([numbers[numbered.numbers(which)] for which in range(len(columns))], ids)


def _number_distinct(
    comm: Communicator, ids: Values, form: Form, dense_up_to: int
) -> tuple[Numbers, Distinct]:
    """Assign numbers to ascending distinct ids; store this rank's id range; collective."""
    low = span = None
    if not _is_text(form):
        ends = [
            sample
            for sample in comm.allgather(id_encoding.sample(ids, [0, -1][: 2 * len(ids)]))
            if sample
        ]
        if not ends:
            return np.empty(0, np.int64), IdRange(comm, 0, 0, form)
        low, high = min(sample[0] for sample in ends), max(sample[-1] for sample in ends)
        span = high - low + 1
        if high > _INT64_MAX or span > max(dense_up_to, 1):
            span = None
    if span is not None and low is not None:
        splitters = [low + span * rank // comm.size for rank in range(1, comm.size)]
    else:
        splitters = _draw(comm, ids)
    cuts = [0, *id_encoding.bounds(ids, splitters), len(ids)]
    buffers = [id_encoding.pack(ids[first:last]) for first, last in pairwise(cuts)]
    received = [id_encoding.unpack(buffer, form) for buffer in comm.alltoall(buffers)]
    merged = _merge(received)
    distinct = _distinct(merged, form)
    counts = comm.allgather(len(distinct))
    if span is not None and low is not None and sum(counts) == span:
        return ids.astype(np.int64) - low, IdRange(comm, low, span, form)
    run = SortedRun(comm, distinct, form, counts, "sorted" if span is None else "compacted")
    start = run.cuts[comm.rank]
    answers = [[merged.numbers(which).astype(np.int64) + start] for which in range(comm.size)]
    return np.concatenate([answer[0] for answer in comm.alltoall(answers)]), run


def _draw(comm: Communicator, ids: Values) -> list[Any]:
    """Draw evenly spaced splitters from a sample of all ranks' distinct ids; collective."""
    step = max(1, total(comm, len(ids)) // (_SAMPLES * comm.size))
    sample = id_encoding.sample(ids, range(min(step // 2, max(0, len(ids) - 1)), len(ids), step))
    drawn = sorted(value for shown in comm.allgather(sample) for value in shown)
    if not drawn:
        return [b""] * (comm.size - 1)  # no ids at all; only text gets here
    return [drawn[len(drawn) * rank // comm.size] for rank in range(1, comm.size)]


def _merge(received: Sequence[Values]) -> Numbered:
    """Assign numbers to the ids received from all ranks."""
    columns = [ids if isinstance(ids, np.ndarray) else pa.chunked_array([ids]) for ids in received]
    return number_values(columns, dense_up_to=_table_for(sum(map(len, received))))


def _distinct(numbered: Numbered, form: Form) -> Values:
    """Return the numbered ids, ascending."""
    numbering = numbered.numbering
    if isinstance(numbering, DenseIntegers):
        return np.arange(numbering.size, dtype=form)
    assert isinstance(numbering, (SortedIntegers, SortedText))
    return id_encoding.plain(numbering.ids, form)


def _table_for(rows: int) -> int:
    """Return the length of the largest table over a range that is worth its memory for so many rows."""
    return 2 * rows + (1 << 16)


def _is_text(form: Form) -> bool:
    return isinstance(form, pa.DataType)

"""Rows of neighbours: ranges of them that are computed at once."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cugraph_ws.partition.neighbourhoods import batches


@given(st.lists(st.integers(0, 30) | st.just(0), max_size=60), st.integers(1, 80))
def test_batches_have_at_most_so_many_arcs_or_one_row(lengths: list[int], most: int) -> None:
    found = batches(np.array(lengths, np.int64), most)
    assert [row for low, high in found for row in range(low, high)] == list(range(len(lengths)))
    for low, high in found:
        assert high - low == 1 or sum(lengths[low:high]) <= most
    assert len(found) <= 2 * sum(lengths) / most + 1

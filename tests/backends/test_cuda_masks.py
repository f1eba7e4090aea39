"""Counts and tests of masks, on the host and in the emulator."""

import numpy as np
import pytest
from emulator.device import emulated

from cugraph_ws.runtime.arrays import all_true, any_true, count_on_device, count_true


@pytest.mark.parametrize("count", [0, 1, 3, 4, 5, 127, 1_000, 1_003])
@pytest.mark.parametrize("first", [0, 1, 4])  # from 1 on, words are not aligned
def test_a_gpu_counts_as_numpy_does(count: int, first: int) -> None:
    mask = np.random.default_rng(count).random(first + count) < 0.4
    with emulated():
        assert int(count_on_device(mask[first:])) == np.count_nonzero(mask[first:])


def test_a_gpu_counts_what_is_not_contiguous() -> None:
    mask = np.random.default_rng(2).random((30, 41)) < 0.3
    with emulated():
        assert int(count_on_device(mask[:, 1:])) == np.count_nonzero(mask[:, 1:])
        assert int(count_on_device(mask.ravel()[::3])) == np.count_nonzero(mask.ravel()[::3])


@pytest.mark.parametrize(
    ("mask", "some", "every", "count"),
    [
        ([], False, True, 0),
        ([False, False], False, False, 0),
        ([False, True], True, False, 1),
        ([True, True], True, True, 2),
    ],
)
def test_masks_of_numpy(mask: list[bool], some: bool, every: bool, count: int) -> None:
    array = np.array(mask, np.bool_)
    assert (any_true(array), all_true(array), count_true(array)) == (some, every, count)

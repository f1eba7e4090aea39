"""The most frequent, or heaviest, message of each row on the GPU; see `kernels/cuda/modes.py`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from cugraph_ws.backends.cuda.label_tables import BLOCK, far_tables, row_order
from cugraph_ws.kernels.cuda.layout import LOWEST, UNCHOSEN
from cugraph_ws.program.lists import key_bits
from cugraph_ws.runtime.device import Device, Prepared

__all__ = ["ModeTables"]

Array = Any  # CuPy's or NumPy's

DIGITS = 53  # of a float64


class ModeTables:
    """Tables in which the messages of rows are counted.

    Parameters
    ----------
    device : Device
    offsets : device array of int64, shape (rows + 1,)
    slots : tuple of device arrays, shape (arcs,)
        The messages, and their weights if there are two arrays.
    control : device array of int64
        Of the supersteps; nothing is chosen once they are over.

    Attributes
    ----------
    chosen : device array, shape (rows,)
        The message of each row, once chosen; anything for a row without messages.
    """

    def __init__(
        self, device: Device, offsets: Array, slots: tuple[Array, ...], control: Array
    ) -> None:
        xp = device.xp
        rows, lengths = len(offsets) - 1, xp.diff(offsets)
        self._device, self._rows, self._control = device, rows, control
        self._labels, self._weights = slots[0], slots[1:]
        self._longest = int(device.to_host(lengths.max())) if rows else 0
        self.chosen = xp.empty(rows, self._labels.dtype)
        self._offsets, self._order = offsets, row_order(lengths)
        self._tables = far_tables(lengths, self._longest, beside=1)

    def prepare(self, scale: float = 0.0) -> Prepared:
        """Return what launches the choice.

        Parameters
        ----------
        scale : float
            What makes integers of weights that are floats; see `scale`.
        """
        device = self._device
        weights = (*self._weights, device.xp.zeros(1, np.int64))[0]
        kind = self._labels.dtype
        coding = key_bits(kind.name) if kind.kind == "f" else (0, 0, 0)  # see `choose_modes`
        return device.module("modes").prepare(
            "choose_modes", device.blocks_for(32 * self._rows, BLOCK), BLOCK, self._offsets,
            (_as_bits(self._labels), (weights, bool(self._weights), scale), coding),
            *self._order, _as_bits(self.chosen), *self._tables, self._control,
        )  # fmt: skip

    def scale(self) -> float | None:
        """Return the power of two that makes integers of all weights, which are floats.

        Returns
        -------
        float or None
            None if sums of as many weights as the longest row has may be inexact, so that they depend on
            the order.
        """
        device, (weights,) = self._device, self._weights
        kind = np.finfo(weights.dtype)
        exponents = device.xp.asarray([UNCHOSEN, LOWEST])
        device.module("modes").launch(
            "measure_weights", device.blocks_for(len(weights), BLOCK), BLOCK, _as_bits(weights),
            len(weights), kind.nmant, 2 * kind.maxexp - 1, exponents,
        )  # fmt: skip
        least, most = (int(exponent) for exponent in device.to_host(exponents))
        if most == LOWEST:  # all are zero
            return 1.0
        power = kind.maxexp - 1 + kind.nmant - least
        sum_bits = most + 1 + (self._longest - 1).bit_length() - least + kind.nmant
        exact = most < 2 * kind.maxexp - 1 and sum_bits <= DIGITS and abs(power) <= 1022
        return math.ldexp(1.0, power) if exact else None


def _as_bits(values: Array) -> Array:
    """Return the same memory as integers of the same width."""
    kind = values.dtype
    return values if kind.kind != "f" else values.view(f"i{kind.itemsize}")

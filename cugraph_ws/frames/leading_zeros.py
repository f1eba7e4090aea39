"""Integers with leading zeros in text, which are read as if they had none: 007 as 7."""

from __future__ import annotations

import re

import numpy as np

__all__ = ["LeadingZeros"]

ZERO = ord("0")
DIGITS = np.isin(np.arange(256), list(b"0123456789"))
PIECE = 1 << 16  # bytes whose zeros are listed at a time
MOST = 100  # cells of a piece that are looked at
CELL = re.compile(rb'0[0-9]+(?=["\s,]|$)')


class LeadingZeros:
    """Looks for such integers in a text that comes in blocks.

    Parameters
    ----------
    separator : str
        Separator of cells; " " for any number of blanks and tabs.

    Attributes
    ----------
    found : dict of int to str
        By the place of a column: an integer with leading zeros.
    """

    def __init__(self, separator: str) -> None:
        self.found: dict[int, str] = {}
        self._separator = separator.encode()
        self._before = np.isin(np.arange(256), list(b'\n"\t' + self._separator))
        self._rest = b""

    def look(self, block: bytes) -> None:
        """Look at the lines that a block ends; an empty block ends the text."""
        text = self._rest + block
        end = text.rfind(b"\n") + 1 if block else len(text)
        self._rest = text[end:]
        data = np.frombuffer(text, np.uint8, end)
        for start in range(0, end - 1, PIECE):
            zeros = start + np.flatnonzero(data[start : min(start + PIECE, end - 1)] == ZERO)
            zeros = zeros[DIGITS[data[zeros + 1]]]
            zeros = zeros[(zeros == 0) | self._before[data[zeros - 1]]]
            for at in zeros[:MOST].tolist():
                self._note(text, at)

    def _note(self, text: bytes, at: int) -> None:
        cell = CELL.match(text, at)
        if cell is None:
            return
        line = text[text.rfind(b"\n", 0, at) + 1 : at]
        if not line.lstrip().startswith((b"#", b"%")):
            before = line.split() if self._separator == b" " else line.split(self._separator)[1:]
            self.found.setdefault(len(before), cell[0].decode())

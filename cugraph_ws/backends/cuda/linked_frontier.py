"""Supersteps of a frontier on several GPUs, with their exchange, in one launch on each.

See `kernels/cuda/linked_frontier.py`.  A launch leaves large frontiers to the host, which gathers, pulls, or
exchanges whole boundaries as bits.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from cugraph_ws.backends.cuda.frontier import GLANCE, LONGEST
from cugraph_ws.kernels.cuda import layout
from cugraph_ws.partition.part import Part
from cugraph_ws.runtime.communicator import Links, Window
from cugraph_ws.runtime.device import Device, KernelModule
from cugraph_ws.runtime.masks import all_true

__all__ = ["LinkedLaunch", "LinkedSteps", "Mirrors", "mirrors_of"]

DeviceArray = Any  # CuPy's or NumPy's


class Mirrors(NamedTuple):
    """Which owned vertices each rank holds as ghosts, and where; see `traverse_linked`.

    Attributes
    ----------
    bits : device array of uint32, shape (ranks * words,)
        For each rank, a bitmap of the owned vertices that it holds.
    before : device array of int32, shape (ranks * words,)
        Number of bits set in a rank's bitmap before each word.
    ghosts : device array of int32
        Positions on each rank of the vertices in its bitmap; empty if `direct`.
    firsts : device array of int64, shape (ranks,)
        Where each rank's entries begin in `ghosts`.  If `direct`, the position of its first ghost
        from here.
    words : int
        Words of a rank's bitmap.
    direct : int
        1 if on every rank ghosts are in the order of the owner's positions, else 0.
    """

    bits: DeviceArray
    before: DeviceArray
    ghosts: DeviceArray
    firsts: DeviceArray
    words: int
    direct: int


def mirrors_of(part: Part) -> Mirrors:
    """Return the mirrors of a rank's part; collective on the first call, then kept by the shard."""
    name, learned = "mirrors", part.graph.learned
    if name not in learned:
        learned[name] = _mirrors(part)
    found: Mirrors = learned[name]
    return found


def _mirrors(part: Part) -> Mirrors:
    xp, comm = part.xp, part.halo.comm
    boundaries = part.halo.boundaries
    shown = comm.allgather([int(first) for first, _ in part.ghosts])
    firsts = [one[comm.rank] for one in shown]  # where this rank's vertices begin on each rank
    words = -(-part.owned // 32)
    bits = xp.zeros(comm.size * words, np.uint32)
    before = xp.zeros(comm.size * words, np.int32)
    direct = all(all_true(one[1:] > one[:-1]) for one in boundaries)
    ghosts, begin = [], 0
    for peer, boundary in enumerate(boundaries):
        if not len(boundary):
            continue
        held = boundary
        if not direct:
            order = boundary.argsort()
            held = boundary[order]
            ghosts.append((order + firsts[peer]).astype(np.int32))
            firsts[peer], begin = begin, begin + len(boundary)
        one = xp.left_shift(np.uint32(1), (held & 31).astype(np.uint32)).astype(np.uint32)
        xp.add.at(bits, (peer * words + (held >> 5)).astype(np.int64), one)
        edges = 32 * xp.arange(words, dtype=held.dtype)
        before[peer * words : (peer + 1) * words] = held.searchsorted(edges)
    everything = xp.concatenate(ghosts) if ghosts else xp.empty(0, np.int32)
    return Mirrors(
        bits, before, everything, xp.asarray(np.array(firsts, np.int64)), words, int(direct)
    )


class LinkedSteps(NamedTuple):
    """The counts of a launch, over all ranks.

    Attributes
    ----------
    history : list of (int, int, int, int)
        For each superstep: active vertices after it, their out-arcs on their own ranks, arcs read,
        and vertices sent.
    pending : bool
        Whether the last superstep's messages are still to be exchanged.
    """

    history: list[tuple[int, int, int, int]]
    pending: bool


class LinkedLaunch:
    """Launches of `traverse_linked` for one run.

    Parameters
    ----------
    here : Device
    kernels : KernelModule
        The program's kernels.
    window : Window
    ranks : (int, int)
        This rank, and the number of ranks.
    mirrors : Mirrors
    items : int
        Number of threads that can have work.
    arguments : tuple
        The first arguments of `traverse_linked`, up to the aggregates.
    kind : dtype
        Dtype of the state.
    spend : int
        Arcs after which a launch ends.
    control, records : device array of int64
    """

    # Indices of arguments that change between launches
    NUMBER_AT, STEPS_AT, LEAVE_AT, SERIAL_AT = 10, 11, 12, 15

    def __init__(
        self,
        here: Device,
        kernels: KernelModule,
        window: Window,
        ranks: tuple[int, int],
        mirrors: Mirrors,
        *,
        items: int,
        arguments: tuple[Any, ...],
        kind: Any,
        spend: int,
        control: DeviceArray,
        records: DeviceArray,
    ) -> None:
        self._device, self._window = here, window
        rank, size = ranks
        self._totals, self._first = 2 * size, 2 * size + layout.BOX_WORDS
        self._figures = here.xp.zeros(self._first + 4 * LONGEST, np.int64)
        self._glance = here.pinned(self._first + 4 * GLANCE, np.int64)
        links = rank, size, window.capacity, mirrors.words, mirrors.direct
        self._launch = kernels.prepare_together(
            "traverse_linked", items, layout.FRONTIER_BLOCK, *arguments, 0, 1, 1, window.capacity, spend, 0,
            links, tuple(mirrors[:4]), window.arrays(kind), window.starts(kind),
            self._figures[: self._first], window.alarm, control, records,
            self._figures[self._first :],
        )  # fmt: skip

    def __call__(self, number: int, steps: int, leave: int) -> None:
        """Queue a launch of at most `steps` supersteps, the first of this number."""
        launch = self._launch
        launch.change(self.NUMBER_AT, number)
        launch.change(self.STEPS_AT, steps)
        launch.change(self.LEAVE_AT, leave)
        launch.change(self.SERIAL_AT, self._window.serial)
        launch()

    def read(self, links: Links) -> LinkedSteps:
        """Wait for the launch, and return its counts."""
        self._device.copy_out(self._figures[: len(self._glance)], self._glance)
        links.wait(links.mark())
        totals = self._glance[self._totals : self._first]
        done = int(totals[layout.BOX_COUNT])
        rows = self._glance[self._first :]
        if done > GLANCE:
            rows = self._device.to_host(self._figures[self._first : self._first + 4 * done])
        self._window.serial += done
        history = [
            (int(a), int(b), int(c), int(d)) for a, b, c, d in rows[: 4 * done].reshape(-1, 4)
        ]
        return LinkedSteps(history, bool(totals[layout.BOX_FULL]))

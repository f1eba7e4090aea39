"""The exchange of a communicator whose ranks have a GPU each: the host waits once per superstep.

The GPU fills a header with the superstep's counts and the number of changed vertices of each
boundary. The headers are gathered on all ranks.  From them each rank knows all counts, what it will
receive, and what each rank will send next, since `Refinement` decides by numbers that all ranks
have.  So messages carry no header of their own.  They follow the headers on the same stream, and no
host waits for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.executor import CudaExecutor
from cugraph_ws.backends.cuda.partitioned_frontier import CudaPartitionedFrontierExecutor
from cugraph_ws.backends.cuda.refinement import FrontierRefinement
from cugraph_ws.contract import BoundaryUpdate, Choice, Counts, Executor, Way
from cugraph_ws.partition.exchange import RankExchange, Traffic
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.partition.refinement import ExchangeMethod, Refinement
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.partition.ways import bit_of, bytes_in_bits, bytes_listed, bytes_whole
from cugraph_ws.runtime.communicator import Links
from cugraph_ws.runtime.device import device

__all__ = ["DeviceRankExchange"]

LEVELS = 8  # levels of tree growth that are queued before the host reads how many were attached
LEAST_APART = 1 << 18  # vertices for a rank from which most are sent before the superstep ends
SLOWEST_APART = 2e-11  # seconds per byte; over slower links two pieces take longer than one
WORD = 4  # bytes of a GPU's word


def _extents(shard: ShardGraph, part: ProgramPart, *, outward: bool) -> npt.NDArray[np.int64]:
    """Return each rank's counts: owned vertices, arcs, arcs of updates, vertices of each boundary.

    Collective on the first call; the result is kept.  The arcs of updates are those out of owned
    vertices if `outward`, else all.
    """
    name = f"extents {outward}"
    if name not in shard.learned:
        sending = int(part.laid.csr.offsets[part.owned]) if outward and part.arcs else part.arcs
        extents = [part.owned, part.arcs, sending, *map(len, part.boundaries)]
        shard.learned[name] = np.array(shard.comm.allgather(extents), np.int64)
    learned: npt.NDArray[np.int64] = shard.learned[name]
    return learned


class DeviceRankExchange(RankExchange):
    """Moves boundary state between GPUs; see `RankExchange`, which it agrees with to the bit.

    Parameters
    ----------
    shard : ShardGraph
        This rank's shard.
    part : ProgramPart
        The same shard on the device.
    links : Links
        To the other ranks' GPUs.
    swaps : bool
        Whether active vertices push along their out-arcs.  Then their out-arcs are counted.
    figures : int
        How many numbers of a superstep a rank puts into its header.
    method : {"auto", "vr", "ms", "all"}
        What is sent; see `Refinement`.
    frontier : bool
        Whether only active vertices send messages.
    in_place : bool
        Whether supersteps run in place, so that changed vertices cannot be found.
    """

    def __init__(
        self,
        shard: ShardGraph,
        part: ProgramPart,
        links: Links,
        *,
        swaps: bool,
        figures: int,
        method: ExchangeMethod,
        frontier: bool,
        in_place: bool,
    ) -> None:
        super().__init__(
            shard,
            method=method,
            dense=not frontier,
            boundaries=part.boundaries,
            ghosts=part.ghosts,
        )
        self._links = links
        self._frontier, self._in_place = frontier, in_place
        size = self._comm.size
        extents = _extents(shard, part, outward=swaps)
        self._owned, self._arcs, self._inner = extents[:, :3].sum(axis=0).tolist()
        self._whole, slots = self._most(extents[:, 3:], extents[:, :1])
        self._flows = self._whole > 0
        self._figures, self._words = figures, (words := figures + size)
        self._places = np.arange(size)[:, None] * words + figures + slots  # in all headers
        self._headers = device().xp.empty(size * words, np.float64)
        self._table = device().pinned(size * words, np.float64)
        self._chosen = Refinement(method, dense=not frontier)
        self._pieces = links.byte <= SLOWEST_APART  # whether to send most while computing
        self._listed: npt.NDArray[np.bool_] = np.empty(0, np.bool_)
        self._known = False
        # Bytes of whole messages, and of a bit for each vertex, by sender and receiver
        self._fixed: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
        self._choose(np.full((size, size), self._chosen.first))
        self._active = 0  # after the previous superstep
        # By sender and receiver: how many of the vertices that may be sent are computed last.
        self._heads: npt.NDArray[np.int64] | None = None
        self._apart = False  # whether the others have been sent already

    def _most(
        self, counts: npt.NDArray[np.int64], owned: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return how many vertices may be sent, and the place of their length, by sender and receiver."""
        if not self._sender.everything:
            return counts, np.maximum(np.cumsum(counts > 0, axis=1) - 1, 0)
        limits = np.repeat(owned, len(counts), axis=1)
        np.fill_diagonal(limits, 0)
        return limits, np.zeros_like(counts)

    def _leaving(self, sizes: npt.NDArray[np.int64]) -> int:
        """Return the bytes that leave all GPUs, of messages' bytes by sender and receiver."""
        return int(sizes.sum())

    def _choose(self, refines: npt.NDArray[np.bool_]) -> None:
        """Store which ranks send which others changed vertices only."""
        rank = self._comm.rank
        self._refines: list[bool] = refines[rank].tolist()
        self._listed = refines & self._flows
        self._bits = np.zeros_like(refines)  # which rank sends which bits instead; set later
        if self._in_place:
            self._listed[:] = False
        self._known = not (self._listed[rank].any() or self._listed[:, rank].any())

    def _plan_next(self, executor: CudaExecutor) -> None:
        """Send most of the next superstep's updates while it still runs, where that pays."""
        # All ranks decide the same, since they decide by the same numbers.
        if (
            self._listed.any()
            or self._frontier
            or self._sender.everything
            or not executor.in_parts
            or not self._may_part(executor)
        ):
            return
        if self._heads is None:
            cut = device().xp.asarray([executor.cut])
            heads = [
                int(boundary.searchsorted(cut.astype(boundary.dtype))[0])
                for boundary in self._sender.boundaries
            ]
            self._heads = np.array(self._comm.allgather(heads), np.int64)
        executor.midway = partial(self._send_tails, executor)

    def _may_part(self, executor: CudaExecutor) -> bool:
        """Whether most of a whole message can be sent while a superstep computes the rest."""
        large = int(self._whole.max(initial=0)) >= LEAST_APART
        return large and self._pieces and not self._frontier and executor.in_parts

    def _send_tails(self, executor: CudaExecutor) -> None:
        """Send the vertices that a superstep has computed, while the rest of it runs."""
        assert self._heads is not None
        rank, refinement = self._comm.rank, executor.refinement
        boundaries = self._sender.boundaries
        going: list[list[Any]] = [[] for _ in boundaries]
        with device().beside():
            peers = [peer for peer, boundary in enumerate(boundaries) if len(boundary)]
            for slot, peer in enumerate(peers):
                first = int(self._heads[rank, peer])
                going[peer] = refinement.pack_tail(boundaries[peer], slot, first).arrays
            coming = [
                refinement.arrivals(peer, (first + int(self._heads[peer, rank]), last)).arrays
                if first < last
                else []
                for peer, (first, last) in enumerate(self._ghosts)
            ]
            self._links.post(going, coming)
        self._apart = True

    def _pack(self, executor: CudaExecutor) -> dict[int, BoundaryUpdate]:
        """Queue the packing of the message for each rank, without what has been sent already."""
        if not self._apart:
            return self._sender.pack(executor, refines=self._refines)
        assert self._heads is not None
        heads = self._heads[self._comm.rank].tolist()
        packed = {
            peer: executor.refinement.pack(boundary, refine=False, cut=heads[peer])
            for peer, boundary in enumerate(self._sender.boundaries)
            if len(boundary)
        }
        device().rejoin()
        return packed

    def merge(self, counts: Counts) -> Counts:
        """Return the counts of all ranks, with the arcs of ghosts."""
        merged = super().merge(counts)
        self._active = merged.active
        return merged

    def exchange(self, executor: Executor, choice: Choice) -> tuple[Counts, Traffic]:
        """Update ghosts after a superstep; return the counts of all ranks, and what was sent.

        The ghosts' new values may not have arrived yet: the next superstep is queued behind them.
        """
        assert isinstance(executor, CudaExecutor)
        packed, header = self._pack(executor), executor.header()
        self._links.gather(header, self._headers)
        device().copy_out(self._headers, self._table)
        mark = self._links.mark()
        executor.read_headers(self._headers, self._comm.size)
        if self._known:  # the GPU need not wait for the host
            self._swap(executor, packed, self._whole)
            if self._apart and not choice.last:  # neither must the next superstep
                executor.begin_next()
        self._apart = False
        self._links.wait(mark)
        lengths, width = self._table.take(self._places) * self._flows, executor.refinement.width
        useful = lengths.astype(np.int64)
        entry = self._chosen.entry(width)
        if self._fixed is None:
            in_words = bytes_in_bits(self._whole, entry, word=WORD)
            self._fixed = bytes_whole(self._whole, entry), in_words
        (whole, in_bits), listed = self._fixed, bytes_listed(useful, entry)
        if self._chosen.free and isinstance(executor.refinement, FrontierRefinement):
            self._bits = self._listed & (lengths > useful) & (in_bits < listed)
        if not self._known:
            self._swap(executor, packed, np.where(self._listed, useful, self._whole))
        listed = np.where(self._bits, in_bits, listed)
        traffic = Traffic(
            self._leaving(np.where(self._listed, listed, whole)),
            self._leaving(useful * self._flows) * width,
            self._ways(),
        )
        if self._chosen.free:
            self._choose((listed < whole) & self._flows)
        self._plan_next(executor)
        return self._counts(executor), traffic

    def _ways(self) -> int:
        """Return what messages consist of, as `names_of` reads it."""
        if self._sender.everything:
            return bit_of("all")
        used: dict[Way, npt.NDArray[np.bool_]] = {
            "bits": self._bits,
            "vr": self._listed & ~self._bits,
            "ms": self._flows & ~self._listed,
        }
        return sum(bit_of(way) for way, where in used.items() if bool(where.any()))

    def update_trees(self, executor: Executor) -> None:
        """Send which boundary vertices have been attached to the predecessor forest.

        Sender and receiver keep the same list of vertices, so the messages carry no header.
        """
        assert isinstance(executor, CudaExecutor)
        self._exchange_attached(*executor.trees.updates())
        # `receive` waits for the GPU.  A lost rank must raise here, not block there.
        self._links.wait(self._links.mark())
        executor.trees.receive()

    def _exchange_attached(self, *attached: Sequence[Any]) -> None:
        """Queue the exchange of forest updates: one array to each rank, and one from each."""
        going, coming = ([[array] if len(array) else [] for array in arrays] for arrays in attached)
        self._links.post(going, coming)

    def grow_trees(self, executor: Executor, missing: int) -> None:
        """Find the missing predecessors; in tree growth the host reads counts every `LEVELS`."""
        if not (isinstance(executor, CudaPartitionedFrontierExecutor) and executor.grows_forward):
            super().grow_trees(executor, missing)
            return
        missing = self.total(missing)
        if not missing:
            return
        self.update_trees(executor)
        growth, size = executor.begin_growth(LEVELS), self._comm.size
        everyone = device().xp.empty(size * LEVELS, np.int64)
        table = device().pinned(size * LEVELS, np.int64)
        while True:
            for level in range(LEVELS):
                self._exchange_attached(*growth.climb(level))
                growth.receive()
            self._links.gather(growth.attached, everyone)
            device().copy_out(everyone, table)
            self._links.wait(self._links.mark())
            attached = table.reshape(size, LEVELS).sum(axis=0)
            missing -= int(attached.sum())
            if not missing or not attached[-1]:
                return
            growth.leave_out()

    def _counts(self, executor: CudaExecutor) -> Counts:
        """Return the counts of all ranks, read from their headers; see `Counts.merged`."""
        records = self._table.reshape(self._comm.size, -1)[:, : self._figures]
        counted = self._active if self._frontier else self._owned
        counts = executor.merged_counts(records, counted if self._owned else None, self._arcs)
        self._active = counts.active
        executor.advance(records[self._comm.rank])
        # Ranks count the arcs of active vertices within their shard only, so the sum is scaled up.
        counts.arcs = counts.arcs * self._arcs // max(1, self._inner)
        return counts

    def finish(self) -> None:
        """Wait until all queued exchanges are done."""
        self._links.wait(self._links.mark())

    def _swap(
        self,
        executor: CudaExecutor,
        packed: dict[int, BoundaryUpdate],
        lengths: npt.NDArray[np.int64],
    ) -> None:
        """Queue the exchange of messages, and their unpacking.

        Parameters
        ----------
        executor : CudaExecutor
        packed : dict of int to BoundaryUpdate
            The message for each rank, not yet cut to its length.
        lengths : ndarray of int64, shape (ranks, ranks)
            How many vertices each rank sends each other rank.
        """
        rank, size, refinement = self._comm.rank, self._comm.size, executor.refinement
        in_bits = refinement if isinstance(refinement, FrontierRefinement) else None
        listed = self._listed[:, rank].tolist()
        going: list[list[Any]] = [[] for _ in range(size)]
        coming: list[list[Any]] = [[] for _ in range(size)]
        first = rank * self._words + self._figures
        own_lengths = self._table[first : first + size]
        for peer, update in packed.items():
            if not self._listed[rank, peer]:
                going[peer] = update.arrays
            elif in_bits is not None and self._bits[rank, peer]:
                going[peer] = in_bits.in_bits(update).arrays
            elif lengths[rank, peer]:
                going[peer] = refinement.cut(update, own_lengths).arrays
        come = [(peer, count) for peer, count in enumerate(lengths[:, rank].tolist()) if count]
        straight = not self._frontier and not self._sender.everything
        for peer, ghosts in enumerate(self._ghosts):
            if listed[peer]:  # even if nothing is received
                refinement.catch_up(peer, ghosts)
        for peer, count in come:
            most, (first, last) = int(self._whole[peer, rank]), self._ghosts[peer]
            if in_bits is not None and self._bits[peer, rank]:
                coming[peer] = in_bits.expect_bits(peer, most).arrays
            elif straight and not listed[peer]:
                if self._apart and self._heads is not None:
                    last = first + int(self._heads[peer, rank])
                coming[peer] = refinement.arrivals(peer, (first, last)).arrays
            else:
                coming[peer] = refinement.expect(peer, most, count, listed=listed[peer]).arrays
        self._links.post(going, coming)
        for peer, _ in come:
            first, last = self._ghosts[peer]
            if in_bits is not None and self._bits[peer, rank]:
                in_bits.take_bits(peer, (first, last))
            elif first < last and not (straight and not listed[peer]):
                refinement.take(
                    peer, (first, last), listed=listed[peer], headers=self._headers,
                    slot=int(self._places[peer, rank]),
                    among=self._theirs[peer] if self._sender.everything else None,
                )  # fmt: skip

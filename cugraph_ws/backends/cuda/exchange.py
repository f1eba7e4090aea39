"""The exchange of a communicator whose ranks have a GPU each: the host waits once per superstep.

The GPU fills a header with the superstep's counts and the number of changed vertices of each
boundary. The headers are gathered on all ranks.  From them each rank knows all counts, what it will
receive, and what each rank will send next, since `Refinement` decides by numbers that all ranks
have.  So messages carry no header of their own.  They follow the headers on the same stream, and no
host waits for them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.backends.cuda.executor import CudaExecutor
from cugraph_ws.backends.cuda.partitioned_frontier import CudaPartitionedFrontierExecutor
from cugraph_ws.backends.cuda.refinement import FrontierRefinement
from cugraph_ws.contract import BoundaryUpdate, Choice, Counts, Entry, Executor, Way
from cugraph_ws.partition.exchange import RankExchange, Traffic
from cugraph_ws.partition.exchange_times import (
    CLOSE,
    GPU,
    ExchangeTimes,
    LastingTimes,
    Offer,
    bit_of,
)
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.partition.refinement import ExchangeMethod, Refinement
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.communicator import Links
from cugraph_ws.runtime.device import device

__all__ = ["DeviceRankExchange"]

LEVELS = 8  # levels of tree growth that are queued before the host reads how many were attached
LEAST_APART = 1 << 18  # vertices for a rank from which most are sent before the superstep ends
EXPOSED = 0.3  # part of the sending time that counts, if messages mostly leave during a superstep
SLOWEST_APART = 2e-11  # seconds per byte; over slower links two pieces take longer than one
WORD = 4  # bytes of a GPU's word
FEW = 256  # if at most 1 / FEW of each boundary changed, lists are chosen again without predictions


def times_over(links: Links) -> ExchangeTimes:
    """Return the predictions over links, with their rates where these have been measured."""
    byte, latency = links.measured or (links.byte, GPU.latency)
    return ExchangeTimes(replace(GPU, byte=byte, latency=latency))


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
        self._figures, self._words = figures, (words := figures + size + 1)
        self._places = np.arange(size)[:, None] * words + figures + slots  # in all headers
        self._headers = device().xp.empty(size * words, np.float64)
        self._table = device().pinned(size * words, np.float64)
        times = times_over(links)
        self._chosen = Refinement(method, dense=not frontier, times=times)
        self._pieces = times.rates.byte <= SLOWEST_APART  # whether to send most while computing
        self._lasting = LastingTimes()
        self._clock: deque[tuple[bool, float]] = deque(maxlen=2)  # what the last exchanges did
        self._elapsed = device().pinned(1, np.float64)
        self._elapsed[0], self._begun = 0.0, perf_counter()
        self._listed: npt.NDArray[np.bool_] = np.empty(0, np.bool_)
        self._known = False
        self._fixed: tuple[Offer, Offer] | None = None  # whole messages; a bit for each vertex
        self._most_few: npt.NDArray[np.int64] | None = None  # vertices that are listed in any case
        self._postponed: Callable[[], None] | None = None  # the choice for the next exchange
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
        return int(self._by_rank(sizes).sum())

    def _by_rank(self, sizes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return what each rank sends, of messages by sender and receiver."""
        totals: npt.NDArray[Any] = sizes.sum(axis=1)
        return totals

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
        return self._exchange_one(executor, choice)

    def _exchange_one(self, executor: CudaExecutor, choice: Choice) -> tuple[Counts, Traffic]:
        """Do the exchange after a single superstep."""
        if self._postponed is not None:
            self._postponed()
            self._postponed = None
        packed, header = self._pack(executor), executor.header()
        if self._chosen.free and not self._frontier:
            device().copy_in(self._elapsed, header[-1:])
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
        self._elapsed[0], self._begun = (now := perf_counter()) - self._begun, now
        lengths, width = self._table.take(self._places) * self._flows, executor.refinement.width
        useful = lengths.astype(np.int64)
        entry, times = self._chosen.entry(width), self._chosen.times
        if self._fixed is None:
            self._fixed = (
                times.whole(self._whole, entry),
                times.bits(self._whole, entry, word=WORD),
            )
        if_whole, in_bits = self._fixed
        chooses = self._chosen.free and not self._stays_listed(executor, useful, entry)
        if chooses and isinstance(executor.refinement, FrontierRefinement):
            alike = self._listed & (lengths > useful)
            self._bits = alike & in_bits.beats(times.listed(useful, self._whole, entry))
        if not self._known:
            self._swap(executor, packed, np.where(self._listed, useful, self._whole))
        if_listed = times.listed(useful, self._whole, entry).or_else(in_bits, self._bits)
        offer = if_whole.or_else(if_listed, self._listed)
        predicted = self._price(executor, offer, self._listed)
        traffic = Traffic(
            self._leaving(offer.nbytes),
            self._leaving(useful * self._flows) * width,
            self._ways(),
            float(predicted.sending),
        )
        if chooses:
            decide = partial(self._decide, executor, predicted, if_listed, if_whole)
            if self._frontier:
                self._postponed = decide  # until the GPU computes the next superstep
            else:
                decide()
        self._plan_next(executor)
        return self._counts(executor), traffic

    def _stays_listed(
        self, executor: CudaExecutor, useful: npt.NDArray[np.int64], entry: Entry
    ) -> bool:
        """Return whether changed vertices are listed now and next, whatever their exact numbers.

        That costs less than the predictions, for which GPUs wait in short supersteps.
        """
        if not self._frontier or not np.array_equal(self._listed, self._flows):
            return False
        if self._most_few is None:
            assert self._fixed is not None
            if_whole, in_bits = self._fixed
            most = self._whole // FEW
            if_listed = self._chosen.times.listed(most, self._whole, entry)
            best = self._best(executor, if_listed, if_whole) & ~in_bits.beats(if_listed)
            self._most_few = most if np.array_equal(best, self._flows) else np.full_like(most, -1)
        if (useful > self._most_few).any():
            return False
        self._bits[:] = False
        return True

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

    def _price(self, executor: CudaExecutor, offers: Offer, listed: npt.NDArray[np.bool_]) -> Offer:
        """Return all bytes of an exchange, and the seconds of the rank that takes longest."""
        lists = bool(listed.any())
        exposed = 1.0 if lists or not self._may_part(executor) else EXPOSED
        each = self._by_rank(offers.sending * exposed + offers.handling)
        wait = self._chosen.times.rates.wait if lists else 0.0
        return Offer(self._leaving(offers.nbytes), float(each.max()) + wait, 0.0)

    def _decide(
        self, executor: CudaExecutor, predicted: Offer, if_listed: Offer, if_whole: Offer
    ) -> None:
        """Choose how the next exchange sends messages."""
        if not self._frontier:
            self._learn(predicted)
        self._choose(self._best(executor, if_listed, if_whole))

    def _learn(self, predicted: Offer) -> None:
        """Take the time of a superstep, which all headers have, for the way of the exchange before it."""
        took = float(self._table.reshape(self._comm.size, -1)[:, -1].max())
        if len(self._clock) == 2:
            self._lasting.learn(*self._clock[0], took)
        self._clock.append((bool(self._listed.any()), float(predicted.sending)))

    def _best(
        self, executor: CudaExecutor, if_listed: Offer, if_whole: Offer
    ) -> npt.NDArray[np.bool_]:
        """Return which ranks shall send which others changed vertices only."""
        listed: npt.NDArray[np.bool_] = if_listed.beats(if_whole) & self._flows
        none: npt.NDArray[np.bool_] = np.zeros_like(listed)
        if not listed.any():
            return none
        unlisted = self._price(executor, if_whole, none)
        mixed = self._price(executor, if_whole.or_else(if_listed, listed), listed)
        if abs(unlisted.sending - mixed.sending) > CLOSE:
            now = bool(self._listed.any())
            unlisted, mixed = (
                offer._replace(sending=self._lasting.estimate(way, offer.sending, now))
                for way, offer in ((False, unlisted), (True, mixed))
            )
        return listed if mixed.beats(unlisted) else none

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

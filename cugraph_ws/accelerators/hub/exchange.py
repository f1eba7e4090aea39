"""The exchange through the host hub: a rank's outbox leaves its GPU once, whatever the number of peers.

A rank's outbox has all of its vertices that some peer holds as ghosts (Khorasani, Gupta, Bhuyan, PACT 2015,
Section IV-B).  It is copied to host memory.  From there each peer reads its own ghosts directly into its GPU; a peer
that holds all of them copies the whole outbox.  Long outboxes are sent in pieces.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from cugraph_ws.accelerators.hub.messages import HostHub
from cugraph_ws.backends.cuda.exchange import DeviceRankExchange
from cugraph_ws.backends.cuda.executor import CudaExecutor
from cugraph_ws.backends.cuda.refinement import FrontierRefinement
from cugraph_ws.backends.cuda.schedule import launch_shape
from cugraph_ws.contract import BoundaryUpdate
from cugraph_ws.partition.part import ProgramPart
from cugraph_ws.partition.shard import ShardGraph
from cugraph_ws.runtime.arrays import all_true
from cugraph_ws.runtime.communicator import Links
from cugraph_ws.runtime.device import device

__all__ = ["HubRankExchange"]

DeviceArray = Any  # CuPy's or NumPy's

WORD = 32  # vertices of a word of bits
PADDING = 1 << 10  # bytes of a buffer that are left to the gaps between arrays
WHOLE, LISTED, BITS = range(
    3
)  # what an outbox has: all of its vertices, some listed ones, a bit for each


class LinksOverHub(Links, Protocol):
    """Links whose messages go through a hub."""

    hub: HostHub


class Outboxes(NamedTuple):
    """The outboxes of all ranks.

    Attributes
    ----------
    positions : device array of int
        Positions of this rank's vertices that are in its outbox.
    sizes : ndarray of int64, shape (ranks,)
        Vertices of each rank's outbox.
    ghosts : list of device array of int32, or None
        For each vertex of a rank's outbox, the index of its ghost here, or -1; None if each has
        one, in the same order.
    """

    positions: DeviceArray
    sizes: npt.NDArray[np.int64]
    ghosts: list[DeviceArray | None]


def _outboxes(shard: ShardGraph, part: ProgramPart, *, everything: bool) -> Outboxes:
    """Return the outboxes; collective on the first call, then kept by the shard."""
    name = f"outboxes {everything}"
    if name not in shard.learned:
        shard.learned[name] = _build_outboxes(shard, part, everything=everything)
    outboxes: Outboxes = shard.learned[name]
    return outboxes


def _build_outboxes(shard: ShardGraph, part: ProgramPart, *, everything: bool) -> Outboxes:
    xp, comm = device().xp, shard.comm
    filled = [boundary for boundary in part.boundaries if len(boundary)]
    if everything:
        positions = xp.arange(part.owned, dtype=part.boundaries[comm.rank].dtype)
    elif len(filled) == 1:
        positions = filled[0]  # in the order of its only reader
    else:
        positions = xp.unique(xp.concatenate(filled)) if filled else part.boundaries[comm.rank][:0]
    if everything or len(filled) != 1:
        places = [positions.searchsorted(boundary).astype(np.int32) for boundary in part.boundaries]
    else:
        places = [xp.arange(len(boundary), dtype=np.int32) for boundary in part.boundaries]
    sizes = np.array(comm.allgather(len(positions)), np.int64)
    theirs = [buffer[0] for buffer in comm.alltoall([[indices] for indices in places])]
    ghosts: list[DeviceArray | None] = []
    for size, place in zip(sizes.tolist(), theirs, strict=True):
        order = xp.arange(len(place), dtype=np.int32)
        if len(place) == size and all_true(place == order):
            ghosts.append(None)
            continue
        indices = xp.full(size, -1, np.int32)
        indices[place] = order
        ghosts.append(indices)
    return Outboxes(positions, sizes, ghosts)


class _Form(NamedTuple):
    """The arrays of a rank's message.

    Attributes
    ----------
    what : {WHOLE, LISTED, BITS}
    constants : list of dtype
        Dtypes of arrays with a single value, which every piece has.
    columns : list of dtype
        Dtypes of arrays that are split into pieces.
    length : int
        Entries of a column.
    piece : int
        Most entries of a piece.
    """

    what: int
    constants: list[Any]
    columns: list[Any]
    length: int
    piece: int

    @property
    def pieces(self) -> int:
        """Number of pieces."""
        return -(-self.length // self.piece)

    def part(self, turn: int) -> tuple[int, int]:
        """Return the range of entries of a piece."""
        return turn * self.piece, min(self.length, (turn + 1) * self.piece)


class HubRankExchange(DeviceRankExchange):
    """Moves boundary state between GPUs through host memory; see `DeviceRankExchange`.

    Results are the same bits.  Traffic counts what leaves a GPU, once for all readers.
    """

    def __init__(
        self,
        shard: ShardGraph,
        part: ProgramPart,
        links: LinksOverHub,
        *,
        method: Any,
        **options: Any,
    ) -> None:
        self._outboxes = _outboxes(shard, part, everything=method == "all")
        self._hub = links.hub
        xp = device().xp
        # By peer: how many ghosts its list has, and which of its entries they are
        self._found = xp.zeros(shard.comm.size, np.float64)
        self._picked: dict[int, DeviceArray] = {}
        self._kernels = device().module("hub.outboxes")
        super().__init__(shard, part, links, method=method, **options)

    def _most(
        self, counts: npt.NDArray[np.int64], owned: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Return the sizes of outboxes where a receiver holds some of it, and the places of their lengths."""
        self._held = counts
        return np.where(counts > 0, self._outboxes.sizes[:, None], 0), np.zeros_like(counts)

    def _leaving(self, sizes: npt.NDArray[np.int64]) -> int:
        """Return the bytes that leave all GPUs: each message leaves its own once."""
        return int(sizes.max(axis=1).sum())

    def _choose(self, refines: npt.NDArray[np.bool_]) -> None:
        """Store which ranks send changed vertices only."""
        super()._choose(refines)
        # All ranks must know how many pieces there are, also of messages that they skip.
        self._known = not self._listed.any()

    def _may_part(self, executor: CudaExecutor) -> bool:
        """Never: an outbox goes in pieces already, once what it has is computed."""
        return False

    def _pack(self, executor: CudaExecutor) -> dict[int, BoundaryUpdate]:
        """Queue the packing of the outbox."""
        rank = self._comm.rank
        if not self._flows[rank].any():
            return {}
        refine = bool(self._listed[rank].any())
        return {rank: executor.pack(self._outboxes.positions, refine=refine)}

    def _form(self, sender: int, lengths: npt.NDArray[np.int64], kinds: list[Any]) -> _Form:
        """Return the arrays of a rank's message."""
        count = int(lengths[sender].max())
        constants: list[Any] = []
        columns: list[Any]
        if self._bits[sender].any():
            what, constants, columns = BITS, kinds, [np.dtype(np.uint32)]
            count = -(-int(self._whole[sender].max()) // WORD)
        elif self._listed[sender].any():
            what, columns = LISTED, [np.dtype(np.int32), *kinds]
        else:
            what, columns = WHOLE, [*kinds, *([np.dtype(np.uint8)] if self._frontier else [])]
        width = sum(kind.itemsize for kind in columns)
        piece = max(WORD, (self._hub.room - PADDING) // max(1, width) // WORD * WORD)
        return _Form(what, constants, columns, count, piece)

    def _swap(
        self,
        executor: CudaExecutor,
        packed: dict[int, BoundaryUpdate],
        lengths: npt.NDArray[np.int64],
    ) -> None:
        """Queue the exchange of messages, and their unpacking; see `DeviceRankExchange._swap`."""
        rank, size, refinement = self._comm.rank, self._comm.size, executor.refinement
        forms = [self._form(sender, lengths, refinement.kinds) for sender in range(size)]
        reads = self._flows[:, rank].tolist()
        readers = np.flatnonzero(self._flows[rank]).tolist()
        going = _arrays_of(packed[rank], forms[rank].what) if rank in packed else ([], [])
        for peer, ghosts in enumerate(self._ghosts):
            if self._listed[peer, rank]:  # even if nothing is received
                refinement.catch_up(peer, ghosts)
        self._found.fill(0)
        rooms = {
            peer: self._room_of(executor, peer, form)
            for peer, form in enumerate(forms)
            if form.length and reads[peer]
        }
        for turn in range(max(form.pieces for form in forms)):
            if turn < forms[rank].pieces:
                first, last = forms[rank].part(turn)
                constants, columns = going
                self._hub.publish(
                    [*constants, *(column[first:last] for column in columns)], readers
                )
            for peer, form in enumerate(forms):
                if peer == rank or turn >= form.pieces:
                    continue
                if reads[peer]:
                    self._receive(peer, form, turn, rooms[peer])
                else:
                    self._hub.skip(peer)
        self._hub.join()
        for peer in rooms:
            self._unpack(executor, peer, forms[peer].what)

    def _room_of(self, executor: CudaExecutor, peer: int, form: _Form) -> list[DeviceArray]:
        """Return where the message of a peer is received: its constants, then its columns."""
        refinement, most = executor.refinement, int(self._held[peer, self._comm.rank])
        if form.what == BITS:
            assert isinstance(refinement, FrontierRefinement)
            constants, columns = _arrays_of(refinement.expect_bits(peer, most), BITS)
            if self._outboxes.ghosts[peer] is not None:
                columns[0].fill(0)
            return [*constants, *columns]
        if form.what == WHOLE and not self._frontier:
            update = refinement.arrivals(peer, self._ghosts[peer])
        else:
            update = refinement.expect(peer, most, most, listed=form.what == LISTED)
        return _arrays_of(update, form.what)[1]

    def _receive(self, peer: int, form: _Form, turn: int, room: list[DeviceArray]) -> None:
        """Queue the reading of one piece of a peer's message."""
        first, last = form.part(turn)
        count, fixed = last - first, len(form.constants)
        kinds = [(kind, 1) for kind in form.constants] + [(kind, count) for kind in form.columns]
        received = self._hub.receive(peer, kinds)
        ghosts = self._outboxes.ghosts[peer]
        for array, target in zip(received[:fixed], room[:fixed], strict=True):
            self._hub.copy(array, target)
        columns, targets = received[fixed:], room[fixed:]
        if ghosts is None:
            for array, target in zip(columns, targets, strict=True):
                self._hub.copy(array, target[first:last])
        elif form.what == WHOLE:
            for array, target in zip(columns, targets, strict=True):
                self._launch("place_held", count, first, count, ghosts, _bare(array), _bare(target))
        elif form.what == LISTED:
            self._receive_listed(peer, ghosts, first, columns, targets)
        else:
            begin, entries = WORD * first, min(WORD * count, len(ghosts) - WORD * first)
            self._launch("spread_bits", entries, begin, entries, ghosts, columns[0], targets[0])
        self._hub.release(peer)

    def _receive_listed(
        self,
        peer: int,
        ghosts: DeviceArray,
        first: int,
        columns: Sequence[DeviceArray],
        targets: Sequence[DeviceArray],
    ) -> None:
        """Queue the reading of those of a piece's listed vertices that are ghosts here."""
        count = len(columns[0])
        if peer not in self._picked:
            self._picked[peer] = device().xp.empty(len(targets[0]), np.int64)
        picked = self._picked[peer]
        self._launch(
            "list_held", count, first, count, ghosts, len(ghosts), columns[0], targets[0], picked,
            self._found, peer,
        )  # fmt: skip
        for array, target in zip(columns[1:], targets[1:], strict=True):
            self._launch(
                "pick_held", min(count, len(target)), first, count, picked, self._found, peer,
                _bare(array), _bare(target),
            )  # fmt: skip

    def _unpack(self, executor: CudaExecutor, peer: int, what: int) -> None:
        """Queue the unpacking of what was received from a peer."""
        rank, refinement, ghosts = self._comm.rank, executor.refinement, self._ghosts[peer]
        if what == BITS:
            assert isinstance(refinement, FrontierRefinement)
            refinement.take_bits(peer, ghosts)
        elif what == LISTED:
            straight = self._outboxes.ghosts[peer] is None
            refinement.take(
                peer, ghosts, listed=True,
                headers=self._headers if straight else self._found,
                slot=int(self._places[peer, rank]) if straight else peer,
            )  # fmt: skip
        elif self._frontier:
            refinement.take(peer, ghosts, listed=False, headers=self._headers, slot=-1)

    def _launch(self, name: str, items: int, *arguments: Any) -> None:
        if items:
            self._kernels.launch(name, *launch_shape(device(), items), *arguments)


def _arrays_of(update: BoundaryUpdate, what: int) -> tuple[list[DeviceArray], list[DeviceArray]]:
    """Return the arrays of a message in the order of its form: constants, and columns."""
    if what == BITS:
        return [field[:1] for field in update.fields], [update.bits]
    if what == LISTED:
        return [], [update.places, *update.fields]
    return [], [*update.fields, *([] if update.active is None else [update.active])]


def _bare(array: DeviceArray) -> DeviceArray:
    """Return an array as unsigned integers of the same width."""
    return array.view(f"u{array.dtype.itemsize}")

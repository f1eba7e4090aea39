"""Messages of the host hub, queued as on GPUs: nothing runs when it is queued, and hosts may wait at any time.

The driver may put two streams on one of the GPU's hardware queues, where work waits for all that was queued before it in
either.  And it may let a host wait for its GPU where none is asked for: as it loads a kernel, or frees memory.  Whatever
ranks send each other, neither may end in ranks that wait for one another.
"""

from __future__ import annotations

import queue
import random
import threading
import time

import numpy as np
import pytest
from thread_ranks import on_ranks

from cugraph_ws.accelerators.hub import messages
from cugraph_ws.accelerators.hub.messages import HostHub, segment_size

ROOM = 1 << 10  # bytes of a buffer; a quarter of that for a single rank
WITHIN = 20.0  # seconds for a wait
STEPS = 20


class Lane:
    """A hardware queue: does in turn what it is told."""

    def __init__(self):
        self._waiting = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def _work(self):
        while (do := self._waiting.get()) is not None:
            do()

    def add(self, do):
        self._waiting.put(do)

    def record(self):
        """Return an event that is set once all that was added before is done."""
        event = threading.Event()
        self.add(event.set)
        return event


class LateQueue:
    """A GPU's queue, and what goes beside it, in one lane or in two."""

    def __init__(self, segments, *, lanes, late):
        self._segments, self._late = segments, late
        self._words = [segment[: len(segment) // 8 * 8].view(np.int64) for segment in segments]
        self._main = self._now = Lane()
        self._side = Lane() if lanes == 2 else self._main
        self.stuck = []

    def _later(self, do):
        self._now.add(do)

    def put(self, array, owner, offset):
        def do():
            time.sleep(self._late() * 1e-4)
            self._segments[owner][offset : offset + array.nbytes] = array.reshape(-1).view(np.uint8)

        self._later(do)

    def take(self, source, target):
        def do():
            target[...] = source.reshape(target.shape).view(target.dtype)

        self._later(do)

    def view(self, owner, offset, kind, count):
        kind = np.dtype(kind)
        return self._segments[owner][offset : offset + count * kind.itemsize].view(kind)

    def signal(self, owner, word, value):
        def do():
            self._words[owner][word] = value

        self._later(do)

    def wait(self, owner, word, value):
        def do():
            until = time.monotonic() + WITHIN
            while self._words[owner][word] < value and not self.stuck:
                if time.monotonic() > until:
                    self.stuck.append((owner, word, value))
                time.sleep(1e-5)

        self._later(do)

    def fork(self):
        before = self._main.record()
        if self._side is not self._main:
            self._side.add(before.wait)
        self._now = self._side

    def back(self):
        self._now = self._main

    def join(self):
        after = self._side.record()
        if self._side is not self._main:
            self._main.add(after.wait)

    def drain(self):
        """Wait for all that was queued, as the host does for its GPU."""
        assert self._side.record().wait(WITHIN)
        assert self._main.record().wait(WITHIN)
        assert not self.stuck


def steps_of(seed, size):
    """Return what ranks do, the same for all of them."""
    drawn = random.Random(seed)
    steps = []
    for _ in range(STEPS):
        what = drawn.choice(["gather", "post", "publish", "publish"])
        lengths = [[drawn.choice([0, 3, 60, 700]) for _ in range(size)] for _ in range(size)]
        reads = [[drawn.random() < 0.7 for _ in range(size)] for _ in range(size)]
        waits = [drawn.random() < 0.3 for _ in range(size)]
        steps.append((what, lengths, reads, waits))
    return steps


def numbers(turn, sender, receiver, count):
    return (np.arange(count) + 1_000 * turn + 100 * sender + 10 * receiver).astype(np.int32)


def exchange(hub, rank, size, number, lengths, reads):
    """Send each rank's first array to its readers, in pieces; return arrays and what they must become."""
    counts, piece = [row[0] for row in lengths], ROOM // 4
    own = numbers(number, rank, 0, counts[rank])
    readers = [one for one in range(size) if one != rank and reads[rank][one]]
    targets = {
        one: np.zeros(counts[one], np.int32)
        for one in range(size)
        if one != rank and reads[one][rank]
    }
    for turn in range(max(-(-count // piece) for count in counts)):
        first = turn * piece
        if first < counts[rank]:
            hub.publish([own[first : first + piece]], readers)
        for peer in range(size):
            if peer == rank or first >= counts[peer]:
                continue
            if peer not in targets:
                hub.skip(peer)
                continue
            room = targets[peer][first : first + piece]
            (came,) = hub.receive(peer, [(np.int32, len(room))])
            hub.copy(came, room)
            hub.release(peer)
    hub.join()
    kept = [(target, numbers(number, one, 0, counts[one])) for one, target in targets.items()]
    return [*kept, (own, own)]


@pytest.mark.parametrize("lanes", [1, 2])
@pytest.mark.parametrize(("size", "seed"), [(2, 1), (2, 2), (3, 3), (3, 4), (4, 5), (4, 6)])
def test_no_rank_waits_for_itself(monkeypatch, lanes, size, seed):
    monkeypatch.setattr(messages, "BESIDE", 200)  # bytes: some messages go beside, others do not
    segments = [np.zeros(segment_size(size, ROOM), np.uint8) for _ in range(size)]
    steps = steps_of(seed, size)

    def work(comm):
        rank = comm.rank
        late = random.Random(100 * seed + rank)
        gpu = LateQueue(segments, lanes=lanes, late=late.random)
        hub = HostHub(gpu, rank, size, ROOM)
        kept = []  # arrays must live until they have been copied
        for number, (what, lengths, reads, waits) in enumerate(steps):
            if what == "gather":
                everyone = np.zeros(5 * size, np.int32)
                hub.gather(numbers(number, rank, 0, 5), everyone)
                kept.append(
                    (everyone, np.concatenate([numbers(number, one, 0, 5) for one in range(size)]))
                )
            elif what == "post":
                sent = [
                    [numbers(number, rank, one, lengths[rank][one])] if one != rank else []
                    for one in range(size)
                ]
                taken = [
                    [np.zeros(lengths[one][rank], np.int32)] if one != rank else []
                    for one in range(size)
                ]
                hub.post(sent, taken)
                kept += [
                    (one[0], numbers(number, peer, rank, lengths[peer][rank]))
                    for peer, one in enumerate(taken)
                    if one
                ]
                kept += [(one[0], one[0]) for one in sent if one]
            else:
                kept += exchange(hub, rank, size, number, lengths, reads)
            if waits[rank]:
                gpu.drain()
        gpu.drain()
        for found, expected in kept:
            np.testing.assert_array_equal(found, expected)

    on_ranks(size, work)

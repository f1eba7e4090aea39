"""Loads by warps that `bench.gpu.loads` counts from addresses, against those of the emulator."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

import numpy as np
import pytest
from emulator import memory, warps
from emulator.device import emulated
from emulator.memory import now
from plans import planned
from shapes import build, random_edges, rmat
from verify import Edges

import cugraph_ws as ws
from bench.gpu import loads
from cugraph_ws.accelerators.gshards import arc_shards
from cugraph_ws.backends.cuda import schedule

THREADS = 64
OFFSETS = "adjacency[0]"
PLACES, SLOTS = "shards[2]", "slots[0]"
# What is counted, by kernel and parameter
SHARE = "state[1]"  # PageRank's, in float32
COUNTED = {
    "superstep": (OFFSETS, "adjacency[1]", SHARE),
    "virtual_warps": (OFFSETS, "adjacency[1]", SHARE),
    "fill_slots": ("mapper", "sources", SHARE),
    "gather_shards": (OFFSETS, PLACES, SLOTS, "shards[4]", "shards[5]", SHARE),
}
GRAPHS = {"skewed": rmat(7, 6, seed=4), "sparse": random_edges(300, 500, seed=2)}


def lines_to(frame: Any) -> tuple[Any, ...]:
    """Return the lines that called, from a frame's up to the kernel's own."""
    site = [(frame.f_code, frame.f_lineno)]
    while frame.f_code is not now.machine.entry:
        frame = frame.f_back
        site.append((frame.f_code, frame.f_lineno))
    return tuple(site)


class Recorder:
    """Loads of the arrays that are counted, put together by warp as the hardware would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loads: dict[Any, dict[Any, set[int]]] = defaultdict(lambda: defaultdict(set))
        self._lanes: dict[Any, Counter[Any]] = defaultdict(Counter)
        self._epochs: Counter[Any] = Counter()  # collectives that a lane has been through
        self._turn: dict[Any, int] = {}
        site_of, read = warps.call_site, memory.Array._read

        def counted_site(lane: Any, frame: Any) -> Any:
            self._epochs[lane] += 1
            return site_of(lane, frame)

        def counted_read(array: Any, index: Any, frame: Any) -> Any:
            kernel = now.machine.entry.co_name
            own = "load_own" in (frame.f_code.co_name, frame.f_back.f_code.co_name)
            if array.name in COUNTED.get(kernel, ()) and not array.shared and not own:
                self._record(kernel, array, int(index), lines_to(frame))
            return read(array, index, frame)

        monkeypatch.setattr(warps, "call_site", counted_site)
        monkeypatch.setattr(memory.Array, "_read", counted_read)

    def _record(self, kernel: str, array: Any, index: int, site: Any) -> None:
        lane = now.lane
        place = now.machine, lane, self._epochs[lane], site
        turn = self._lanes[kernel, array.name][place]
        self._lanes[kernel, array.name][place] += 1
        if array.name == PLACES:
            self._turn[lane] = turn
        elif array.name == SLOTS:  # read where there is a place: a lane may leave out a turn
            turn = self._turn[lane]
        request = now.machine, lane.warp, self._epochs[lane], site, turn
        self.loads[kernel, array.name, site][request].add((lane, index, array.cells.itemsize))

    def total(self) -> loads.Loads:
        """Add up what `loads` counts."""
        found = loads.Loads()
        last = sorted({site[-1][1] for kernel, name, site in self.loads
                       if (kernel, name) == ("gather_shards", OFFSETS)})[-2:]  # fmt: skip
        for (kernel, name, site), requests in self.loads.items():
            if name == OFFSETS and kernel == "gather_shards" and site[-1][1] not in last:
                continue
            for lanes in requests.values():
                size = next(iter(lanes))[2]
                places = {index for _, index, _ in lanes}
                sectors = {index * size // loads.SECTOR for index in places}
                found += loads.Loads(1, len(lanes), len(sectors), size * len(places))
        return found


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("layout", ["csc", "vwc-4", "gshards", "windows"])
def test_loads_are_those_of_the_emulator(
    name: str, layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    edges = GRAPHS[name]
    for what, value in (("HUB", 60), ("MIDDLE_OF_FEW", 20), ("CHUNK", 40)):
        monkeypatch.setattr(schedule, what, value)
    monkeypatch.setattr(arc_shards, "SHARED", 600)
    monkeypatch.setattr(arc_shards, "BLOCK", THREADS)
    edges = Edges(edges.source, edges.destination, edges.n)
    with build(edges) as graph, emulated(seed=5, threads=THREADS):
        recorder = Recorder(monkeypatch)
        given = {"method": layout} if layout.startswith("vwc") else {"layout": layout}
        ws.run(ws.PageRank, graph, **planned(engine="cuda", max_iter=1, tol=0.0, **given))
        laid = graph.on_device()
        found = (
            loads.csc_loads(np, laid) if layout == "csc"
            else loads.virtual_warp_loads(np, laid, 4) if layout == "vwc-4"
            else loads.shard_loads(np, laid, laid._layouts[layout][1], THREADS)
        )  # fmt: skip
    assert found == recorder.total()
    assert 0 < found.efficiency <= 1
    assert 0 < found.active <= 1

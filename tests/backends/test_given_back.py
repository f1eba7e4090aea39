"""Graphs give back what they can make again when memory on the GPU is short: the one used longest ago first."""

from __future__ import annotations

import logging
from functools import partial

import numpy as np
import pandas as pd
import pytest
from emulator.device import emulated

import cugraph_ws as ws
from cugraph_ws.backends.cuda import memory
from cugraph_ws.backends.cuda.memory import room_for
from cugraph_ws.errors import GraphMemoryError
from cugraph_ws.execution.driver import drive

VERTICES, EDGES = 60, 500


@pytest.fixture
def gpu(monkeypatch):
    """A device whose free memory is what graphs leave."""
    monkeypatch.setattr(memory, "_GIVING", type(memory._GIVING)())
    with emulated() as device:
        monkeypatch.setattr(
            device,
            "free_memory",
            lambda: device.memory - sum(graph.nbytes for graph in memory._GIVING),
        )
        yield device


def graph_of(seed: int) -> ws.Graph:
    random = np.random.default_rng(seed)
    ends = random.integers(0, VERTICES, (2, EDGES))
    return ws.Graph(
        pd.DataFrame({"source": ends[0], "destination": ends[1], "weight": random.random(EDGES)})
    )


def test_the_graph_used_longest_ago_gives_back_first(gpu, caplog, monkeypatch):
    monkeypatch.setattr(logging.getLogger("cugraph_ws"), "disabled", False)
    graphs = [graph_of(seed) for seed in range(3)]
    expected = [ws.sssp(graph, 5, engine="cuda") for graph in graphs]
    first, second, third = (graph.on_device() for graph in graphs)
    _ = first.csr  # the second is now the one used longest ago
    held = [laid.nbytes for laid in (first, second, third)]
    csr = sum(array.nbytes for array in second.csr) + 4 * EDGES  # with places
    _ = first.csr, third.csr
    with caplog.at_level(logging.INFO, "cugraph_ws"):
        assert room_for(gpu.free_memory()) == gpu.free_memory()
        assert "gave back" not in caplog.text
        assert room_for(gpu.free_memory() + 1) > gpu.free_memory() - 1
    assert "a graph gave back" in caplog.text
    assert [laid.nbytes for laid in (first, third)] == [held[0], held[2]]
    assert held[1] - second.nbytes >= csr + 2 * 8 * EDGES  # values in both orders, too
    for graph, answer in zip(graphs, expected, strict=True):  # what was given back is made again
        assert ws.sssp(graph, 5, engine="cuda").equals(answer)


def test_what_later_runs_of_a_list_need_is_given_back_last(gpu, monkeypatch):
    """Between two runs another graph is used, so the list's own is the one used longest ago."""
    graph, other = graph_of(1), graph_of(2)
    ws.sssp(other, 5, engine="cuda")
    laid, beside = graph.on_device(), other.on_device()
    seen = []

    def crowded(update):
        """Use the other graph, and need memory that it alone can give."""
        if not seen:
            _ = laid.csr, beside.csr
            held, missing = laid.nbytes, 1
            gpu.memory = laid.nbytes + beside.nbytes
            before = beside.nbytes
            assert room_for(missing) >= missing
            seen.append((laid.nbytes == held, beside.nbytes < before, before - beside.nbytes))
            gpu.memory = 1 << 30

    runs = [(ws.SSSP, {"start": 5}), (ws.SSSP, {"start": 7})]
    monkeypatch.setattr("cugraph_ws.execution.run_many.drive", with_call(crowded))
    first, second = ws.run_many(runs, graph, engine="cuda")
    assert seen[0][:2] == (True, True)
    given = [result.trace["given_back"].sum() for result in (first,)]
    assert given == [seen[0][2]]
    assert "given_back" not in second.trace.columns
    for result, start in ((first, 5), (second, 7)):
        assert result.frame.equals(ws.run(ws.SSSP, graph, start=start, engine="cuda").frame)
    assert not memory._LATER
    _ = laid.csr, beside.csr
    gpu.memory, before = laid.nbytes + beside.nbytes, laid.nbytes
    assert room_for(1) >= 1  # without a list, the graph used longest ago gives back
    assert laid.nbytes < before


def with_call(call):
    """Return `drive` with a call as each run starts."""

    def started(start, *arguments, **options):
        call(None)
        start(*arguments, **options)

    def driven(loop, graph, options):
        loop.start = partial(started, loop.start)
        return drive(loop, graph, options)

    return driven


def test_a_run_fits_after_others_gave_back(gpu):
    first, second = graph_of(1), graph_of(2)
    ws.sssp(first, 5, engine="cuda")
    answer = ws.sssp(second, 5, engine="cuda")
    second.close()
    second, held = graph_of(2), first.on_device().nbytes
    gpu.memory = held + 20_000  # bytes; the copy of the second takes 20.9 KiB while it is built
    assert ws.sssp(second, 5, engine="cuda").equals(answer)
    assert first.on_device().nbytes < held / 2
    gpu.memory = first.on_device().nbytes + 4_000
    with pytest.raises(GraphMemoryError, match="of GPU memory"):
        ws.sssp(graph_of(3), 5, engine="cuda")


def test_what_is_being_made_is_not_given_back(gpu):
    import threading

    laid = graph_of(1).on_device()
    _ = laid.csr
    held = threading.Thread(target=laid._lock.acquire)
    held.start()
    held.join()
    assert laid.give_back() == 0
    assert len(laid._layouts) == 0

"""The sweep over shares of two unlike workers, on CPUs, and what it says where no GPU can be divided."""

from __future__ import annotations

import numpy as np
import pytest
from ci_scripts import of

import cugraph_ws as ws
from cugraph_ws.dask import graph as dask_graph

pytestmark = pytest.mark.xdist_group("scan")

VERTICES = 1 << 10


@pytest.fixture(scope="module")
def unlike():
    """Workers of one and of two threads."""
    with of("cluster.unlike").of_threads([1, 2]) as started:
        yield started


def test_partitions_cover_all_vertices():
    shares = of("cluster.shares")
    parts = [shares.banded_part(place, 100, on_gpu=False) for place in range(shares.PLACES)]
    ends = np.concatenate([part["destination"] for part in parts])
    np.testing.assert_array_equal(ends, np.repeat(np.arange(100), shares.DEGREE))
    assert all(part["source"].between(0, 99).all() for part in parts)


def test_a_sweep(unlike):
    client, addresses = unlike
    assert [client.nthreads()[one] for one in addresses] == [1, 2]
    sweep = of("cluster.shares").Sweep(
        client, addresses, VERTICES, on_gpu=False, repeats=1, supersteps=4
    )
    assert all(sweep.milliseconds(share) > 0 for share in (0.1, 0.9))
    sweep._expected = sweep._expected * 2
    with pytest.raises(AssertionError):
        sweep.milliseconds(0.5)
    assert 0 < sweep.measured() < 1


def test_measured_speeds_are_the_shares_of_a_graph(unlike, monkeypatch):
    """The slower worker gets less work; the answer is that of equal shares."""
    client, addresses = unlike
    edges = (
        of("cluster.shares")
        .Sweep(client, addresses, VERTICES, on_gpu=False, repeats=1, supersteps=4)
        ._edges
    )

    asked = []

    def scan(client, workers, *, engine):
        asked.append((workers, engine))
        return ws.ClusterScan([], [], [0.5, 1.5], "dask", {})

    monkeypatch.setattr(dask_graph, "cluster_scan", scan)
    found = {}
    for balance in ("auto", "even"):
        with ws.Graph(edges, workers=addresses, balance=balance, client=client) as graph:
            arcs = [one["arcs"] for one in graph.partitions]
            found[balance] = ws.bfs(graph, 0).compute().reset_index(drop=True)
        part = arcs[0] / sum(arcs)
        assert part == pytest.approx(0.25 if balance == "auto" else 0.5, abs=0.01)
    assert asked == [(addresses, "cpu")]
    assert found["auto"].equals(found["even"])


def test_the_table():
    times = {0.1: 9.0, 0.5: 4.0, 0.9: 8.0}
    table = of("cluster.shares").table_of("two", times, 0.3, 5.0)
    assert table.rows == [
        ["10%", "9", "2.25"], ["50%", "4", "1.00"], ["90%", "8", "2.00"],
        ["measured: 30%", "5", "1.25"],
    ]  # fmt: skip


class TestService:
    def main(self):
        return of("cluster.shares").main(["--percent", "30", "70"])

    def test_is_not_installed(self, monkeypatch, capsys):
        monkeypatch.setenv("PATH", "/nonexistent")
        assert self.main() == 1
        assert capsys.readouterr().out == (
            "no parts of a GPU: nvidia-cuda-mps-control is not installed\n"
        )

    @pytest.mark.parametrize(
        ("script", "why"),
        [
            ("echo no right to >&2; exit 1", "-d has failed: no right to"),
            (
                '[ "$1" = -d ] || cat > $0.asked',
                "a client of the service has failed: RuntimeError: no",
            ),
        ],
    )
    def test_fails(self, script, why, tmp_path, monkeypatch, capsys):
        unlike = of("cluster.unlike")
        control = tmp_path / unlike.CONTROL
        control.write_text(f"#!/bin/sh\n{script}\n")
        control.chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        monkeypatch.setattr(unlike, "TRY", "raise RuntimeError('no')")
        assert self.main() == 1
        assert why in capsys.readouterr().out
        told = tmp_path / f"{unlike.CONTROL}.asked"
        if "client" in why:
            assert told.read_text() == "quit\n", "the service is ended"

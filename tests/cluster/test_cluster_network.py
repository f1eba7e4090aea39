"""Workers with addresses of their own: one whose network is cut off in mid-run is a lost worker."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import WITHIN, assert_same, eventually, spread_edges
from distributed import Client
from programs import Endless
from shapes import edge_frame, rmat

import cugraph_ws as ws

pytestmark = pytest.mark.xdist_group("cluster")

EDGES = rmat(8, 6, seed=81)
SIZE = 3
TESTS = Path(__file__).parents[1]


def ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, timeout=30)


def why_not() -> str | None:
    """Return why there can be no namespaces here, or None."""
    if shutil.which("ip") is None:
        return "iproute2 is not installed"
    name = f"try{os.getpid()}"
    try:
        ip("netns", "add", name)
    except subprocess.CalledProcessError as error:
        return f"no network namespaces here: {error.stderr.decode().strip()}"
    ip("netns", "del", name)
    return None


class Town:
    """A bridge, and houses at it: network namespaces of one address each.

    Attributes
    ----------
    hosts : list of str
        The address of each house; the bridge itself is `here`.
    """

    def __init__(self, size: int) -> None:
        tag = f"{os.getpid() % 0x10000:x}"
        net = f"10.213.{os.getpid() % 250}"
        self.bridge, self.here = f"ws{tag}", f"{net}.254"
        self.names = [f"ws{tag}n{rank}" for rank in range(size)]
        self.hosts = [f"{net}.{rank + 1}" for rank in range(size)]
        self._mask = "24"

    def build(self) -> None:
        ip("link", "add", self.bridge, "type", "bridge")
        ip("addr", "add", f"{self.here}/{self._mask}", "dev", self.bridge)
        ip("link", "set", self.bridge, "up")
        for name, host in zip(self.names, self.hosts, strict=True):
            ip("netns", "add", name)
            ip(
                "link",
                "add",
                self.door(name),
                "type",
                "veth",
                "peer",
                "name",
                "eth0",
                "netns",
                name,
            )
            ip("link", "set", self.door(name), "master", self.bridge, "up")
            ip("-n", name, "addr", "add", f"{host}/{self._mask}", "dev", "eth0")
            ip("-n", name, "link", "set", "eth0", "up")
            ip("-n", name, "link", "set", "lo", "up")

    @staticmethod
    def door(name: str) -> str:
        """Return the name of a house's link, on the bridge's side."""
        return f"{name}d"

    def cut(self, name: str) -> None:
        """Take a house off the bridge: packets vanish, nobody is told."""
        ip("link", "set", self.door(name), "down")

    def join(self, name: str) -> None:
        ip("link", "set", self.door(name), "up")

    def tear_down(self) -> None:
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)
        subprocess.run(["ip", "link", "del", self.bridge], check=False, capture_output=True)


@pytest.fixture(scope="module")
def town() -> Iterator[Town]:
    reason = why_not()
    if reason is not None:
        pytest.skip(reason)
    built = Town(SIZE)
    try:
        built.build()
        yield built
    finally:
        built.tear_down()


@pytest.fixture(scope="module")
def client(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("town")
    paths = [str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    address = f"tcp://{town.here}:18786"
    dask = [sys.executable, "-m", "dask"]
    started: list[subprocess.Popen[bytes]] = []
    over = threading.Event()

    def start(*command: str) -> subprocess.Popen[bytes]:
        with (folder / f"{len(started)}.log").open("wb") as log:
            process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
        started.append(process)
        return process

    def keep(name: str, host: str) -> None:
        """Run a worker, and another one when it ends."""
        while not over.is_set():
            start(
                "ip", "netns", "exec", name, *dask, "worker", address, "--host", host,
                "--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60",
            ).wait()  # fmt: skip

    houses = zip(town.names, town.hosts, strict=True)
    keepers = [threading.Thread(target=keep, args=house, daemon=True) for house in houses]
    try:
        start(*dask, "scheduler", "--host", town.here, "--port", "18786", "--no-dashboard")
        for keeper in keepers:
            keeper.start()
        with Client(address, timeout=60) as connected:
            connected.wait_for_workers(SIZE, timeout=60)
            yield connected
    finally:
        over.set()
        for process in reversed(started):
            process.kill()
        for keeper in keepers:
            keeper.join(30)
        for process in started:
            process.wait(30)


def address_of(client: Client, host: str) -> str:
    return next(one for one in client.nthreads() if host in one)


def test_workers_have_addresses_of_their_own(client, town):
    with ws.Graph(spread_edges(EDGES), weight="weight") as graph:
        used = [one["worker"] for one in graph.partitions]
        assert {one.split("//")[1].split(":")[0] for one in used} == set(town.hosts)
        assert_same(ws.sssp(graph, 0), ws.sssp(edge_frame(EDGES), 0, weight="weight"))


@pytest.mark.parametrize("rank", [0, SIZE - 1])
def test_a_worker_cut_off_in_mid_run_is_lost(client, town, rank):
    client.wait_for_workers(SIZE, timeout=60)
    lost = address_of(client, town.hosts[rank])
    timer = threading.Timer(1.0, town.cut, (town.names[rank],))
    with ws.Graph(spread_edges(EDGES), weight="weight") as graph:
        ws.run(Endless, graph, max_iter=2)
        timer.start()
        begun = time.monotonic()
        try:
            with pytest.raises(ws.WorkerLostError, match=lost):
                ws.run(Endless, graph)
            assert time.monotonic() - begun < WITHIN
            others = [one for one in client.nthreads() if one != lost]
            with ws.Graph(spread_edges(EDGES), workers=others) as rest:
                found = ws.bfs(rest, 0)
                assert_same(found, ws.bfs(edge_frame(EDGES), 0))
        finally:
            timer.join()
            town.join(town.names[rank])
    eventually(lambda: len(client.nthreads()) == SIZE, 60.0)

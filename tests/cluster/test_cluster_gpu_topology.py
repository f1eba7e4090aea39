"""How GPUs are connected, by what a stand-in for NVML says of hosts that are made up."""

from __future__ import annotations

import sys

import pytest
from stand_in_pynvml import LEVELS, Gpu, Nvml

from cugraph_ws.dask.gpu_topology import gpu_links

SWITCH = 200  # a bus without a GPU


@pytest.fixture
def host(monkeypatch):
    """Return a function that makes the GPUs of the host; NVML is left shut down."""
    hosts = []

    def make(*gpus, **options):
        hosts.append(Nvml(list(gpus), **options))
        monkeypatch.setitem(sys.modules, "pynvml", hosts[-1])

    yield make
    assert [nvml.users for nvml in hosts] == [0] * len(hosts)


def pair(first, second):
    return frozenset({f"GPU-{first}", f"GPU-{second}"})


def test_nvlinks_from_gpu_to_gpu(host):
    """As on a host of four without switches: two links to one, one to another, none to the third."""
    host(
        Gpu("GPU-a", 1, [2, 3, 2, "down"]), Gpu("GPU-b", 2, [1, 1]), Gpu("GPU-c", 3, [1]),
        Gpu("GPU-d", 4), switched=("GPU-a", "GPU-b"), levels={pair("a", "d"): "SYSTEM"},
    )  # fmt: skip
    assert gpu_links("GPU-a") == {
        "GPU-b": "NVLink, 2 lanes", "GPU-c": "NVLink, 1 lanes", "GPU-d": "PCIe (SYS)",
    }  # fmt: skip


@pytest.mark.parametrize("end", [SWITCH, "hidden"])
def test_nvlinks_through_switches(host, end):
    """All links lead to switches, which the driver may hide; one GPU is not on them."""
    host(
        Gpu("GPU-a", 1, [end] * 18), Gpu("GPU-b", 2, [end] * 18), Gpu("GPU-c", 3, [end] * 18),
        switched=("GPU-a", "GPU-b"), levels={pair("a", "c"): "NODE", pair("b", "c"): "NODE"},
    )  # fmt: skip
    assert gpu_links("GPU-a") == {"GPU-b": "NVLink, 18 lanes", "GPU-c": "PCIe (NODE)"}
    assert gpu_links("GPU-b") == {"GPU-a": "NVLink, 18 lanes", "GPU-c": "PCIe (NODE)"}


@pytest.mark.parametrize(
    ("level", "word"),
    [
        ("INTERNAL", "PSB"), ("SINGLE", "PIX"), ("MULTIPLE", "PXB"), ("HOSTBRIDGE", "PHB"),
        ("NODE", "NODE"), ("SYSTEM", "SYS"),
    ],
)  # fmt: skip
def test_pcie(host, level, word):
    host(Gpu("GPU-a", 1), Gpu("GPU-b", 2), levels={pair("a", "b"): level})
    assert gpu_links("GPU-a") == {"GPU-b": f"PCIe ({word})"}


def test_a_level_that_is_new(host, monkeypatch):
    monkeypatch.setitem(LEVELS, "CXL", 60)
    host(Gpu("GPU-a", 1), Gpu("GPU-b", 2), levels={pair("a", "b"): "CXL"})
    del sys.modules["pynvml"].NVML_TOPOLOGY_CXL
    assert gpu_links("GPU-a") == {"GPU-b": "PCIe (level 60)"}


@pytest.mark.parametrize("uuid", ["", "GPU-of-an-instance"])
def test_an_instance_of_a_gpu_has_no_links(host, uuid):
    """The driver gives an instance (MIG) a UUID that no GPU of the list has."""
    host(Gpu("GPU-a", 1), Gpu("GPU-b", 2))
    assert gpu_links(uuid) == {}


def test_a_driver_that_refuses(host):
    host(Gpu("GPU-a", 1), Gpu("GPU-b", 2))
    nvml = sys.modules["pynvml"]

    def refuse(*_):
        raise nvml.NVMLError

    nvml.nvmlDeviceGetTopologyCommonAncestor = refuse
    assert gpu_links("GPU-a") == {}


def test_neither_driver_nor_package(host, monkeypatch):
    host(Gpu("GPU-a", 1), Gpu("GPU-b", 2), driver="")
    assert gpu_links("GPU-a") == {}
    monkeypatch.setitem(sys.modules, "pynvml", None)
    assert gpu_links("GPU-a") == {}

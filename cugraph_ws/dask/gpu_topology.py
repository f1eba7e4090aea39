"""GPU topology: how the GPUs of a host are connected, according to NVML."""

from __future__ import annotations

from typing import Any

__all__ = ["gpu_links"]

Nvml = Any  # the module `pynvml`
Place = tuple[int, int, int]  # domain, bus and device of PCI

# What `nvidia-smi topo -m` calls the nearest PCIe ancestor of two GPUs, by the name of NVML's constant
_ANCESTORS = {
    "INTERNAL": "PSB",
    "SINGLE": "PIX",
    "MULTIPLE": "PXB",
    "HOSTBRIDGE": "PHB",
    "NODE": "NODE",
    "SYSTEM": "SYS",
}


def gpu_links(uuid: str) -> dict[str, str]:
    """Return how one GPU is connected with the others of this host.

    Parameters
    ----------
    uuid : str
        The GPU's UUID.

    Returns
    -------
    dict of str to str
        By UUID of the other GPU: "NVLink, 18 lanes" or "PCIe (PHB)", in the words of `nvidia-smi
        topo -m`.  Empty without `nvidia-ml-py` or a driver, and for an instance of a GPU (MIG).
    """
    try:
        import pynvml
    except ImportError:
        return {}
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:
        return {}
    try:
        return _links(pynvml, uuid)
    except pynvml.NVMLError:
        return {}
    finally:
        pynvml.nvmlShutdown()


def _links(nvml: Nvml, uuid: str) -> dict[str, str]:
    gpus = {}
    for index in range(nvml.nvmlDeviceGetCount()):
        gpu = nvml.nvmlDeviceGetHandleByIndex(index)
        gpus[nvml.nvmlDeviceGetUUID(gpu)] = gpu
    if uuid not in gpus:
        return {}
    places = {name: _place(nvml.nvmlDeviceGetPciInfo(gpu)) for name, gpu in gpus.items()}
    ends = _nvlink_ends(nvml, gpus[uuid])
    links = {}
    for name, gpu in gpus.items():
        if name == uuid:
            continue
        lanes = ends.count(places[name])
        if not lanes and _shares_nvlink(nvml, gpus[uuid], gpu):
            lanes = sum(end not in places.values() for end in ends)  # to switches
        links[name] = f"NVLink, {lanes} lanes" if lanes else _pcie(nvml, gpus[uuid], gpu)
    return links


def _place(pci: Any) -> Place:
    return pci.domain, pci.bus, pci.device


def _nvlink_ends(nvml: Nvml, gpu: Any) -> list[Place | None]:
    """Return where the other end of each active NVLink is; None if the driver does not tell."""
    ends: list[Place | None] = []
    for link in range(nvml.NVML_NVLINK_MAX_LINKS):
        try:
            if nvml.nvmlDeviceGetNvLinkState(gpu, link) != nvml.NVML_FEATURE_ENABLED:
                continue
        except nvml.NVMLError:  # the GPU has fewer links, or none
            continue
        try:
            ends.append(_place(nvml.nvmlDeviceGetNvLinkRemotePciInfo(gpu, link)))
        except nvml.NVMLError:
            ends.append(None)
    return ends


def _shares_nvlink(nvml: Nvml, first: Any, second: Any) -> bool:
    """Return whether two GPUs address each other over NVLink, perhaps through switches."""
    try:
        status = nvml.nvmlDeviceGetP2PStatus(first, second, nvml.NVML_P2P_CAPS_INDEX_NVLINK)
    except nvml.NVMLError:
        return False
    return bool(status == nvml.NVML_P2P_STATUS_OK)


def _pcie(nvml: Nvml, first: Any, second: Any) -> str:
    level = nvml.nvmlDeviceGetTopologyCommonAncestor(first, second)
    word = next(
        (
            word
            for name, word in _ANCESTORS.items()
            if getattr(nvml, f"NVML_TOPOLOGY_{name}") == level
        ),
        f"level {level}",
    )
    return f"PCIe ({word})"

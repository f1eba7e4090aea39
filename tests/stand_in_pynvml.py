"""A stand-in for `nvidia-ml-py`: what this library asks of NVML, for GPUs that a test describes.

As in NVML, every question about what a GPU does not have is an `NVMLError`, and nothing may be asked
before `nvmlInit` or after the last `nvmlShutdown`.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

__all__ = ["LEVELS", "Gpu", "Nvml"]

LEVELS = {"INTERNAL": 0, "SINGLE": 10, "MULTIPLE": 20, "HOSTBRIDGE": 30, "NODE": 40, "SYSTEM": 50}


class NVMLError(Exception):
    """What the driver refuses."""


@dataclass
class Gpu:
    """A GPU: its UUID, and the bus that each of its links leads to.

    The bus is that of a GPU or a switch, "hidden" if the driver does not tell, "down" if the link is not active.
    """

    uuid: str
    bus: int
    links: list[int | str] = field(default_factory=list)


class Nvml(types.ModuleType):
    """The module.

    `switched` are the UUIDs of GPUs that address each other over NVLink, `levels` the PCIe ancestors of
    pairs, by name; `driver` is its version, empty if it is absent.
    """

    NVMLError = NVMLError
    NVML_NVLINK_MAX_LINKS = 36
    NVML_FEATURE_ENABLED = 1
    NVML_P2P_CAPS_INDEX_NVLINK = 2
    NVML_P2P_STATUS_OK = 0

    def __init__(
        self,
        gpus: list[Gpu],
        switched: Collection[str] = (),
        levels: Mapping[frozenset[str], str] = MappingProxyType({}),
        driver: str = "580.1",
    ) -> None:
        super().__init__("pynvml")
        self.gpus, self.switched, self.levels, self.driver = gpus, switched, levels, driver
        self.users = 0
        for name, level in LEVELS.items():
            setattr(self, f"NVML_TOPOLOGY_{name}", level)

    def _ask(self, exists: bool = True) -> None:
        if not (self.users and exists):
            raise NVMLError

    def nvmlInit(self) -> None:
        if not self.driver:
            raise NVMLError
        self.users += 1

    def nvmlShutdown(self) -> None:
        self._ask()
        self.users -= 1

    def nvmlSystemGetDriverVersion(self) -> str:
        self._ask()
        return self.driver

    def nvmlDeviceGetCount(self) -> int:
        self._ask()
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> Gpu:
        self._ask(index < len(self.gpus))
        return self.gpus[index]

    def nvmlDeviceGetUUID(self, gpu: Gpu) -> str:
        self._ask()
        return gpu.uuid

    def nvmlDeviceGetName(self, gpu: Gpu) -> str:
        self._ask()
        return "NVIDIA H200"

    def nvmlDeviceGetMemoryInfo(self, gpu: Gpu) -> Any:
        self._ask()
        return types.SimpleNamespace(total=143771 << 20)

    def nvmlDeviceGetPciInfo(self, gpu: Gpu) -> Any:
        self._ask()
        return types.SimpleNamespace(domain=0, bus=gpu.bus, device=0)

    def nvmlDeviceGetNvLinkState(self, gpu: Gpu, link: int) -> int:
        self._ask(link < len(gpu.links))
        return int(gpu.links[link] != "down")

    def nvmlDeviceGetNvLinkRemotePciInfo(self, gpu: Gpu, link: int) -> Any:
        self._ask(isinstance(gpu.links[link], int))
        return types.SimpleNamespace(domain=0, bus=gpu.links[link], device=0)

    def nvmlDeviceGetP2PStatus(self, first: Gpu, second: Gpu, index: int) -> int:
        self._ask(index == self.NVML_P2P_CAPS_INDEX_NVLINK and bool(self.switched))
        return 0 if {first.uuid, second.uuid} <= set(self.switched) else 5

    def nvmlDeviceGetTopologyCommonAncestor(self, first: Gpu, second: Gpu) -> int:
        self._ask()
        return LEVELS[self.levels[frozenset({first.uuid, second.uuid})]]

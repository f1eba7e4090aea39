"""Which machine this process runs on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["host"]

BOOT = Path("/proc/sys/kernel/random/boot_id")


def host() -> tuple[str, str]:
    """Return the name of this machine, and the id of its last start, which tells namesakes apart.

    Returns
    -------
    (str, str)
        The id is empty where the system has none.  The environment variable ``NCCL_HOSTID`` takes its
        place, as it does for NCCL, which then regards processes with different ones as on different machines.
    """
    given = os.environ.get("NCCL_HOSTID", "")
    return platform.node(), given or (BOOT.read_text("utf-8").strip() if BOOT.exists() else "")

"""Which machine this process runs on."""

from __future__ import annotations

import os
import platform
from pathlib import Path

__all__ = ["host"]

BOOT = Path("/proc/sys/kernel/random/boot_id")


def host() -> tuple[str, str]:
    """Return the name of this machine and its boot id, which distinguishes machines of equal names.

    Returns
    -------
    (str, str)
        The boot id is empty if the system has none.  The environment variable ``NCCL_HOSTID`` replaces it if
        set: NCCL then treats processes with different values as on different machines, and so does the library.
    """
    host_id = os.environ.get("NCCL_HOSTID", "")
    return platform.node(), host_id or (BOOT.read_text("utf-8").strip() if BOOT.exists() else "")

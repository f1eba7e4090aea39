"""Which machine this process runs on."""

from __future__ import annotations

import platform
from pathlib import Path

__all__ = ["host"]

BOOT = Path("/proc/sys/kernel/random/boot_id")


def host() -> tuple[str, str]:
    """Return the name of this machine, and the id of its last start, which tells namesakes apart.

    Returns
    -------
    (str, str)
        The id is empty where the system has none.
    """
    return platform.node(), BOOT.read_text("utf-8").strip() if BOOT.exists() else ""

"""What a walk looks like to CUDA kernels: the name that they call.

As in `kernels.cpu.walk_interface`, a walk's own function takes its place when a kernel is instantiated.
"""

from __future__ import annotations

from cugraph_ws.kernels.cpu.walk_interface import next_edge

__all__ = ["next_edge"]

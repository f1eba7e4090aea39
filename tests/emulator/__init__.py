"""An emulator of the GPU for kernels' Python source: checks what they do, lane by lane.

    space = load(path_or_text)
    Emulator(seed=1).launch(space["kernel"], grid=4, block=64, args=(array, 7))

Each thread is a greenlet.  Threads go in a random order that the seed decides; lanes of a warp meet
at the warp's primitives, blocks and grids at their barriers.  Every access to memory is checked:
see `faults` for what a kernel can do wrong.
"""

from . import faults
from .machine import Emulator
from .source import load

__all__ = ["Emulator", "faults", "load"]

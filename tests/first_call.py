"""What a process does at its first call of a compiled function: Numba registers what it can lower, for a second.

Imported by the process that clusters' workers are forked from, so that not each of them has to.
"""

from __future__ import annotations

from numba.core.registry import cpu_target

cpu_target.typing_context.refresh()
cpu_target.target_context.refresh()

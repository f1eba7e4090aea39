"""A process that compiles kernels for another one; see `compile_ahead`.

It reads a job from each line of its input, and answers each with a line.  It ends with its input.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from cugraph_ws.runtime.compile_ahead import Job
from cugraph_ws.runtime.device_compiler import compile_if_free
from cugraph_ws.runtime.generated import import_text, kernel_file

__all__ = ["main"]


def _typed(kinds: Any) -> Any:
    return tuple(map(_typed, kinds)) if isinstance(kinds, list) else kinds


def _function(job: Job) -> Callable[[], Any]:
    """Return what imports a kernel."""

    def imported() -> Any:
        if not job.text:
            module = importlib.import_module(f"cugraph_ws.kernels.cuda.{job.module}")
        else:
            module = sys.modules.get(job.module) or import_text(job.module, job.text)
        return getattr(module, job.name)

    return imported


def main() -> None:
    """Compile until there is no more input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what else is printed is not an answer
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # frees the lock of an entry
    import numba.cuda  # noqa: F401 - takes longest

    print("begun", file=answers, flush=True)
    for line in sys.stdin:
        module, text, name, kinds, capability = json.loads(line)
        job = Job(module, text, name, _typed(kinds), tuple(capability))
        source = text or kernel_file("cuda", module).read_text("utf-8")
        with contextlib.suppress(Exception):  # the call that needs it meets the error, and says it
            compile_if_free(source, name, job.kinds, job.capability, _function(job))
        print("done", file=answers, flush=True)

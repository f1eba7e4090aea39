"""A process that compiles kernels for another one; see `compile_ahead`.

Each line of its input is a job, which it answers with a line.  It ends at the end of its input.
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
    """Return a function that imports a job's kernel."""

    def imported() -> Any:
        if not job.text:
            module = importlib.import_module(f"cugraph_ws.kernels.cuda.{job.module}")
        else:
            module = sys.modules.get(job.module) or import_text(job.module, job.text)
        return getattr(module, job.name)

    return imported


def main() -> None:
    """Compile the jobs on the standard input until it ends."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # other output must not be taken for an answer
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # frees the lock of an entry
    import numba.cuda  # noqa: F401 - takes longest

    print("begun", file=answers, flush=True)
    for line in sys.stdin:
        module, text, name, kinds, capability = json.loads(line)
        job = Job(module, text, name, _typed(kinds), tuple(capability))
        source = text or kernel_file("cuda", module).read_text("utf-8")
        with contextlib.suppress(Exception):  # the call that needs the kernel reports the error
            compile_if_free(source, name, job.kinds, job.capability, _function(job))
        print("done", file=answers, flush=True)

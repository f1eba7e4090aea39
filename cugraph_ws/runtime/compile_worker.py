"""A process that compiles kernels for another one; see `compile_ahead`.

Each line of its input is a job.  When it is done or has failed, the answer is a line with its number, from 0.  A fork of this
process does the job, so that the compiler and a program's text are imported, and the compiler is first used, only once.  So there
must be no other thread in this process, and nothing of CUDA's driver.  It ends at the end of its input.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import signal
import sys
from collections import deque
from collections.abc import Callable
from selectors import EVENT_READ, DefaultSelector
from typing import IO, Any

from cugraph_ws.runtime.compile_ahead import Job
from cugraph_ws.runtime.device_compiler import compile_if_free, is_kept
from cugraph_ws.runtime.generated import import_text, kernel_file, kernel_module

__all__ = ["function_of", "main", "source_of"]

INPUT, READ = 0, 1 << 16
URGENT = 4  # further jobs at a time: calls wait for them
FEW = 4  # processes, below which kernels' functions are compiled before the fork
TEXTS = 8  # modules of programs' texts that stay imported, 3 MB each
CAPABILITY = (7, 5)  # for which the compiler is used first; any does


def _typed(kinds: Any) -> Any:
    return tuple(map(_typed, kinds)) if isinstance(kinds, list) else kinds


def function_of(job: Job) -> Callable[[], Any]:
    """Return a function that imports a job's kernel."""

    def imported() -> Any:
        if not job.text:
            module = importlib.import_module(kernel_module("cuda", job.module))
        else:
            module = sys.modules.get(job.module) or import_text(job.module, job.text)
        return getattr(module, job.name)

    return imported


def source_of(job: Job) -> str:
    """Return the text of the module that has a job's kernel."""
    return job.text or kernel_file("cuda", job.module).read_text("utf-8")


def _compile(job: Job) -> None:
    with contextlib.suppress(Exception):  # the call that needs the kernel reports the error
        compile_if_free(source_of(job), job.name, job.kinds, job.capability, function_of(job))


def _use_first() -> None:
    """Compile an empty kernel to PTX, and keep what that has made out of garbage collections.

    The assembler is left to the forks: forks of a process that has used nvJitLink crash in it.
    """
    from cugraph_ws.runtime import cuda_target

    with contextlib.suppress(Exception):  # the call that needs a kernel reports the error
        cuda_target.use_first(CAPABILITY)
    gc.freeze()


def _import(job: Job, texts: list[str]) -> None:
    """Import a job's kernel before the fork, since other kernels of its module follow; of texts keep the last few."""
    with contextlib.suppress(Exception):  # as of `_compile`
        function_of(job)()
    if job.text:
        texts[:] = [*(name for name in texts if name != job.module), job.module]
        for name in texts[:-TEXTS]:
            sys.modules.pop(name, None)
        del texts[:-TEXTS]


def _compile_functions(job: Job) -> None:
    """Compile what kernels share once, where each fork would do it: for few cores."""
    from cugraph_ws.runtime import cuda_target

    with contextlib.suppress(Exception):  # as of `_compile`
        cuda_target.compile_functions(function_of(job)(), job.kinds)


class _Server:
    """Reads jobs and forks a process for each, `most` at a time."""

    def __init__(self, most: int, answers: IO[str]) -> None:
        self._most, self._answers = most + URGENT, answers
        self._few = most < FEW
        self._selector = DefaultSelector()
        self._selector.register(INPUT, EVENT_READ)
        self._waiting: deque[tuple[int, Job]] = deque()
        self._came = 0  # jobs
        # A pipe that ends with the process; the process, and the number of its job
        self._running: dict[int, tuple[int, int]] = {}
        self._texts: list[str] = []  # modules of programs' texts that are imported

    def serve(self) -> None:
        """Do the jobs until there are no more."""
        rest = b""
        ended = False
        while not ended or self._waiting or self._running:
            for key, _ in self._selector.select():
                if key.fd != INPUT:
                    self._end(key.fd)
                    continue
                read = os.read(INPUT, READ)
                *lines, rest = (rest + read).split(b"\n")
                for line in lines:
                    module, text, name, kinds, capability = json.loads(line)
                    job = Job(module, text, name, _typed(kinds), tuple(capability))
                    self._waiting.append((self._came, job))
                    self._came += 1
                if not read:
                    ended = True
                    self._selector.unregister(INPUT)
            while self._waiting and len(self._running) < self._most:
                self._begin(*self._waiting.popleft())

    def _begin(self, number: int, job: Job) -> None:
        _import(job, self._texts)
        if self._few and not is_kept(source_of(job), job.name, job.kinds, job.capability):
            _compile_functions(job)
        ours, theirs = os.pipe()
        process = os.fork()
        if not process:
            try:
                signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # frees the lock of an entry
                self._answers.close()
                _compile(job)
            finally:
                os._exit(0)
        os.close(theirs)
        self._running[ours] = process, number
        self._selector.register(ours, EVENT_READ)

    def _end(self, pipe: int) -> None:
        self._selector.unregister(pipe)
        os.close(pipe)
        process, number = self._running.pop(pipe)
        os.waitpid(process, 0)
        print(number, file=self._answers, flush=True)

    def stop(self) -> None:
        """End the processes."""
        for process, _ in self._running.values():
            os.kill(process, signal.SIGTERM)
        sys.exit()


def main(most: int) -> None:
    """Compile the jobs on the standard input until it ends.

    Parameters
    ----------
    most : int
        Most processes at a time.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # other output must not be taken for an answer
    server = _Server(most, answers)
    signal.signal(signal.SIGTERM, lambda *_: server.stop())
    import cugraph_ws.runtime.cuda_target  # noqa: F401 - takes longest

    print("begun", file=answers, flush=True)
    _use_first()
    server.serve()

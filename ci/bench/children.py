"""Child processes: those whose output is shown, and which are ended after a time limit or all at once; and those that answer."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from bench.checkout import ROOT, environment

# At the same time on one GPU, where time is not measured: they wait for the compiler more than for the GPU
PROCESSES = max(8, min(16, (os.cpu_count() or 1) // 2))


class Done(NamedTuple):
    """How a child ended: its exit status, None if it was ended or never started, and its output."""

    code: int | None
    text: str

    @property
    def problem(self) -> str | None:
        """The reason for a failure, with the last lines of the output; None if it succeeded.

        Paths in the checkout are relative to it, since records name no machine's folders.
        """
        if self.code == 0:
            return None
        ended = "it ran too long, or was ended with all others"
        reason = ended if self.code is None else f"it ended with status {self.code}"
        tail = "\n".join(self.text.strip().splitlines()[-25:]).replace(f"{ROOT}{os.sep}", "")
        return f"{reason}\n{tail}".strip()


class Children:
    """The children that are running; once all have been ended (`ended`), no more are started."""

    def __init__(self) -> None:
        self.ended = False
        self._lock = threading.RLock()  # a signal handler may run while its thread holds the lock
        self._running: set[subprocess.Popen[str]] = set()

    def begin(self, command: list[str]) -> subprocess.Popen[str] | None:
        """Start a child in the repository's root, in a new session."""
        with self._lock:
            if self.ended:
                return None
            process = subprocess.Popen(
                command, cwd=ROOT, env=environment(), stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True,
            )  # fmt: skip
            self._running.add(process)
        return process

    def kill(self, process: subprocess.Popen[str]) -> None:
        """Kill a child and its children."""
        with self._lock, suppress(ProcessLookupError):
            self._running.discard(process)
            os.killpg(process.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill all children; their stages then report the results so far."""
        with self._lock:
            self.ended = True
            for process in list(self._running):
                self.kill(process)


CHILDREN = Children()


def child(command: list[str], seconds: float, *, live: bool = True) -> Done:
    """Run a command in the repository's root, showing what it prints.

    Parameters
    ----------
    command : list of str
    seconds : float
        Time limit, after which it and its children are killed.
    live : bool
        Whether lines are shown as they come, so that an interrupted run shows how far it was.
    """
    lines: list[str] = []
    process = CHILDREN.begin(command)
    if process is None:
        return Done(None, "")

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line)
            if live:
                print(line, end="", flush=True)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        code: int | None = process.wait(seconds)
    except subprocess.TimeoutExpired:
        code = None
    CHILDREN.kill(process)  # remaining children of the child hold the pipe open
    process.wait()
    reader.join(10.0)
    if not reader.is_alive() and process.stdout is not None:
        process.stdout.close()
    text = "".join(lines)
    if not live:
        sys.stdout.write(text)
        sys.stdout.flush()
    return Done(None if CHILDREN.ended else code, text)


def side_by_side(command: list[str], seconds: float) -> Done:
    """Run a command once for each share of its work, all at the same time.

    Parameters
    ----------
    command : list of str
        Takes the index of its share and the number of shares as further arguments.
    seconds : float
        Time limit.

    Returns
    -------
    Done
        The output of all, and the exit status of the first that failed.
    """

    def run(share: int) -> Done:
        return child([*command, str(share), str(PROCESSES)], seconds, live=False)

    with ThreadPoolExecutor(PROCESSES) as pool:
        ends = list(pool.map(run, range(PROCESSES)))
    worst = next((end for end in ends if end.code != 0), ends[0])
    return Done(worst.code, "\n".join(end.text for end in ends if end is not worst) + worst.text)


def in_new_process(
    module: str, *words: str, cwd: Path | None = None, cores: Sequence[int] = (), **variables: str
) -> list[str]:
    """Run a module of this package in a new process; return the lines that it prints, or raise with its errors.

    Parameters
    ----------
    module : str
    *words : str
        Its arguments.
    cwd : Path, optional
        Its folder, from which modules are imported first.
    cores : sequence of int
        The cores that it may use; by default all.
    **variables : str
        Further variables of its environment.
    """
    limit = ["taskset", "-c", ",".join(map(str, cores))] if cores else []
    done = subprocess.run(
        [*limit, sys.executable, "-m", module, *words], check=False, capture_output=True, text=True,
        cwd=cwd, env=environment(**variables),
    )  # fmt: skip
    if done.returncode:
        raise RuntimeError(f"{module} {' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout.splitlines()

"""The bytes that kernels load and store in the emulator, for tests of profiles."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self
from unittest.mock import patch

from emulator.device import EmulatedKernels
from emulator.memory import Array

from cugraph_ws.execution.profile import Profile
from cugraph_ws.runtime.launch_times import Launches


class Moved:
    """Counts what kernels load and store in global memory, within a `with` block.

    Attributes
    ----------
    loaded, stored : Counter
        Bytes by kernel and array: of every load, and of every store or atomic operation.
    read, written : Counter
        The same with each element once for each launch, as if a cache held everything.
    """

    def __init__(self) -> None:
        self.loaded: Counter[tuple[str, str]] = Counter()
        self.stored: Counter[tuple[str, str]] = Counter()
        self.read: Counter[tuple[str, str]] = Counter()
        self.written: Counter[tuple[str, str]] = Counter()
        self._kernel = ""
        self._elements: tuple[set[Any], set[Any]] = set(), set()

    def clear(self) -> None:
        """Forget what is counted."""
        for counter in (self.loaded, self.stored, self.read, self.written):
            counter.clear()

    def _note(self, array: Array, index: int, side: int) -> None:
        if array.shared:
            return
        element = id(array.shadow), int(index) * array.stride + array.offset
        key, size = (self._kernel, array.name), array.cells.itemsize
        (self.loaded, self.stored)[side][key] += size
        if element not in self._elements[side]:
            self._elements[side].add(element)
            (self.read, self.written)[side][key] += size

    def __enter__(self) -> Self:
        launch = EmulatedKernels.launch

        def launched(kernels: Any, name: str, *arguments: Any, **options: Any) -> None:
            self._kernel, self._elements = name, (set(), set())
            launch(kernels, name, *arguments, **options)

        def counted(name: str, sides: tuple[int, ...]) -> Any:
            access = getattr(Array, name)

            def accessed(array: Array, index: int, *arguments: Any, **options: Any) -> Any:
                for side in sides:
                    self._note(array, index, side)
                return access(array, index, *arguments, **options)

            return patch.object(Array, name, accessed)

        self._patches = [
            patch.object(EmulatedKernels, "launch", launched),
            *(counted(name, (0,)) for name in ("_read", "load_fresh")),
            *(counted(name, (1,)) for name in ("__setitem__", "store_fresh", "atomic")),
        ]
        for one in self._patches:
            one.start()
        return self

    def __exit__(self, *_: object) -> None:
        for one in self._patches:
            one.stop()


@contextmanager
def moved_in_steps() -> Iterator[dict[str, list[tuple[float, float, float]]]]:
    """Record, in a `with` block, what profiles say of each step of loops that note bytes.

    Yields
    ------
    dict
        By loop, for each step: the profile's bytes, those of distinct elements, and those of all accesses.
    """
    steps: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    add, forget = Profile.add, Launches.forget

    def added(profile: Any, trace: Any, step: Any, loop: str, traffic: Any) -> None:
        once = sum(moved.read.values()) + sum(moved.written.values())
        accesses = sum(moved.loaded.values()) + sum(moved.stored.values())
        first = len(profile.kernel)
        add(profile, trace, step, loop, traffic)
        rows = zip(profile.bytes_read[first:], profile.bytes_written[first:], strict=True)
        known = [read + written for read, written in rows if not math.isnan(read)]
        if traffic is None:
            steps[loop].append((math.fsum(known) if known else math.nan, once, accesses))
        moved.clear()

    def forgotten(launches: Any) -> None:
        moved.clear()
        forget(launches)

    with (
        patch.object(Profile, "add", added),
        patch.object(Launches, "forget", forgotten),
        Moved() as moved,
    ):
        yield steps

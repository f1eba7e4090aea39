"""List the kernels that each call launches, `kernels/cuda/together.json`, so that they are compiled ahead.

    python ci/launched_together.py

The calls of `cugraph-ws warm-up` run on small graphs in the tests' emulator, and every launch is recorded.
"""

import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

import pandas as pd
import stand_in_cudf
from emulator.device import EmulatedDevice, EmulatedKernels

import cugraph_ws as ws
from cugraph_ws.backends.cuda.listed_programs import listing_of
from cugraph_ws.cli import warm_up
from cugraph_ws.runtime.compile_ahead import LIST
from cugraph_ws.runtime.device import installed
from cugraph_ws.runtime.signature import kind_of

__all__ = ["TYPES", "Group", "groups", "text_of"]

# A call, its kernels (program or "", module or "", name, types), and texts of programs with theirs
Group = dict[str, Any]
VERTICES, EDGES = 24, 40
# Types of ids and of weights of the recorded calls
TYPES = (("int64", "float64"), ("int32", "float32"))


class _Noted(EmulatedKernels):
    """Kernels whose launches are recorded, even launches of an empty grid."""

    def __init__(self, inner: EmulatedKernels, noted: dict[Any, None]) -> None:
        super().__init__(inner.device, inner.space)
        self._noted = noted

    def launch(self, name: str, grid: int, block: int, *arguments: Any, **options: Any) -> None:
        """Record a launch, and run it."""
        self._noted[name, tuple(kind_of(one) for one in arguments)] = None
        super().launch(name, grid, block, *arguments, **options)


class Recorder(EmulatedDevice):
    """An emulated device that records launches, by module or text."""

    def __init__(self) -> None:
        super().__init__(threads=32)
        self.plain: dict[Any, None] = {}
        self.programs: dict[Any, dict[Any, None]] = {}  # by the listing that writes their texts

    def module(self, name: str) -> EmulatedKernels:
        """Return the kernels of `kernels/cuda/<name>.py`."""
        inner, noted = super().module(name), self.plain

        class Named(_Noted):
            def launch(self, kernel: str, grid: int, block: int, *given: Any, **how: Any) -> None:
                noted[name, kernel, tuple(kind_of(one) for one in given)] = None
                EmulatedKernels.launch(self, kernel, grid, block, *given, **how)

        return Named(inner, noted)

    def program_module(
        self, name: str, interface: str, loops: tuple[str, ...], write: Any
    ) -> EmulatedKernels:
        """Return a program's kernels."""
        noted = self.programs.setdefault(write, {})
        return _Noted(super().program_module(name, interface, loops, write), noted)


def recorded(task: warm_up.Task, ids: str) -> Recorder:
    """Run a task of warm-up on an emulated device, and return what it launched."""
    recorder = Recorder()

    def frame(_: warm_up.Task, columns: dict[str, Any]) -> Any:
        typed = {
            name: column.astype(ids) if name in ("source", "destination", "vertex") else column
            for name, column in columns.items()
        }
        return stand_in_cudf.DataFrame(pd.DataFrame(typed))

    with (
        installed(recorder),
        patch.multiple(warm_up, VERTICES=VERTICES, EDGES=EDGES, _frame=frame),
        stand_in_cudf.installed(),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")  # edges listed in both directions
        warm_up.compile_task(ws, task)
    return recorder


def groups(
    names: Sequence[str] = tuple(sorted(warm_up.CALLS)), types: Sequence[tuple[str, str]] = TYPES
) -> list[Group]:
    """Return for each call of functions the kernels that it launches."""
    found: list[Group] = []
    for ids, weights in types:
        for task in sorted(warm_up.tasks(names, ["cuda"], [weights])):
            made = recorded(task, ids)
            plain = [["", *one] for one in made.plain]
            own, programs = [], []
            for text, noted in made.programs.items():
                kernels = [[text.program.name, "", *one] for one in noted]
                own += kernels
                listed = listing_of(text.program, text.interface, text.loops)
                if listed is not None:
                    programs.append([listed, sorted(kernels, key=repr)])
            call = str(task) if ids == TYPES[0][0] else f"{task}, {ids} ids"
            found.append(
                {"call": call, "kernels": sorted(plain + own, key=repr), "programs": programs}
            )
    return found


def text_of(found: list[Group]) -> str:
    """Write groups, each distinct launch once."""
    launches = sorted({json.dumps(one) for group in found for one in group["kernels"]})
    place = {one: number for number, one in enumerate(launches)}
    programs = sorted({json.dumps(one) for group in found for one, _ in group["programs"]})
    number_of = {one: number for number, one in enumerate(programs)}

    def places(kernels: list[Any]) -> list[int]:
        return sorted({place[json.dumps(one)] for one in kernels})

    calls = [
        json.dumps(
            [
                group["call"], places(group["kernels"]),
                sorted([number_of[json.dumps(one)], places(own)] for one, own in group["programs"]),
            ]
        )
        for group in found
    ]  # fmt: skip
    lists = {"launches": launches, "programs": programs, "calls": calls}
    return (
        "{"
        + ",\n".join(f'"{name}": [\n' + ",\n".join(lines) + "\n]" for name, lines in lists.items())
        + "}\n"
    )


def main() -> None:
    """Write the list."""
    LIST.write_text(text_of(groups()), "utf-8")


if __name__ == "__main__":
    main()

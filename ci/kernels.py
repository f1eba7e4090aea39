"""Compile every CUDA kernel for every architecture, without a GPU, and keep a table of registers and memory.

    python ci/kernels.py            write kernels/cuda/registers.md; compile the kernels that have changed
    python ci/kernels.py --all      the same, and compile everything
    python ci/kernels.py --check    fail if the table is stale, or a kernel spills

The host code determines the kernels and their types: the calls of `kernel_cases.py` run in the tests'
emulator, and every launch is recorded.
"""

import argparse
import ast
import importlib
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest.mock import patch

from cugraph_ws.backends.cuda import graph as device_graph
from cugraph_ws.backends.cuda import grouping, numbered_ids, predecessors, schedule
from cugraph_ws.runtime import cuda_target, device_compiler
from cugraph_ws.runtime.device import installed
from cugraph_ws.runtime.device_compiler import Binary, Capability, load_or_compile
from cugraph_ws.runtime.generated import import_text, kernel_file, kernel_module
from cugraph_ws.runtime.paths import kernels_folder
from cugraph_ws.runtime.signature import Kind, kind_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parent))

import kernel_cases
import kernel_sources
from emulator.device import EmulatedDevice, EmulatedKernels

__all__ = [
    "ARCHITECTURES", "TABLE", "Launch", "compiled", "declared", "launches", "read_table", "row_of",
    "stale",
]  # fmt: skip

ROOT = Path(__file__).parents[1]
ARCHITECTURES: tuple[Capability, ...] = ((7, 5), (8, 0), (8, 6), (9, 0), (10, 0), (12, 0))
TABLE = ROOT / "kernels" / "cuda" / "registers.md"
CLOSE = 8  # registers that a kernel may take beyond the table's: file names can affect ptxas


@dataclass(frozen=True)
class Launch:
    """A kernel with the types that it is launched with.

    Attributes
    ----------
    module : str
        A module of `kernels/cuda`, or a program and how it runs.
    name : str
        Name of the kernel.
    kinds : tuple
        Its signature; see `cugraph_ws.runtime.signature`.
    text : str
        Source of a program's kernels, else empty.
    """

    module: str
    name: str
    kinds: tuple[Kind, ...]
    text: str = field(repr=False, default="")

    def function(self) -> Any:
        """Return the kernel."""
        if self.text:
            digest = sha256(self.text.encode()).hexdigest()[:20]
            return getattr(import_text(f"cugraph_ws_table_{digest}", self.text), self.name)
        return getattr(importlib.import_module(kernel_module("cuda", self.module)), self.name)

    @property
    def source(self) -> str:
        """The text of the module that has it."""
        return self.text or kernel_file("cuda", self.module).read_text("utf-8")

    @property
    def digest(self) -> str:
        """A digest of all that it is compiled from."""
        return kernel_sources.digest(self.source, self.name, self.kinds, _translator())

    def signature(self) -> str:
        """Write its types in the table's words."""
        return " ".join(_words(kind) for kind in self.kinds)


@lru_cache
def _translator() -> tuple[str, ...]:
    """Return what turns sources into PTX: Numba's versions, and how it is called."""
    versions = [metadata.version(name) for name in ("numba", "numba-cuda")]
    functions = (
        cuda_target.compile_to_ptx, device_compiler.compile_kernel, device_compiler._assemble,
    )  # fmt: skip
    return *versions, *map(inspect.getsource, functions)


def _words(kind: Kind) -> str:
    if isinstance(kind, tuple):
        return "(" + " ".join(_words(part) for part in kind) + ")"
    short = re.sub(r"\d+", lambda bits: str(int(bits[0]) // 8), kind)
    return str(short).replace("uint", "u").replace("int", "i").replace("float", "f")


# --------------------------------------------------------------------- what the host launches


class _Noted(EmulatedKernels):
    """Kernels whose launches are recorded."""

    def __init__(
        self, inner: EmulatedKernels, note: Callable[[str, tuple[Any, ...]], None]
    ) -> None:
        super().__init__(inner.device, inner.space)
        self._note = note

    def launch(self, name: str, grid: int, block: int, *arguments: Any, **options: Any) -> None:
        """Record a launch, and run it."""
        self._note(name, arguments)
        super().launch(name, grid, block, *arguments, **options)


class Recorder(EmulatedDevice):
    """An emulated device that records launches."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.found: dict[Launch, None] = {}
        self.label = ""  # name in the table of the running program; if empty, the program's name

    def run(self, cases: list[kernel_cases.Case]) -> None:
        """Run labelled calls."""
        for self.label, call in cases:
            call()

    def module(self, name: str) -> EmulatedKernels:
        """Return the kernels of `kernels/cuda/<name>.py`."""
        return _Noted(
            super().module(name), lambda kernel, arguments: self._note(name, kernel, arguments)
        )

    def program_module(
        self, name: str, interface: str, loops: tuple[str, ...], write: Callable[[], str]
    ) -> EmulatedKernels:
        """Return a program's kernels."""
        text = write()

        def note(kernel: str, arguments: tuple[Any, ...]) -> None:
            self._note(self.label or name.removeprefix("cugraph_ws_cuda_"), kernel, arguments, text)

        return _Noted(super().program_module(name, interface, loops, write), note)

    def _note(self, module: str, kernel: str, arguments: tuple[Any, ...], text: str = "") -> None:
        self.found[
            Launch(module, kernel, tuple(kind_of(argument) for argument in arguments), text)
        ] = None


@lru_cache
def launches() -> tuple[Launch, ...]:
    """Run the host code on small graphs, and return every kernel with its types, in order."""
    recorder = Recorder(threads=32)  # types are the same
    with (
        installed(recorder),
        patch.object(device_graph, "ASKED_FIRST", 0),
        patch.object(numbered_ids, "READ_IDS", 0),
        patch.object(schedule, "BLOCK", 32),
        patch.multiple(
            predecessors, MANY_ARCS=0, GIVING=0, WORTH=0, WIDEST=3, TIGHT_FROM=0, TIGHT_PART=1
        ),
    ):
        recorder.run(kernel_cases.cases())
        with patch.object(grouping, "INT32_NUMBERS", 0):  # positions of 64 bits
            recorder.run(kernel_cases.wide_cases())
    return tuple(
        sorted(
            _distinct(recorder.found), key=lambda launch: (launch.module, launch.name, repr(launch))
        )
    )


def _distinct(noted: dict[Launch, None]) -> Iterator[Launch]:
    """Keep every superstep and frontier; of programs' other kernels, keep one for each set of types."""
    keys = set()
    for launch in noted:
        key = (launch.name, launch.kinds)
        if (
            not launch.text
            or launch.name
            in ("superstep", "gather_shards", "traverse", "pull_worklist", "virtual_warps")
            or key not in keys
        ):
            yield launch
        keys.add(key)


def declared() -> set[str]:
    """Return the names of all CUDA kernels."""
    names, folder = set(), kernels_folder()
    for path in [*folder.glob("cuda/*.py"), *folder.glob("accelerators/*/*.py")]:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(decorator, ast.Name) and decorator.id == "kernel"
                for decorator in node.decorator_list
            ):
                names.add(node.name)
    return names


# ----------------------------------------------------------------------------------- the table


def compiled(launch: Launch, capability: Capability) -> Binary:
    """Compile a kernel, or find it in the cache."""
    return load_or_compile(launch.source, launch.name, launch.kinds, capability, launch.function)


def row_of(launch: Launch) -> str:
    """Write what comes before the figures in a kernel's row."""
    return f"| {launch.module} | {launch.name} | `{launch.signature()}` |"


def _figures(number: int) -> tuple[int, list[str], list[str]]:
    """Compile one of the launches; return its shared memory, registers, and what is wrong with it."""
    launch = launches()[number]
    kernels = [compiled(launch, capability) for capability in ARCHITECTURES]
    wrong = [
        f"{launch.module}.{launch.name} on sm_{major}{minor}: {binary.spilled} bytes spilled, a stack "
        f"frame of {binary.stack} bytes"
        for (major, minor), binary in zip(ARCHITECTURES, kernels, strict=True)
        if binary.spilled or binary.stack
    ]
    return (
        max(compiled_kernel.shared for compiled_kernel in kernels),
        [_cell(compiled_kernel) for compiled_kernel in kernels],
        wrong,
    )


def is_known(launch: Launch, table: dict[str, list[str]]) -> bool:
    """Return whether the table's row has the digest of these sources."""
    row = table.get(row_of(launch))
    return row is not None and row[-1] == launch.digest


def _cell(binary: Binary) -> str:
    spilled = f" + {binary.spilled} spilled" if binary.spilled else ""
    return f"{binary.registers}{spilled}" + (f" + {binary.stack} stack" if binary.stack else "")


HEAD = """# What the kernels take

Written by `python ci/kernels.py`; `python ci/kernels.py --check` and a test compare.  Registers of a
thread for each architecture; bytes spilled to local memory and of stack frames would stand beside
them.  Shared memory is in bytes a block; the source is a digest of all that a kernel is compiled from.  Types: f8 is float64, i4 int32, u1 uint8, `*` an array,
brackets a tuple.  Made with {compilers}; other versions take other registers, but may not spill either.

| module or program | kernel | types | shared | {names} | source |
| --- | --- | --- | --- | {rules} | --- |
"""


def compilers() -> str:
    """Return the names and versions of the compilers in use."""
    versions = []
    for name in ("nvidia-nvvm", "nvidia-nvjitlink"):
        with suppress(metadata.PackageNotFoundError):
            major, minor, *_ = metadata.version(name).split(".")
            versions.append(f"{name} {major}.{minor}")
    return " and ".join(versions)


def is_of_these_compilers(path: Path = TABLE) -> bool:
    """Return whether the table was made with the compilers in use: only then registers are comparable."""
    return f"Made with {compilers()};" in path.read_text()


def read_table(path: Path = TABLE) -> dict[str, list[str]]:
    """Read the table: for each row's beginning, shared memory, the figures, and the digest."""
    table = {}
    for line in path.read_text().splitlines():
        if line.startswith("| ") and "`" in line:
            cut = line.index("` |") + 3
            table[line[:cut]] = [cell.strip() for cell in line[cut:].strip(" |").split("|")]
    return table


def stale(
    row: str,
    cells: list[str],
    table: dict[str, list[str]],
    places: range | None = None,
    *,
    comparable: bool = True,
) -> str:
    """Return the reason why a row is stale, or an empty text; compare registers only if comparable."""
    if row not in table:
        return f"not in the table: {row}"
    if not comparable:
        return ""
    for place in places or range(1, len(cells)):
        old, new = (re.findall(r"\d+", figures[place])[0] for figures in (table[row], cells))
        if int(new) - int(old) > CLOSE:
            return f"{new} registers, not {old}: {row} {table[row]}"
    return ""


def main() -> None:
    """Compile all, and write the table or compare with it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="compare with the table; write nothing"
    )
    parser.add_argument("--all", action="store_true", help="compile unchanged kernels too")
    arguments = parser.parse_args()
    noted = launches()
    problems = [
        f"nobody launches {name}" for name in sorted(declared() - {entry.name for entry in noted})
    ]
    lines, table = [], read_table() if TABLE.exists() else {}
    comparable = not TABLE.exists() or is_of_these_compilers()
    every = arguments.all or arguments.check or not comparable
    known = {place for place, entry in enumerate(noted) if not every and is_known(entry, table)}
    unknown = [place for place in range(len(noted)) if place not in known]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        figures_of = dict(zip(unknown, pool.map(_figures, unknown), strict=True))
        for place, launch in enumerate(noted):
            if place in known:
                lines.append(f"{row_of(launch)} {' | '.join(table[row_of(launch)])} |")
                continue
            shared, cells, wrong = figures_of[place]
            problems += wrong
            lines.append(f"{row_of(launch)} {shared} | {' | '.join(cells)} | {launch.digest} |")
            if arguments.check:
                told_stale = stale(
                    row_of(launch), [str(shared), *cells], table, comparable=comparable
                )
                problems += filter(None, [told_stale])
    if arguments.check:
        removed = set(table) - {row_of(entry) for entry in noted}
        problems += [f"no longer launched: {row}" for row in sorted(removed)]
    else:
        names = " | ".join(f"sm_{major}{minor}" for major, minor in ARCHITECTURES)
        head = HEAD.format(
            compilers=compilers(), names=names, rules=" | ".join("---" for _ in ARCHITECTURES)
        )
        TABLE.write_text(head + "\n".join(lines) + "\n")
    print(f"{len(unknown)} of {len(noted)} kernels compiled for {len(ARCHITECTURES)} architectures")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()

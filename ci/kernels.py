"""Compile every CUDA kernel for every architecture, without a GPU, and keep a table of what it takes.

    python ci/kernels.py            write kernels/cuda/registers.md
    python ci/kernels.py --check    fail if the table is stale, or a kernel spills

Which kernels there are, and for which types, the host code itself says: it runs on small graphs in the
tests' emulator, and what it launches is noted.
"""

import argparse
import ast
import importlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import sha256
from importlib import metadata
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd

import cugraph_ws as ws
from cugraph_ws.algorithms import components
from cugraph_ws.backends.cuda import arc_shards, grouping, numbering, predecessors, rows
from cugraph_ws.backends.cuda import graph as device_graph
from cugraph_ws.partition.build import build_shard
from cugraph_ws.runtime.communicator import SingleRank
from cugraph_ws.runtime.device import installed
from cugraph_ws.runtime.device_compiler import Binary, Capability, load_or_compile
from cugraph_ws.runtime.generated import import_text, kernel_file
from cugraph_ws.runtime.signature import Kind, kind_of

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

import cuda_cases as cases
import stand_in_cudf
import thread_ranks
from emulator.device import EmulatedDevice, EmulatedKernels

__all__ = [
    "ARCHITECTURES", "TABLE", "Launch", "compiled", "declared", "launches", "read_table", "row_of",
    "stale",
]  # fmt: skip

ROOT = Path(__file__).parents[1]
ARCHITECTURES: tuple[Capability, ...] = ((7, 5), (8, 0), (8, 6), (9, 0), (10, 0), (12, 0))
TABLE = ROOT / "kernels" / "cuda" / "registers.md"
CLOSE = 8  # registers by which a count may differ from the table's: compilers' versions do


@dataclass(frozen=True)
class Launch:
    """A kernel with the types that it is launched with.

    Attributes
    ----------
    module : str
        A module of `kernels/cuda`, or a program and how it runs.
    name : str
        Of the kernel.
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
        return getattr(importlib.import_module(f"cugraph_ws.kernels.cuda.{self.module}"), self.name)

    def signature(self) -> str:
        """Write its types in the table's words."""
        return " ".join(_words(kind) for kind in self.kinds)


def _words(kind: Kind) -> str:
    if isinstance(kind, tuple):
        return "(" + " ".join(_words(one) for one in kind) + ")"
    short = re.sub(r"\d+", lambda bits: str(int(bits[0]) // 8), kind)
    return str(short).replace("uint", "u").replace("int", "i").replace("float", "f")


# --------------------------------------------------------------------- what the host launches


class _Noted(EmulatedKernels):
    """Kernels whose launches are noted."""

    def __init__(
        self, inner: EmulatedKernels, note: Callable[[str, tuple[Any, ...]], None]
    ) -> None:
        super().__init__(inner.device, inner.space)
        self._note = note

    def launch(self, name: str, grid: int, block: int, *arguments: Any, **options: Any) -> None:
        """Note a launch, and run it."""
        self._note(name, arguments)
        super().launch(name, grid, block, *arguments, **options)


class Recorder(EmulatedDevice):
    """An emulated device that notes what is launched on it."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.found: dict[Launch, None] = {}
        self.label = ""  # of the programs that run now

    def module(self, name: str) -> EmulatedKernels:
        """Return the kernels of `kernels/cuda/<name>.py`."""
        return _Noted(super().module(name), lambda kernel, given: self._note(name, kernel, given))

    def program_module(
        self, name: str, interface: str, loops: tuple[str, ...], write: Callable[[], str]
    ) -> EmulatedKernels:
        """Return a program's kernels."""
        text = write()

        def note(kernel: str, given: tuple[Any, ...]) -> None:
            self._note(self.label or name.removeprefix("cugraph_ws_cuda_"), kernel, given, text)

        return _Noted(super().program_module(name, interface, loops, write), note)

    def _note(self, module: str, kernel: str, given: tuple[Any, ...], text: str = "") -> None:
        self.found[Launch(module, kernel, tuple(kind_of(one) for one in given), text)] = None


@lru_cache
def launches() -> tuple[Launch, ...]:
    """Run the host code on small graphs, and return every kernel with its types, in order."""
    recorder = Recorder(threads=32)  # types are the same
    with (
        installed(recorder),
        patch.object(device_graph, "ASKED_FIRST", 0),
        patch.object(numbering, "READ_IDS", 0),
        patch.multiple(
            predecessors, MANY_ARCS=0, GIVING=0, WORTH=0, WIDEST=3, TIES_FROM=0, TIES_PART=1
        ),
    ):
        _build_graphs()
        _run_loops()
        _run_programs(recorder)
        with patch.object(grouping, "INT32_NUMBERS", 0):  # positions of 64 bits
            _build_graphs()
            _run_loops()
            recorder.label = "PageRank"
            ws.run(ws.PageRank, cases.graph_of(cases.medley()), engine="cuda", max_iter=1)
    return tuple(
        sorted(_distinct(recorder.found), key=lambda one: (one.module, one.name, repr(one)))
    )


def _distinct(found: dict[Launch, None]) -> Iterator[Launch]:
    """Keep every superstep and frontier, and of programs' other kernels one for the same types."""
    seen = set()
    for one in found:
        key = (one.name, one.kinds)
        if (
            not one.text
            or one.name in ("superstep", "gather_shards", "traverse", "relay", "virtual_warps")
            or key not in seen
        ):
            yield one
        seen.add(key)


def _build_graphs() -> None:
    """Build graphs of edges of every type, grouped in parts and at once, parallel ones merged."""
    edges = cases.medley((6, 2), 9)
    for dtype, kind in product((np.int32, np.int64), (np.int64, np.float32, np.float64)):
        ends = [end.astype(dtype) for end in (edges.destination, edges.source)]
        values = {"w": edges.weight.astype(kind)}
        for undirected, piece in ((False, 7), (True, 1 << 20)):
            with patch.multiple(grouping, LEAST_PIECE=piece, LEAST_TILE=90):
                graph = device_graph.build(
                    grouping.Ends(*ends), dict(values), edges.n, undirected=undirected
                )
                with patch.multiple(rows, LONG_ROW=4, LONG_PIECES=2):
                    graph.out_weight_sums("w")  # before there is a CSR
                _ = graph.out_degrees, graph.csr
                graph.values("w", "csr")
    with patch.multiple(grouping, LEAST_PIECE=7, KEY_BITS=10):
        _ = device_graph.build(grouping.Ends(*ends), {}, edges.n, undirected=False).csr
    ends = pd.DataFrame({"source": edges.source, "destination": edges.destination})
    for kind, policy in product((np.int64, np.float32, np.float64), ("sum", "min", "mean", "max")):
        with stand_in_cudf.installed():
            weighted = ends.assign(w=edges.weight.astype(kind))
            ws.Graph(stand_in_cudf.DataFrame(weighted), weight="w", duplicates=policy)
    for kind in ("int32", "int64", "uint16", "int8"):
        with stand_in_cudf.installed():
            ws.Graph(stand_in_cudf.DataFrame((3 * ends + 1).astype(kind)))
    for kind, value in product(("int32", "int64", "uint32"), (np.int64, np.float32, np.float64)):
        with stand_in_cudf.installed():
            frame = stand_in_cudf.DataFrame(ends.astype(kind).assign(w=edges.weight.astype(value)))
            for directed, weight in product((True, False), (None, "w")):
                build_shard(SingleRank(), [(0, frame)], weight=weight, directed=directed)
                thread_ranks.over_links(2, partial(_make_share, frame, weight, directed))
    for kind in ("int32", "int64", "uint32"):
        with stand_in_cudf.installed():
            for named, directed in ((ends, False), (3 * ends + 1, True)):
                frame = stand_in_cudf.DataFrame(named.astype(kind))
                thread_ranks.over_links(2, partial(_use_share, frame, directed))


def _make_share(frame: Any, weight: str | None, directed: bool, comm: Any) -> Any:
    """Build a rank's share of a graph."""
    own = frame.iloc[comm.rank :: 2].reset_index(drop=True)
    return build_shard(comm, [(comm.rank, own)], weight=weight, directed=directed)


def _use_share(frame: Any, directed: bool, comm: Any) -> None:
    """Build a rank's share of a graph, and ask it for what has kernels of its own."""
    shard = _make_share(frame, None, directed, comm)
    start = int(frame["source"].iloc[0])
    found = ws.run(ws.BFS, shard, start=start, engine="cuda", max_iter=1)
    assert len(found.frame) == shard.owned


def _join_share(graph: ws.Graph, comm: Any) -> None:
    """Find the components of a graph from a rank's share."""
    ws.run(ws.WeaklyConnectedComponents(), thread_ranks.share(graph, comm), engine="cuda")


def _weighted(edges: Any, kind: Any, **options: Any) -> ws.Graph:
    weight = (2 * edges.weight).astype(kind)
    return cases.graph_of(type(edges)(edges.source, edges.destination, edges.n, weight, **options))


def _run_loops() -> None:
    """Run the algorithms that have kernels of their own, on directed and on undirected graphs."""
    edges = cases.medley((7, 3, 1), 9)
    left = np.arange(edges.n)
    for directed in (True, False):
        graph = _weighted(edges, np.float64, directed=directed)
        for loop in (
            ws.WeaklyConnectedComponents(),
            *[ws.CoreNumber(kind) for kind in ("both", "in", "out")],
            ws.MultiSource(ws.BFS, "start", [0, 3], engine="cpu"),
            ws.HITS(max_iter=1),
            ws.Betweenness([0, 3]),
            ws.MaximalIndependentSet(),
            *[ws.TriangleCount(), ws.ClusteringCoefficient(), ws.TrussNumber()],
            *[ws.Similarity("jaccard", None, use_weight) for use_weight in (False, True)],
        ):
            ws.run(loop, graph, engine="cuda")
        with patch.object(components, "LEAST_SHOWN", 0):
            thread_ranks.over_links(2, partial(_join_share, graph))
        priors = pd.DataFrame({"vertex": left, "p0": 0.5 + left / 99.0, "p1": 0.5})
        for coupling in ("weight", [[3.0, 1.0], [1.0, 2.0]]):  # one for each edge; one for all
            loop = ws.BeliefPropagation(priors, coupling, max_iter=1)
            ws.run(loop, graph, engine="cuda")
        across = edges.source % 2 != edges.destination % 2
        bipartite = type(edges)(
            edges.source[across], edges.destination[across], edges.n, None, directed
        )
        ws.run(ws.MaximalBipartiteMatching(left[::2], 0), cases.graph_of(bipartite), engine="cuda")
        for kind in (np.int64, np.float32, np.float64):
            weighted = _weighted(edges, kind, directed=directed)
            loop = ws.MultiSource(ws.SSSP, "start", [0, 3], engine="cpu")
            ws.run(loop, weighted, engine="cuda")
        plain = type(edges)(edges.source, edges.destination, edges.n, None, directed)
        loop = ws.MultiSource(ws.SSSP, "start", [0, 3], engine="cpu")
        ws.run(loop, cases.graph_of(plain), engine="cuda")
    with TemporaryDirectory() as folder:
        saved = Path(folder) / "state.parquet"
        loop = ws.WeaklyConnectedComponents()
        ws.run(loop, graph, engine="cuda", checkpoint=saved)
        ws.run(loop, graph, engine="cuda", resume=saved)


def _directed(program: Any, graph: Any, direction: Any) -> None:
    """Run a search to its end, held to one direction."""
    ws.run(program, graph, start=0, direction=direction, engine="cuda")


def _run_over(program: Any, graph: ws.Graph, layout: Any, given: dict[str, Any]) -> None:
    """Run a superstep over a layout."""
    with patch.object(arc_shards, "LEAST", 0):
        ws.run(program, graph, layout=layout, max_iter=1, engine="cuda", **given)


def _run_programs(recorder: Recorder) -> None:
    """Run the library's programs, and those that stand for what users write."""
    edges = cases.stable(cases.medley((5, 2), 10))
    graph, bare = cases.graph_of(edges), cases.graph_of(edges, weighted=False)
    number = {v: 1.0 + v for v in range(edges.n)}
    once = {"max_iter": 1, "engine": "cuda"}
    runs: list[tuple[str, Callable[[], Any]]] = [
        ("PageRank", lambda: ws.run(ws.PageRank, bare, **once)),
        ("PageRank weighted", lambda: ws.run(ws.PageRank, graph, **once)),
        ("PageRank to 1e-9", lambda: ws.run(ws.PageRank, graph, tol=1e-9, **once)),
        (
            "PageRank personalized",
            lambda: ws.run(ws.PageRank, graph, personalization=number, nstart=number, **once),
        ),
        ("Heat", lambda: ws.run(ws.Heat, graph, temperature=1.0, fixed=[0], **once)),
        ("Circuit", lambda: ws.run(ws.Circuit, graph, sources={0: 1.0}, **once)),
        ("NeuralNetwork", lambda: ws.run(ws.NeuralNetwork, graph, activation=0.5, **once)),
        ("BFS", lambda: ws.bfs(bare, 0, engine="cuda")),
        ("WidestPath", lambda: ws.widest_path(graph, 0, engine="cuda")),
        ("SSSP", lambda: ws.sssp(graph, 0, engine="cuda")),
        ("SSSP in supersteps", lambda: ws.run(ws.SSSP, graph, start=0, **once)),
        *[
            (f"{program.name} {way}ed", partial(_directed, program, graph, way))
            for program, way in (
                (ws.SSSP, "gather"),
                (ws.SSSP, "push"),
                (ws.SSSP, "pull"),
                (ws.WidestPath, "pull"),
            )
        ],
        ("DeltaPageRank", lambda: ws.run(ws.DeltaPageRank, graph, **once)),
    ]
    for kind in (np.int64, np.float32):
        weighted = _weighted(edges, kind)
        runs.append(
            (f"SSSP {np.dtype(kind).name}", lambda w=weighted: ws.sssp(w, 0, engine="cuda"))
        )
    narrow = _weighted(edges, np.float32)
    runs.append(("WidestPath float32", lambda: ws.widest_path(narrow, 0, engine="cuda")))
    shown = (
        "minimum pulled", "tuple messages", "sums of a frontier", "any from an outbox", "news for one",
        "custom combine from an outbox", "custom combine of tuples", "superstep, parameter, aggregates",
        "destinations read", "destinations read by pulls",
    )  # fmt: skip
    runs += [
        (f"test: {case.name}", lambda case=case: case.run(graph, engine="cuda"))
        for case in cases.CASES
        if case.name in shown
    ]
    called = (
        "pairs",
        "sums of those who go",
        "any, of two fields",
        "custom combine, never at rest",
        "destinations read by those called",
        "any, of destinations",
    )
    runs += [
        (f"test: {case.name}", lambda case=case: case.run(graph, engine="cuda", direction="push"))
        for case in cases.RELAYS
        if case.name in called
    ]
    cut = [one for one in cases.CASES if one.name in shown[2:3] + shown[6:7] + shown[8:9]]
    for exchange in ("vr", "ms"):
        halves: dict[str, Any] = {"engine": "cuda", "partitions": 2, "exchange": exchange}
        runs += [
            (
                "PageRank on partitions",
                lambda given=halves: ws.run(ws.PageRank, graph, max_iter=1, **given),
            ),
            ("SSSP on partitions", lambda given=halves: ws.run(ws.SSSP, graph, start=0, **given)),
            *[
                (
                    f"test: {case.name}, on partitions",
                    lambda case=case, given=halves: case.run(graph, **given),
                )
                for case in cut
            ],
        ]
    for program, given in ((ws.PageRank, {}), (ws.BFS, {"start": 0}), (ws.SSSP, {"start": 0})):
        runs += [
            (
                f"{program.name} on GPUs of a cluster",
                lambda program=program, given={**given, **way}: thread_ranks.over_links(
                    2,
                    lambda comm: ws.run(
                        program, thread_ranks.share(graph, comm), engine="cuda", **given
                    ),
                ),
            )
            for way in ({"max_iter": 3, "exchange": "vr"}, {"max_iter": 3, "exchange": "ms"})
        ]
    order = np.arange(12).reshape(2, 6).T.ravel()  # a chain of ties, each over the border
    chain = cases.graph_of(type(edges)(order[:-1], order[1:], 12, np.zeros(11)))
    runs.append(
        (
            "SSSP on GPUs of a cluster",
            lambda: thread_ranks.over_links(
                2,
                lambda comm: ws.run(
                    ws.SSSP, thread_ranks.share(chain, comm), start=0, engine="cuda"
                ),
            ),
        )
    )
    runs += [
        (f"{label} in {layout}", partial(_run_over, program, given, layout, arguments))
        for label, program, given, layout, arguments in (
            ("PageRank", ws.PageRank, bare, "gshards", {}),
            ("PageRank", ws.PageRank, bare, "windows", {}),
            ("PageRank weighted", ws.PageRank, graph, "windows", {}),
            ("Heat", ws.Heat, graph, "windows", {"temperature": 1.0, "fixed": [0]}),
            ("test: custom combine of tuples", cases.Pairs, graph, "gshards", {}),
            ("test: custom combine from an outbox", cases.Paths, graph, "windows", {}),
        )
    ]
    for label, run in runs:
        recorder.label = label
        run()
    for method in cases.METHODS[1:]:
        recorder.label = f"PageRank {method}"
        ws.run(ws.PageRank, bare, method=method, **once)


def declared() -> set[str]:
    """Return the names of all kernels in `kernels/cuda`."""
    names = set()
    for path in kernel_file("cuda", "superstep").parent.glob("*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(
                isinstance(one, ast.Name) and one.id == "kernel" for one in node.decorator_list
            ):
                names.add(node.name)
    return names


# ----------------------------------------------------------------------------------- the table


def compiled(launch: Launch, capability: Capability) -> Binary:
    """Compile a kernel, or find it in the cache."""
    text = launch.text or kernel_file("cuda", launch.module).read_text()
    return load_or_compile(text, launch.name, launch.kinds, capability, launch.function)


def row_of(launch: Launch) -> str:
    """Write what comes before the figures in a kernel's row."""
    return f"| {launch.module} | {launch.name} | `{launch.signature()}` |"


def _figures(number: int) -> tuple[int, list[str], list[str]]:
    """Compile one of the launches; return its shared memory, registers, and what is wrong with it."""
    launch = launches()[number]
    made = [compiled(launch, capability) for capability in ARCHITECTURES]
    wrong = [
        f"{launch.module}.{launch.name} on sm_{major}{minor}: {binary.spilled} bytes spilled, a stack "
        f"frame of {binary.stack} bytes"
        for (major, minor), binary in zip(ARCHITECTURES, made, strict=True)
        if binary.spilled or binary.stack
    ]
    return max(one.shared for one in made), [_cell(one) for one in made], wrong


def _cell(binary: Binary) -> str:
    spilled = f" + {binary.spilled} spilled" if binary.spilled else ""
    return f"{binary.registers}{spilled}" + (f" + {binary.stack} stack" if binary.stack else "")


HEAD = """# What the kernels take

Written by `python ci/kernels.py`; `python ci/kernels.py --check` and a test compare.  Registers of a
thread for each architecture; bytes spilled to local memory and of stack frames would stand beside
them.  Shared memory is in bytes a block.  Types: f8 is float64, i4 int32, u1 uint8, `*` an array,
brackets a tuple.  Made with {compilers}; other versions take other registers, but may not spill either.

| module or program | kernel | types | shared | {names} |
| --- | --- | --- | --- | {rules} |
"""


def compilers() -> str:
    """Name the versions of what compiles kernels here."""
    found = []
    for name in ("nvidia-nvvm", "nvidia-nvjitlink"):
        with suppress(metadata.PackageNotFoundError):
            major, minor, *_ = metadata.version(name).split(".")
            found.append(f"{name} {major}.{minor}")
    return " and ".join(found)


def is_of_these_compilers(path: Path = TABLE) -> bool:
    """Tell whether the table was made with what compiles kernels here: only then registers compare."""
    return f"Made with {compilers()};" in path.read_text()


def read_table(path: Path = TABLE) -> dict[str, list[str]]:
    """Read the table: for each row's beginning, shared memory and the figures."""
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
    """Tell what is stale about a row, or return an empty text; registers only if comparable."""
    if row not in table:
        return f"not in the table: {row}"
    if not comparable:
        return ""
    for place in places or range(1, len(cells)):
        old, new = (re.findall(r"\d+", one[place])[0] for one in (table[row], cells))
        if abs(int(old) - int(new)) > CLOSE:
            return f"{new} registers, not {old}: {row} {table[row]}"
    return ""


def main() -> None:
    """Compile all, and write the table or compare with it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--check", action="store_true", help="compare with the table; write nothing"
    )
    arguments = parser.parse_args()
    found = launches()
    problems = [
        f"nobody launches {name}" for name in sorted(declared() - {one.name for one in found})
    ]
    lines, table = [], read_table() if TABLE.exists() else {}
    comparable = not TABLE.exists() or is_of_these_compilers()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for launch, (shared, cells, wrong) in zip(
            found, pool.map(_figures, range(len(found))), strict=True
        ):
            problems += wrong
            lines.append(f"{row_of(launch)} {shared} | {' | '.join(cells)} |")
            if arguments.check:
                told = stale(row_of(launch), [str(shared), *cells], table, comparable=comparable)
                problems += filter(None, [told])
    if arguments.check:
        gone = set(table) - {row_of(one) for one in found}
        problems += [f"no longer launched: {row}" for row in sorted(gone)]
    else:
        names = " | ".join(f"sm_{major}{minor}" for major, minor in ARCHITECTURES)
        head = HEAD.format(
            compilers=compilers(), names=names, rules=" | ".join("---" for _ in ARCHITECTURES)
        )
        TABLE.write_text(head + "\n".join(lines) + "\n")
    print(f"{len(found)} kernels for {len(ARCHITECTURES)} architectures")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()

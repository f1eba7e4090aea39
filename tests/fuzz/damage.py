"""Damage to what the library reads back: checkpoints, its cache of compiled code, and input files.

    python tests/fuzz/damage.py checkpoints --count 10000 --seed 1 --jobs 16

Every case is a process of its own, forked and given a time limit, so that signals and hangs are counted.
A case is known by its seed and number: `--only 17` runs number 17 alone and shows what it did.

- checkpoints: bits flipped, pieces cut, moved or taken from another file.  Refused, or the same answer.
- forged: checkpoints with a digest that is right, of arrays and facts that no run has.  Refused, or an
  answer: what is in range cannot be told from what a run wrote.
- cache: entries of the cache of compiled code, those of GPU kernels among them.  Always the same answer.
- loops: the same with functions that compile in a moment, for many cases.
- inputs: files of edges.  Refused by the library's own error, or read as something else.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

# ruff: noqa: E402 - the environment comes before the imports
os.environ["CUGRAPH_WS_THREADS"] = "1"  # a forked process has none of its parent's threads
warnings.simplefilter("ignore")
sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from plans import planned
from stopping import EndsAfter

import cugraph_ws as ws

OUTCOMES = ("refused", "same", "different", "wrong", "raw error", "signal", "hang")
BAD = ("wrong", "raw error", "signal", "hang")
LIMITS = {"checkpoints": 30.0, "forged": 30.0, "cache": 120.0, "inputs": 30.0, "loops": 30.0}
MEMORY = 8 << 30  # bytes of address space beside what a case begins with

LETTERS = list(b'0123456789,.;-+eE \t\n\r#%"NaN')


# ------------------------------------------------------------------------------------- damage


def damaged(rng: np.random.Generator, content: bytes, other: bytes) -> tuple[bytes, str]:
    """Return bytes with something wrong, and what; `other` is a file to take pieces from."""
    data = bytearray(content)
    size = len(data)
    kind = rng.choice(
        [
            "flip",
            "flip",
            "flip",
            "flips",
            "cut",
            "empty",
            "zeros",
            "move",
            "splice",
            "insert",
            "letter",
        ]
    )

    def piece(limit: int = size) -> slice:
        first = int(rng.integers(0, max(limit, 1)))
        return slice(first, first + int(rng.integers(1, 1 + min(64, max(limit - first, 1)))))

    if kind in ("flip", "flips"):
        for place in rng.integers(0, max(size, 1), 1 if kind == "flip" else rng.integers(2, 9)):
            if size:
                data[int(place)] ^= 1 << int(rng.integers(0, 8))
    elif kind == "cut":
        del data[int(rng.integers(0, size + 1)) :]
    elif kind == "empty":
        data.clear()
    elif kind == "zeros":
        where = piece()
        data[where] = bytes(len(data[where]))
    elif kind == "move":
        where = piece()
        taken = data[where]
        del data[where]
        place = int(rng.integers(0, len(data) + 1))
        data[place:place] = taken
    elif kind == "splice":
        taken = other[piece(len(other))]
        place = int(rng.integers(0, size + 1))
        data[place : place + len(taken)] = taken
    elif kind == "letter":
        for place in rng.integers(0, max(size, 1), rng.integers(1, 4)):
            data[int(place) : int(place) + 1] = [int(rng.choice(LETTERS))]
    else:
        place = int(rng.integers(0, size + 1))
        data[place:place] = rng.bytes(int(rng.integers(1, 40)))
    return bytes(data), str(kind)


# -------------------------------------------------------------------------------- checkpoints


def graph_of(seed: int, *, directed: bool = True) -> ws.Graph:
    rng = np.random.default_rng(seed)
    n, m = 200, 900
    table = pa.table(
        {
            "source": rng.integers(0, n, m),
            "destination": rng.integers(0, n, m),
            "weight": rng.integers(1, 64, m) / 8,
        }
    )
    everyone = pa.table({"vertex": np.arange(n)})
    return ws.Graph(table, weight="weight", directed=directed, vertices=everyone)


def bipartite() -> ws.Graph:
    rng = np.random.default_rng(5)
    left, right = rng.integers(0, 80, 300), rng.integers(80, 200, 300)
    everyone = pa.table({"vertex": np.arange(200)})
    return ws.Graph(pa.table({"source": left, "destination": right}), vertices=everyone)


def runs() -> dict[str, tuple[Any, Callable[..., Any], int]]:
    """Return graphs, what runs on them, and after how many calls it is stopped for a checkpoint."""
    from cugraph_ws.algorithms import core

    core.ARCS_A_STEP = 64  # else a step is the whole run
    one, both, sides = graph_of(1), graph_of(2, directed=False), bipartite()
    rng = np.random.default_rng(6)
    priors = pa.table(
        {"vertex": np.arange(200), "p0": rng.random(200) + 0.1, "p1": rng.random(200) + 0.1}
    )
    coupling = [[0.9, 0.1], [0.1, 0.9]]
    several = list(range(12))
    run = partial
    return {
        "bfs": (one, run(ws.run, ws.BFS, start=0, plan=ws.Plan(fused=False)), 2),
        "sssp": (one, run(ws.run, ws.SSSP, source=0, plan=ws.Plan(fused=False)), 2),
        "widest": (one, run(ws.run, ws.WidestPath, source=0, plan=ws.Plan(partitions=3)), 2),
        "pagerank": (one, run(ws.run, ws.PageRank), 5),
        "components": (
            both,
            lambda g, **more: ws.run(ws.WeaklyConnectedComponents(), g, **planned(**more)),
            1,
        ),
        "cores": (both, lambda g, **more: ws.run(ws.CoreNumber(), g, **planned(**more)), 1),
        "matching": (
            sides,
            lambda g, **more: ws.run(
                ws.MaximalBipartiteMatching(list(range(80))), g, **planned(**more)
            ),
            1,
        ),
        "belief": (
            both,
            lambda g, **more: ws.run(ws.BeliefPropagation(priors, coupling), g, **planned(**more)),
            3,
        ),
        "searches": (
            one,
            lambda g, **more: ws.run(
                ws.MultiSource(ws.BFS, "start", several), g, **planned(**more)
            ),
            1,
        ),
        "on shares": (one, on_shares, 2),
    }


def on_shares(graph: ws.Graph, **more: Any) -> Any:
    """Run on a graph that three ranks share; the checkpoint has parts."""
    from thread_ranks import on_ranks, share

    stop = more.pop("progress", None)

    def work(comm: Any) -> Any:
        calls = [] if stop is None else [0]
        progress = None if stop is None else (lambda _: calls.append(1) or len(calls) < 3)
        shard = share(graph, comm)
        return ws.run(
            ws.SSSP, shard, **planned(source=0, fused=False, progress=progress or False, **more)
        )

    parts = on_ranks(3, work)
    return [one.arrays for one in parts]


def plain(result: Any) -> bytes:
    """Return a result's columns as bytes that can be compared."""
    arrays = result if isinstance(result, list) else [result.arrays]
    told = []
    for columns in arrays:
        for name in sorted(columns):
            column = columns[name]
            parts = [getattr(column, part, None) for part in ("values", "valid", "numbers")]
            told += [np.asarray(part).tobytes() for part in parts if part is not None]
            if isinstance(column, np.ndarray):
                told.append(column.tobytes())
    return b"|".join(told)


def prepare_checkpoints(folder: Path) -> dict[str, Any]:
    """Write a checkpoint of each run, and compute its answer; this compiles everything."""
    prepared = {}
    for name, (graph, make, calls) in runs().items():
        path = folder / f"{name}.parquet"
        make(graph, progress=EndsAfter(calls), checkpoint=path)
        expected = plain(make(graph))
        if plain(make(graph, resume=path)) != expected:
            raise SystemExit(f"{name}: a whole checkpoint gives another answer")
        files = [path, *(folder / f"{name}.parquet.parts").glob("*.parquet")]
        prepared[name] = graph, make, path, files, expected
    return prepared


def damaged_checkpoint(
    prepared: dict[str, Any], rng: np.random.Generator, scratch: Path
) -> tuple[str, str]:
    name = str(rng.choice(list(prepared)))
    graph, make, path, files, expected = prepared[name]
    chosen = files[int(rng.integers(0, len(files)))]
    others = prepared[str(rng.choice(list(prepared)))][3]
    content, what = damaged(rng, chosen.read_bytes(), others[0].read_bytes())
    copy = scratch / path.name
    for file in files:
        there = copy if file == path else copy.with_name(f"{path.name}.parts") / file.name
        there.parent.mkdir(exist_ok=True)
        there.write_bytes(content if file == chosen else file.read_bytes())
    unchanged = content == chosen.read_bytes()
    try:
        found = plain(make(graph, resume=copy))
    except ws.CugraphWsError as error:
        return ("wrong" if unchanged else "refused"), f"{name}, {what}: {error}"
    return ("same" if found == expected else "wrong"), f"{name}, {what}"


def forged_checkpoint(
    prepared: dict[str, Any], rng: np.random.Generator, scratch: Path
) -> tuple[str, str]:
    from cugraph_ws.execution.checkpoint import write_checkpoint

    name = str(rng.choice(list(prepared)))
    graph, make, path, files, expected = prepared[name]
    chosen = files[int(rng.integers(0, len(files)))]
    arrays, facts = contents(chosen)
    what = str(rng.choice(["values", "values", "values", "type", "length", "name", "facts"]))
    if not arrays:
        return "same", f"{name}, nothing to change"
    column = str(rng.choice(list(arrays)))
    array = arrays[column]
    if what == "values" and len(array):
        places = rng.integers(0, len(array), rng.integers(1, 20))
        array[places] = forged_values(rng, array.dtype, len(places))
    elif what == "type":
        kinds = [np.float64, np.float32, np.int64, np.int32, np.int8, np.uint64, np.bool_]
        with np.errstate(all="ignore"):
            arrays[column] = array.astype(kinds[int(rng.integers(0, len(kinds)))])
    elif what == "length":
        arrays[column] = np.resize(array, int(rng.integers(0, 2 * len(array) + 2)))
    elif what == "name":
        arrays[str(rng.choice(["", "other", "_queue", "mate"]))] = arrays.pop(column)
    else:
        key = str(rng.choice([*facts, "parts"]))
        values = [None, -1, 1 << 70, 0.5, "x", [], {}, [[]], {"file": 1}, True, float("nan")]
        facts[key] = values[int(rng.integers(0, len(values)))]
    copy = scratch / path.name
    parts = copy.with_name(f"{path.name}.parts")
    for file in files[1:]:
        parts.mkdir(exist_ok=True)
        shutil.copy(file, parts)
    if chosen == path:
        write_checkpoint(copy, arrays, facts)
    else:  # the checkpoint names the digest of each of its parts
        digest = write_checkpoint(parts / chosen.name, arrays, facts)
        shared, known = contents(path)
        (part,) = [part for part in known["parts"] if part["file"] == chosen.name]
        part["digest"] = digest
        write_checkpoint(copy, shared, known)
    try:
        found = plain(make(graph, resume=copy))
    except ws.CugraphWsError as error:
        return "refused", f"{name}, {what} of {column}: {error}"
    return ("same" if found == expected else "different"), f"{name}, {what} of {column}"


def contents(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the arrays and facts of a checkpoint, read by other means than the library's."""
    table = pq.read_table(path)
    facts = json.loads(table.schema.metadata[b"cugraph_ws"])
    lengths = facts.pop("lengths")
    arrays = {
        name: np.array(table.column(name).slice(0, length).to_numpy())
        for name, length in lengths.items()
    }
    return arrays, facts


def forged_values(rng: np.random.Generator, dtype: np.dtype[Any], count: int) -> Any:
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if dtype.kind == "f":
        odd = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1e308, -1e308, 5e-324, 1e18, 0.5]
        return rng.choice(odd, count).astype(dtype)
    limits = np.iinfo(dtype)
    near = rng.integers(-4, 260, count)
    odd = rng.choice([limits.min, limits.max, limits.max - 1, -1, -2, -3, 200, 199, 1 << 20], count)
    return np.where(rng.random(count) < 0.6, near, odd).astype(dtype)


# -------------------------------------------------------------------------------------- cache

PROGRAM = """
import math, os, sys
import numpy as np, pyarrow as pa
import cugraph_ws as ws

@ws.vertex_program
class Least:
    label: ws.float64
    max_iter = 4

    def init(vertex):
        return 1.0 * vertex

    def compute(src):
        return src.label

    combine = min

    def apply(old, gathered):
        return min(old.label, gathered)

def answer():
    rng = np.random.default_rng(3)
    edges = pa.table({"source": rng.integers(0, 60, 200), "destination": rng.integers(0, 60, 200)})
    with ws.Graph(edges) as graph:
        return ws.run(Least, graph, plan=ws.Plan(direction="gather")).arrays["label"].tobytes()

if __name__ == "__main__":
    sys.stdout.buffer.write(answer())
"""

LOOPS = """
import sys
import numpy as np
from cugraph_ws.kernels.cpu.jit import jit

@jit
def shifted(numbers, by):
    return numbers + by

@jit
def scaled(number, by):
    return number * by

@jit
def least(a, b):
    return min(a, b)

def answer():
    found = shifted(3, 4), shifted(3, 0.5), scaled(2.5, 3), least(7, 2)
    return np.array(found).tobytes()

if __name__ == "__main__":
    sys.stdout.buffer.write(answer())
"""


def prepare_cache(folder: Path, text: str = PROGRAM) -> dict[str, Any]:
    """Fill a cache in another process: this one must not have compiled anything."""
    script, cache = folder / "compiled_script.py", folder / "cache"
    script.write_text(text, encoding="utf-8")
    environment = {
        **os.environ,
        "CUGRAPH_WS_CACHE_DIR": str(cache),
        "NUMBA_CACHE_DIR": str(cache / "numba"),
    }
    done = subprocess.run(
        [sys.executable, script], env=environment, check=True, capture_output=True
    )
    os.environ["CUGRAPH_WS_CACHE_DIR"] = str(cache)
    load_binary("made")
    files = sorted(path.relative_to(cache) for path in cache.rglob("*") if path.is_file())
    return {"folder": folder, "cache": cache, "files": files, "expected": done.stdout}


def load_binary(says: str) -> tuple[str, Any]:
    """Load a GPU kernel's binary from the cache, or make one; return whether it was made."""
    from cugraph_ws.runtime import device_compiler as compiler

    made = []

    def compile_kernel(*arguments: Any) -> Any:
        made.append(says)
        return compiler.Binary("kernel", 12, 0, 0, 64, bytes(range(256)) * 8, 256)

    before, compiler.compile_kernel = compiler.compile_kernel, compile_kernel
    try:
        binary = compiler.load_or_compile("text", "kernel", ("int64",), (9, 0), lambda: None)
    finally:
        compiler.compile_kernel = before
    return ("made" if made else "found"), binary


def damaged_cache(
    prepared: dict[str, Any], rng: np.random.Generator, scratch: Path
) -> tuple[str, str]:
    import numba

    cache, files = scratch / "cache", prepared["files"]
    shutil.copytree(prepared["cache"], cache)
    chosen = [files[int(place)] for place in rng.integers(0, len(files), rng.integers(1, 4))]
    kinds = []
    for name in chosen:
        path, other = cache / name, cache / files[int(rng.integers(0, len(files)))]
        content, kind = damaged(rng, path.read_bytes(), other.read_bytes())
        if rng.random() < 0.1:  # an entry under another's name
            content, kind = other.read_bytes(), "exchanged"
        path.write_bytes(content)
        kinds.append(f"{kind} of {name.name}")
    os.environ["CUGRAPH_WS_CACHE_DIR"] = str(cache)
    numba.config.CACHE_DIR = str(cache / "numba")
    sys.path.insert(0, str(prepared["folder"]))
    import compiled_script

    found = compiled_script.answer()
    _, binary = load_binary("again")
    good = binary.code == bytes(range(256)) * 8 and binary.threads == 256
    return ("same" if found == prepared["expected"] and good else "wrong"), ", ".join(kinds)


# ------------------------------------------------------------------------------------- inputs


def prepare_inputs(folder: Path) -> dict[str, Any]:
    """Write edges in every format."""
    from cugraph_ws.frames.writers import write_frame

    rng = np.random.default_rng(9)
    source, destination = rng.integers(0, 40, 120), rng.integers(0, 40, 120)
    table = pa.table({"source": source, "destination": destination, "weight": rng.random(120)})
    words = pa.table(
        {"from": [f"town {one}" for one in source], "to": [f"ø{one}" for one in destination]}
    )
    for name in ("edges.csv", "edges.tsv", "edges.csv.gz", "edges.parquet"):
        write_frame(table, folder / name)
        write_frame(words, folder / f"words-{name}")
    rows = [f"{a}\t{b}" for a, b in zip(source, destination, strict=True)]
    (folder / "snap.txt").write_text(
        "# Directed graph\n# FromNodeId\tToNodeId\n" + "\n".join(rows) + "\n"
    )
    (folder / "blanks.txt").write_text("\n".join(row.replace("\t", "   ") for row in rows) + "\n")
    entries = [f"{a + 1} {b + 1} {0.5 * a}" for a, b in zip(source, destination, strict=True)]
    head = "%%MatrixMarket matrix coordinate real general\n% made\n40 40 120\n"
    (folder / "edges.mtx").write_text(head + "\n".join(entries) + "\n")
    pattern = head.replace("real", "pattern").replace("general", "symmetric")
    (folder / "pattern.mtx").write_text(
        pattern + "\n".join(one.rsplit(" ", 1)[0] for one in entries) + "\n"
    )
    prepared = {path.name: path.read_bytes() for path in sorted(folder.iterdir())}
    for path in sorted(folder.iterdir()):
        read_edges(path)  # what is whole is read; and loops are compiled
    return prepared


def read_edges(path: Path) -> int:
    """Read a file and use it as a graph."""
    from cugraph_ws.frames.readers import read_edges as read

    table = read(path)
    source, destination, *others = table.column_names
    with ws.Graph(table, source, destination, weight=others[0] if others else None) as graph:
        return len(ws.weakly_connected_components(graph))


def damaged_input(
    prepared: dict[str, bytes], rng: np.random.Generator, scratch: Path
) -> tuple[str, str]:
    names = list(prepared)
    name, other = str(rng.choice(names)), str(rng.choice(names))
    content, what = damaged(rng, prepared[name], prepared[other])
    if rng.random() < 0.2:
        content, more = damaged(rng, content, prepared[other])
        what = f"{what}, {more}"
    path = scratch / name
    path.write_bytes(content)
    try:
        read_edges(path)
    except ws.CugraphWsError as error:
        return "refused", f"{name}, {what}: {error}"
    return "different", f"{name}, {what}"


KINDS: dict[str, tuple[Callable[[Path], Any], Callable[..., tuple[str, str]]]] = {
    "checkpoints": (prepare_checkpoints, damaged_checkpoint),
    "forged": (prepare_checkpoints, forged_checkpoint),
    "cache": (prepare_cache, damaged_cache),
    "inputs": (prepare_inputs, damaged_input),
    "loops": (partial(prepare_cache, text=LOOPS), damaged_cache),
}


# --------------------------------------------------------------------------- cases, each in a process


def in_child(work: Callable[[], tuple[str, str]], limit: float) -> tuple[str, str]:
    """Do something in a forked process; return its outcome, a signal or a hang."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(readable)
        _report(work, writable)
    os.close(writable)
    told, deadline = b"", time.monotonic() + limit
    while True:
        ready, _, _ = select.select([readable], [], [], max(deadline - time.monotonic(), 0))
        block = os.read(readable, 1 << 16) if ready else b""
        if not block:
            break
        told += block
    os.close(readable)
    if not ready:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return "hang", f"killed after {limit:g} s"
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return "signal", signal.Signals(os.WTERMSIG(status)).name
    try:
        outcome, detail = json.loads(told)
    except ValueError:
        return "raw error", f"the process ended with {os.waitstatus_to_exitcode(status)}"
    return outcome, detail


def _report(work: Callable[[], tuple[str, str]], writable: int) -> None:
    """Work in a child and end it; what the work prints is dropped."""
    code = 1
    try:
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nowhere, descriptor)
        _limit_memory()
        try:
            told = work()
        except BaseException:
            told = "raw error", traceback.format_exc()[-1500:]
        with os.fdopen(writable, "w") as file:
            json.dump(told, file)
        code = 0
    finally:
        os._exit(code)


def _limit_memory() -> None:
    """Have a damaged length end in an error, not in a machine without memory."""
    import resource

    with contextlib.suppress(OSError, ValueError):
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def one_case(
    kind: str, prepared: Any, seed: int, limit: float, number: int
) -> tuple[int, str, str]:
    """Run one case; return its number, its outcome, and a line about it."""
    scratch = Path(tempfile.mkdtemp(prefix=f"damage-{number}-"))

    def work() -> tuple[str, str]:
        return KINDS[kind][1](prepared, np.random.default_rng([seed, number]), scratch)

    try:
        outcome, detail = in_child(work, limit)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return number, outcome, detail


_shared: dict[str, Any] = {}  # what forked workers have of their parent


def _shared_case(number: int) -> tuple[int, str, str]:
    return one_case(**_shared, number=number)


def run(
    kind: str,
    *,
    count: int,
    seed: int,
    jobs: int,
    limit: float,
    only: int | None = None,
    verbose: bool = False,
) -> Counter[str]:
    """Run cases, print what is bad and a line of counts; return the counts."""
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        prepared = KINDS[kind][0](Path(folder))
        _shared.update(kind=kind, prepared=prepared, seed=seed, limit=limit)
        numbers = range(count) if only is None else [only]
        with contextlib.ExitStack() as stack:
            if jobs > 1:
                pool = stack.enter_context(multiprocessing.get_context("fork").Pool(jobs))
                done = pool.imap_unordered(_shared_case, numbers, chunksize=8)
            else:
                done = map(_shared_case, numbers)
            for number, outcome, detail in done:
                counts[outcome] += 1
                if outcome in BAD or only is not None or verbose:
                    print(f"{kind} {number}: {outcome}: {detail}", flush=True)
    told = ", ".join(f"{name} {counts[name]}" for name in OUTCOMES)
    print(f"{kind}, seed {seed}: cases {sum(counts.values())}, {told}", flush=True)
    return counts


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument(
        "kinds", nargs="+", choices=list(KINDS), metavar="KIND", help=", ".join(KINDS)
    )
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--limit", type=float, help="seconds for a case")
    parser.add_argument("--only", type=int, help="the number of one case")
    parser.add_argument("--verbose", action="store_true", help="print every case")
    given = parser.parse_args()
    bad = False
    for kind in sorted(given.kinds):  # the cache first: nothing may be compiled before it
        counts = run(
            kind,
            count=given.count,
            seed=given.seed,
            jobs=given.jobs,
            limit=LIMITS[kind] if given.limit is None else given.limit,
            only=given.only,
            verbose=given.verbose,
        )
        bad = bad or any(counts[name] for name in BAD)
    sys.exit(bad)


if __name__ == "__main__":
    main()

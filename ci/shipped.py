"""Compile the built-in functions into the folder that wheels carry: before `python -m build`; some minutes.

    python ci/shipped.py                             for a baseline processor
    python ci/shipped.py --engine cuda               for GPUs; none is needed
    python ci/shipped.py --engine cuda --only 9.0    for GPUs of one compute capability

For processors it makes the calls of `cugraph-ws warm-up` with an empty cache, and calls with frames of pandas, for
Numba's target of `cugraph_ws.runtime.shipped`.  What it writes serves this version of Python and of Numba: run it
again with other ones, to ship for them too.  For GPUs it compiles the kernels that calls are listed to launch
(`ci/launched_together.py`), if their entries are not there; they serve any Python, and this version of Numba and
Numba-CUDA.  With them go the device functions that kernels of users' programs share, as the models of
`model_programs.py` need them, and the operations on CuPy's arrays that `ci/array_operations.py` has listed, for the release
of CuPy that it names, which must be installed.  Entries of older sources are removed.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Container, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import array_operations
from model_programs import MODELS

from cugraph_ws.backends.cuda.listed_programs import jobs_of, jobs_of_models
from cugraph_ws.runtime import shipped
from cugraph_ws.runtime.array_operations import archive_name
from cugraph_ws.runtime.compile_ahead import LIST, Job, module_with
from cugraph_ws.runtime.compile_worker import function_of, source_of
from cugraph_ws.runtime.device_compiler import entry_name, load_or_compile
from cugraph_ws.runtime.device_functions import SUFFIX
from cugraph_ws.runtime.machine_code import read_entry
from cugraph_ws.runtime.shipped import BASELINE, FOLDER, FUNCTIONS

LIMIT = (
    40 << 20
)  # bytes of a folder's entries for an engine, compressed in a wheel to about a third
ENTRIES = {"cpu": ("*.nbc", "types-*"), "cuda": ("*.cubin",)}
# Compute capabilities with machine code of their own
TOGETHER = {"SETTLES": ("False", "True"), "CHANGES": ("False", "True"), "TERMS": ("0", "1")}
CONSTANT = re.compile(r"^([A-Z]+) = (\w+)$", re.MULTILINE)
APART = ("ANY", "KEEPS", "ORDERED", "TARGETS")
ARCHITECTURES = ("7.5", "8.0", "8.6", "8.9", "9.0", "10.0", "12.0")
CALLS = """
import pandas as pd
import cugraph_ws as ws

for ids in ("int64", "str"):
    edges = pd.DataFrame({"source": [0, 1, 2, 3], "destination": [1, 2, 3, 0]}).astype(ids)
    weighted = edges.assign(weight=[1.0, 2.0, 3.0, 4.0])
    start = edges["source"][0]
    for frame, named in ((edges, {}), (weighted, {"weight": "weight"})):
        for directed in (True, False):
            graph = ws.Graph(frame, directed=directed, **named)
            ws.bfs(graph, start), ws.sssp(graph, start), ws.pagerank(graph)
            ws.weakly_connected_components(graph), ws.core_number(graph), ws.degrees(graph)
            if not directed:
                ws.louvain(graph), ws.leiden(graph)
"""


def environment(folder: Path) -> dict[str, str]:
    """Return variables with which all that is compiled is for the baseline, and written to a folder."""
    return {
        **os.environ,
        "CUGRAPH_WS_CACHE_DIR": str(folder / "cache"),
        "NUMBA_CACHE_DIR": str(folder / "numba"),
        "NUMBA_CPU_NAME": BASELINE,
        "NUMBA_CPU_FEATURES": "",
    }


def ship(folder: Path, *commands: list[str], into: Path) -> int:
    """Run commands, and copy what they have compiled.

    Parameters
    ----------
    folder : Path
        Empty, for their caches.
    *commands : list of str
    into : Path
        Entries of earlier runs are removed from it.

    Returns
    -------
    int
        Bytes that what was copied takes in a wheel.
    """
    for command in commands:
        subprocess.run(command, env=environment(folder), check=True)
    entries = [path for name in ENTRIES["cpu"] for path in folder.rglob(name)]
    return _replace(entries, into, "cpu")


def _replace(entries: Iterable[Path], into: Path, engine: str, kept: Container[str] = ()) -> int:
    """Copy an engine's entries into a folder, remove earlier ones but `kept`; return compressed bytes of all."""
    into.mkdir(exist_ok=True)
    for name in ENTRIES[engine]:
        for old in into.glob(name):
            if old.name not in kept:
                old.unlink()
    for entry in entries:
        shutil.copyfile(entry, into / entry.name)
    return sum(
        len(zlib.compress(entry.read_bytes()))
        for name in ENTRIES[engine]
        for entry in into.glob(name)
    )


def ship_kernels(folder: Path, jobs: Sequence[Job], *, into: Path) -> int:
    """Compile kernels that a folder lacks, and copy them.

    Parameters
    ----------
    folder : Path
        Empty, for their cache.
    jobs : sequence of Job
    into : Path
        Entries of other kernels are removed from it.

    Returns
    -------
    int
        Bytes that they take in a wheel.
    """
    names = {entry_name(source_of(job), job.name, job.kinds, job.capability): job for job in jobs}
    missing = [job for name, job in names.items() if not (into / name).exists()]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(partial(_compile, folder), missing, chunksize=4))
    return _replace(folder.rglob("*.cubin"), into, "cuda", kept=names)


def _compile(folder: Path, job: Job) -> None:
    os.environ["CUGRAPH_WS_CACHE_DIR"] = str(folder)
    shipped.FOLDER = folder  # what this checkout ships is not loaded
    function = function_of(job)
    load_or_compile(source_of(job), job.name, job.kinds, job.capability, function)


def ship_functions(folder: Path, jobs: Sequence[Job], *, into: Path) -> int:
    """Compile the functions of kernels into an archive, but for those of users' programs.

    Parameters
    ----------
    folder : Path
        Empty, for their cache.
    jobs : sequence of Job
        One for each kernel.
    into : Path

    Returns
    -------
    int
        Bytes of the archive.
    """
    texts = {job.text: [] for job in jobs}
    for job in jobs:
        texts[job.text].append(job)
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(partial(_compile_functions, folder), texts.values()))
    path = into / FUNCTIONS
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for entry in sorted(folder.rglob(f"*{SUFFIX}")):
            if not entry.name.startswith("user_"):
                archive.writestr(
                    zipfile.ZipInfo(entry.name), read_entry(entry), zipfile.ZIP_DEFLATED
                )
    return path.stat().st_size


def with_other_features(jobs: Iterable[Job]) -> Iterator[Job]:
    """Yield kernels of programs, and the same ones as they are for programs with other features."""
    for job in jobs:
        program, _, _ = job.module.rpartition("_")
        for text in _texts_with_other_features(job.text):
            yield job._replace(module=module_with(program, text), text=text)


@lru_cache
def _texts_with_other_features(text: str) -> list[str]:
    """Return a text, and what it is with other constants, by which loops know a program's features.

    `TOGETHER` are tried in all combinations, since a function depends on several of them, `APART` one by one.
    """
    own = dict(CONSTANT.findall(text))
    combinations = itertools.product(*TOGETHER.values())
    features = [dict(zip(TOGETHER, values, strict=True)) for values in combinations]
    features += [{name: str(own[name] != "True")} for name in APART]
    texts = [
        CONSTANT.sub(
            lambda line, chosen=chosen: f"{line[1]} = {chosen.get(line[1], line[2])}", text
        )
        for chosen in features
    ]
    return list(dict.fromkeys([text, *texts]))


def _compile_functions(folder: Path, jobs: Sequence[Job]) -> None:
    from cugraph_ws.runtime import cuda_target

    os.environ["CUGRAPH_WS_CACHE_DIR"] = str(folder)
    shipped.FOLDER = folder
    for job in jobs:
        cuda_target.compile_functions(function_of(job)(), job.kinds)


def ship_operations(listed: dict[str, Any], architectures: Sequence[str], *, into: Path) -> int:
    """Compile array operations, into an archive for each architecture that has none of this list.

    Parameters
    ----------
    listed : dict
        See `array_operations.listed`.
    architectures : sequence of str
        Such as `"90"`.
    into : Path
        Archives of other architectures are removed from it.

    Returns
    -------
    int
        Bytes of the archives.
    """
    import cupy

    headers = cupy._core.core.CUPY_CACHE_KEY
    if headers != listed["headers"]:
        raise SystemExit(
            f"{array_operations.LIST} is for CuPy {listed['cupy']}, and {cupy.__version__} is installed: "
            "install that release, or list the operations anew (python ci/array_operations.py, with a GPU)"
        )
    digest = sha256("\0".join(listed["sources"]).encode()).hexdigest().encode()
    paths = {into / archive_name(arch): arch for arch in architectures}
    for path in set(into.glob(archive_name("*"))) - set(paths):
        path.unlink()
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        for path, arch in paths.items():
            if path.exists() and zipfile.ZipFile(path).comment == digest:
                continue
            compiled = pool.map(
                partial(array_operations.compile_operation, arch=arch),
                listed["sources"],
                chunksize=8,
            )
            with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.comment = digest
                for name, code in compiled:
                    archive.writestr(zipfile.ZipInfo(name), code, zipfile.ZIP_DEFLATED)
    return sum(path.stat().st_size for path in paths)


def _ship_cpu(folder: Path) -> int:
    weights = [word for kind in ("float64", "float32", "int64") for word in ("--weights", kind)]
    warm_up = ["cugraph_ws.cli.main", "warm-up", "--engine", "cpu", *weights]
    return ship(
        folder, [sys.executable, "-c", CALLS], [sys.executable, "-m", *warm_up], into=FOLDER
    )


def main() -> None:
    """Compile all, and refuse to ship too much."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", choices=ENTRIES, default="cpu")
    parser.add_argument(
        "--only", action="append", choices=ARCHITECTURES, help="a compute capability of GPUs"
    )
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        if given.engine == "cpu":
            size = _ship_cpu(Path(folder))
        else:
            architectures = given.only or ARCHITECTURES
            calls = [call for call, *_ in json.loads(LIST.read_text("utf-8"))["calls"]]
            jobs = [
                job
                for asked in architectures
                for job in jobs_of(calls, tuple(map(int, asked.split("."))))
            ]
            size = ship_kernels(Path(folder), jobs, into=FOLDER)
            models = jobs_of_models(MODELS, (9, 0))
            jobs = [*jobs_of(calls, (9, 0)), *with_other_features(models)]
            size += ship_functions(Path(folder) / "functions", jobs, into=FOLDER)
            size += ship_operations(
                array_operations.listed(),
                [each.replace(".", "") for each in architectures],
                into=FOLDER,
            )
    entries = sum(len(list(FOLDER.glob(name))) for name in ENTRIES[given.engine])
    print(f"{FOLDER}: {entries} entries, {size / 1e6:.1f} MB of a wheel")
    if size > LIMIT:
        sys.exit(f"more than {LIMIT >> 20} MiB: ship fewer types of weights")


if __name__ == "__main__":
    main()

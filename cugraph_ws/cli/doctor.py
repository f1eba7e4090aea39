"""`cugraph-ws doctor`: what is installed, what the GPU says, and one small run of everything with times."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import click

from cugraph_ws.cli.info import facts
from cugraph_ws.cli.options import debug_option
from cugraph_ws.cli.status import doing

__all__ = ["doctor_command"]

FRAMES = ("pandas", "polars", "pyarrow", "cudf")
OK, MISSING, FAILED = "ok", "not installed", "failed"


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@debug_option
def doctor_command(as_json: bool) -> int:
    """Check the installation: versions, the cache, the GPU, and a small run of each kind, with times.

    The first run of a machine compiles code, which takes seconds.  Exit code 1: a check failed.
    """
    groups = facts()
    checks = []
    for name, check in _checks():
        with doing(f"checking: {name}"):
            checks.append(_tried(name, check))
    code = 1 if any(outcome == FAILED for _, outcome, _, _ in checks) else 0
    if as_json:
        rows = [
            {"check": name, "outcome": outcome, "seconds": seconds, "detail": detail}
            for name, outcome, seconds, detail in checks
        ]
        click.echo(json.dumps({**groups, "Checks": rows}, indent=2))
        return code
    for title in ("Engines", "Versions"):
        click.secho(title, bold=True)
        for name, value in groups[title].items():
            click.echo(f"  {name:<24}{value}")
    click.secho("Checks", bold=True)
    for name, outcome, seconds, detail in checks:
        took = "" if outcome == MISSING else f"{seconds:7.2f} s  "
        click.echo(f"  {name:<24}{outcome:<15}{took}{detail}".rstrip())
    return code


def _checks() -> Iterator[tuple[str, Callable[[], str]]]:
    yield "cache of compiled code", _cache
    for library in FRAMES:
        yield f"frames of {library}", lambda library=library: _frame(library)  # type: ignore[misc]
    yield "vertex program", _program
    yield "loop of its own", _loop
    yield "GPU", _gpu
    yield "Dask cluster", _cluster


def _tried(name: str, check: Callable[[], str]) -> tuple[str, str, float, str]:
    """Return a check's name, outcome, seconds and detail."""
    start = time.perf_counter()
    try:
        detail, outcome = check(), OK
    except ModuleNotFoundError as error:
        detail, outcome = str(error), MISSING
    except Exception as error:  # whatever is wrong is what is to be shown
        detail, outcome = f"{type(error).__name__}: {' '.join(str(error).split())}", FAILED
    return name, outcome, round(time.perf_counter() - start, 3), detail


def _need(library: str) -> None:
    if find_spec(library) is None:
        raise ModuleNotFoundError("")


def _edges() -> Any:
    import pyarrow as pa

    return pa.table({"source": [0, 1, 2, 2], "destination": [1, 2, 0, 3]})


def _cache() -> str:
    from cugraph_ws.runtime.machine_code import cache_folder, code_folder

    if code_folder() is None:
        raise PermissionError(
            f"{cache_folder()} cannot be used; set CUGRAPH_WS_CACHE_DIR to a folder that only you can write to"
        )
    return str(cache_folder())


def _frame(library: str) -> str:
    _need(library)
    from cugraph_ws.algorithms.degrees import degrees
    from cugraph_ws.frames import conversions

    name = {"pyarrow": "arrow"}.get(library, library)
    result = degrees(getattr(conversions, f"to_{name}")(_edges()))
    return f"{len(result)} vertices in, {type(result).__name__} out"


def _program() -> str:
    from cugraph_ws.algorithms.pagerank import pagerank

    total = sum(pagerank(_edges())["pagerank"].to_pylist())
    if abs(total - 1) > 1e-6:
        raise ArithmeticError(f"ranks add up to {total}, not 1")
    return "ranks add up to 1"


def _loop() -> str:
    from cugraph_ws.algorithms.components import weakly_connected_components

    labels = set(weakly_connected_components(_edges())["labels"].to_pylist())
    if labels != {0}:
        raise ArithmeticError(f"components are {labels}, not one")
    return "one component found"


def _gpu() -> str:
    from cugraph_ws.runtime.driver import installed_gpus

    gpus = installed_gpus()
    if not gpus:
        raise ModuleNotFoundError("no GPU, or no driver")
    from cugraph_ws.algorithms.pagerank import pagerank

    pagerank(_edges(), engine="cuda")
    return ", ".join(gpu.name for gpu in gpus)


def _cluster() -> str:
    for library in ("dask", "distributed", "pandas", "cryptography"):
        _need(library)
    import dask.dataframe as dd

    from cugraph_ws.algorithms.degrees import degrees
    from cugraph_ws.dask.local import local_cluster

    with local_cluster(2, threads_per_worker=1, silence_logs="CRITICAL"):
        frame = dd.from_pandas(_edges().to_pandas(), npartitions=2)
        rows = len(degrees(frame).compute())
    return f"2 workers, {rows} vertices"

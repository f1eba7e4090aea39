"""`cugraph-ws info`: engines, devices and versions, for bug reports."""

from __future__ import annotations

import json
import os
import platform
from importlib import metadata
from pathlib import Path

import click

from cugraph_ws.cli.options import debug_option

__all__ = ["facts", "info_command"]

NEEDED = ("cugraph-ws", "numba", "numpy", "pyarrow", "narwhals")
OPTIONAL = ("pandas", "polars", "numba-cuda")
# Packages with a separate distribution for each CUDA version
BY_CUDA = {"cudf": "cudf-cu{}", "cupy": "cupy-cuda{}x", "rmm": "rmm-cu{}"}


@click.command("info")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@debug_option
def info_command(as_json: bool) -> None:
    """Show engines, devices and versions."""
    groups = facts()
    if as_json:
        click.echo(json.dumps(groups, indent=2))
        return
    width = max(len(name) for group in groups.values() for name in group)
    for title, group in groups.items():
        click.secho(title, bold=True)
        for name, value in group.items():
            click.echo(f"  {name:<{width}}  {value}")


def facts() -> dict[str, dict[str, str]]:
    """Return what the command shows.

    Returns
    -------
    dict of dict of str
        Values by title and name.
    """
    import psutil

    from cugraph_ws.runtime.driver import installed_gpus
    from cugraph_ws.runtime.memory import format_bytes
    from cugraph_ws.runtime.threads import number_of_threads

    memory = psutil.virtual_memory()
    gpus = installed_gpus()
    settings = {
        name: value for name, value in sorted(os.environ.items()) if name.startswith("CUGRAPH_WS_")
    }
    return {
        "Engines": {
            "cpu": f"{number_of_threads()} threads, compiled by Numba",
            "cuda": f"{_count(len(gpus))}, compiled by Numba-CUDA" if gpus else "no GPU found",
            "python": "1 thread, not compiled",
        },
        "Devices": {
            "cpu": f"{_processor()}, {os.cpu_count()} cores",
            "memory": f"{format_bytes(memory.total)}, {format_bytes(memory.available)} available",
            **{
                f"gpu {place}": f"{gpu.name}, {format_bytes(gpu.memory)}, compute capability "
                f"{gpu.capability[0]}.{gpu.capability[1]}, {gpu.multiprocessors} multiprocessors"
                for place, gpu in enumerate(gpus)
            },
            "system": platform.platform(),
        },
        "Versions": {
            "python": platform.python_version(),
            **{name: _version(name) for name in (*NEEDED, *OPTIONAL)},
            **{name: _version_for_cuda(pattern) for name, pattern in BY_CUDA.items()},
        },
        "Settings": settings or {"environment": "none set"},
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def _version_for_cuda(pattern: str) -> str:
    """Return the version of a package whose name includes the version of CUDA."""
    versions = (_version(pattern.format(cuda)) for cuda in (13, 12))
    return next((version for version in versions if version != "not installed"), "not installed")


def _count(gpus: int) -> str:
    return "1 GPU" if gpus == 1 else f"{gpus} GPUs"


def _processor(cpuinfo: Path = Path("/proc/cpuinfo")) -> str:
    """Return the processor's name, on Linux read from a file."""
    if cpuinfo.exists():
        for line in cpuinfo.read_text("utf-8", "replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()

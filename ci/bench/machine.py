"""The machine of a measurement: processor, GPU, driver, versions; `python -m bench machine` prints it."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Names of distributions; some end in the CUDA version that they were built for.
LIBRARIES = {
    "cudf": ("cudf-cu13", "cudf-cu12", "cudf"), "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
    "numba_cuda": ("numba-cuda",), "numba": ("numba",), "numpy": ("numpy",),
    "rmm": ("rmm-cu13", "rmm-cu12", "rmm"), "cugraph": ("cugraph-cu13", "cugraph-cu12", "cugraph"),
    **{name: (name,) for name in ("networkit", "igraph", "networkx", "scipy", "pandas")},
}  # fmt: skip


def machine() -> dict[str, Any]:
    """Describe the machine.

    Returns
    -------
    dict
        processor, cores, python, versions; where there is a GPU gpu, gpus (visible ones), memory (MiB), driver,
        cuda, compute_capability.
    """
    facts: dict[str, Any] = {
        "processor": _processor(), "python": platform.python_version(), "cores": os.cpu_count(),
        "versions": {name: version for name in LIBRARIES if (version := _version(name)) is not None},
    }  # fmt: skip
    if not (gpu := _gpu()):
        return facts
    facts |= gpu
    try:
        import cupy

        major, minor = divmod(cupy.cuda.runtime.runtimeGetVersion() // 10, 100)
        facts["cuda"] = f"{major}.{minor}"
        facts["compute_capability"] = cupy.cuda.Device().compute_capability
    except Exception as error:  # record the other facts, whatever fails here
        facts["cuda"] = f"unknown: {error}"
    return facts


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text().splitlines() if path.exists() else []
    models = (line.split(": ", 1)[1] for line in lines if line.startswith("model name"))
    return next(models, platform.processor() or platform.machine())


def _version(name: str) -> str | None:
    for distribution in LIBRARIES[name]:
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    try:
        return str(importlib.import_module(name).__version__)
    except (ImportError, AttributeError):
        return None


def _gpu() -> dict[str, Any]:
    try:
        import pynvml
    except ImportError:
        return {}
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError:  # no driver
        return {}
    try:
        count = pynvml.nvmlDeviceGetCount()
        if not count:
            return {}
        first = pynvml.nvmlDeviceGetHandleByIndex(0)
        facts = {
            "gpu": pynvml.nvmlDeviceGetName(first),
            "memory": str(pynvml.nvmlDeviceGetMemoryInfo(first).total >> 20),
            "driver": pynvml.nvmlSystemGetDriverVersion(),
        }
    finally:
        pynvml.nvmlShutdown()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    return facts | {"gpus": count if visible is None else min(count, len(visible.split(",")))}


def main(arguments: Sequence[str] = ()) -> int:
    """Print the facts as one line of JSON."""
    print(json.dumps(machine()))
    return 0

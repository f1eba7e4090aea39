"""Print as JSON what the figures were measured on: GPU, driver, versions."""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import platform
import shutil
import subprocess
from typing import Any

__all__ = ["machine"]

# Distributions are named after the CUDA they were built for; the module's name comes first.
LIBRARIES = {
    "cudf": ("cudf-cu13", "cudf-cu12", "cudf"),
    "cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"),
    "numba_cuda": ("numba-cuda",),
    "numba": ("numba",),
    "numpy": ("numpy",),
    "rmm": ("rmm-cu13", "rmm-cu12", "rmm"),
    "cugraph": ("cugraph-cu13", "cugraph-cu12", "cugraph"),
}


def machine() -> dict[str, Any]:
    """Describe the machine.

    Returns
    -------
    dict
        gpu, gpus, memory (MiB), driver, cuda, compute_capability, python, cores, versions; without
        what cannot be found out.
    """
    facts: dict[str, Any] = {
        "python": platform.python_version(),
        "system": platform.platform(),
        "cores": os.cpu_count(),
        "versions": {name: found for name in LIBRARIES if (found := _version(name)) is not None},
    }
    facts.update(_gpu())
    try:
        import cupy

        major, minor = divmod(cupy.cuda.runtime.runtimeGetVersion() // 10, 100)
        facts["cuda"] = f"{major}.{minor}"
        facts["compute_capability"] = cupy.cuda.Device().compute_capability
    except Exception as error:  # whatever is missing, the rest is worth writing down
        facts["cuda"] = f"unknown: {error}"
    return facts


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
    if shutil.which("nvidia-smi") is None:
        return {}
    query = "--query-gpu=name,memory.total,driver_version"
    done = subprocess.run(
        ["nvidia-smi", query, "--format=csv,noheader,nounits"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    rows = [line.split(", ") for line in done.stdout.splitlines() if line.count(", ") == 2]
    if not rows:
        return {}
    name, memory, driver = rows[0]
    return {"gpu": name, "gpus": len(rows), "memory": memory, "driver": driver}


if __name__ == "__main__":
    print(json.dumps(machine()))

"""Code that comes with the library: used when the cache has none, the same bits, and never stale."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import shipped as script
from conftest import COMPILED
from llvmlite import binding
from model_programs import MODELS

from cugraph_ws.backends.cuda.listed_programs import jobs_of_models
from cugraph_ws.runtime import machine_code, shipped
from cugraph_ws.runtime.compile_ahead import Job
from cugraph_ws.runtime.compile_worker import function_of, source_of
from cugraph_ws.runtime.device_compiler import compile_kernel, load_or_compile

TRIPLE = "x86_64-unknown-linux-gnu"
RANKS = """
import sys
from pathlib import Path
from cugraph_ws.runtime import shipped
shipped.FOLDER = Path(sys.argv[1])
import numpy as np, pyarrow as pa
import cugraph_ws as ws

random = np.random.default_rng(7)
source, destination = random.integers(0, 300, (2, 3000))
edges = pa.table({"source": source, "destination": destination, "weight": random.random(3000)})
ranks = ws.pagerank(edges, weight="weight")["pagerank"].to_numpy()
print(ranks.tobytes().hex())
"""


@pytest.fixture
def all_features(monkeypatch):
    """Every feature of the baseline, on any processor; a folder that exists."""
    shipped.baseline_target.cache_clear()
    monkeypatch.setattr(
        binding, "get_host_cpu_features", lambda: dict.fromkeys(shipped.FEATURES, True)
    )
    yield
    shipped.baseline_target.cache_clear()


def test_which_processors_run_the_baseline(all_features, monkeypatch, tmp_path):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    assert shipped.baseline_target(TRIPLE) == (TRIPLE, shipped.BASELINE, "")
    assert shipped.baseline_target("aarch64-unknown-linux-gnu") is None
    shipped.baseline_target.cache_clear()
    monkeypatch.setattr(shipped, "FOLDER", tmp_path / "missing")
    assert shipped.baseline_target(TRIPLE) is None


@pytest.mark.parametrize("feature", shipped.FEATURES)
def test_processors_that_lack_a_feature(feature, all_features, monkeypatch, tmp_path):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    has = {name: name != feature for name in shipped.FEATURES}
    monkeypatch.setattr(binding, "get_host_cpu_features", lambda: has)
    assert shipped.baseline_target(TRIPLE) is None


def test_an_entry_with_another_digest_is_none(monkeypatch, tmp_path):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    machine_code.write_entry(tmp_path / "entry", b"content")
    assert machine_code.shipped_entry("entry") == b"content"
    (tmp_path / "renamed").write_bytes((tmp_path / "entry").read_bytes())
    (tmp_path / "entry").write_bytes((tmp_path / "entry").read_bytes()[:-1] + b"T")
    assert machine_code.shipped_entry("entry") is None
    assert machine_code.shipped_entry("renamed") is None
    assert machine_code.shipped_entry("missing") is None


@pytest.mark.long
@pytest.mark.skipif(not COMPILED, reason="nothing is compiled")
@pytest.mark.skipif(
    not all(binding.get_host_cpu_features().get(name) for name in shipped.FEATURES),
    reason="this processor does not run the baseline",
)
def test_code_for_the_baseline_gives_the_same_bits(tmp_path):
    folder, empty = tmp_path / "shipped", tmp_path / "none"
    command = [sys.executable, "-c", RANKS]
    script.ship(tmp_path / "build", [*command, str(empty)], into=folder)
    compiled, entries = ranks_of(tmp_path / "compiled", empty)
    assert entries > 0
    assert ranks_of(tmp_path / "loaded", folder) == (compiled, 0)


def ranks_of(cache: Path, folder: Path) -> tuple[str, int]:
    """Return the ranks that a process computes with an empty cache, and the number of entries that it wrote."""
    environment = {**os.environ, "CUGRAPH_WS_CACHE_DIR": str(cache), "NUMBA_CACHE_DIR": str(cache)}
    found = subprocess.run(
        [sys.executable, "-c", RANKS, str(folder)],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return found.stdout, len(list(cache.rglob("*.nbc")))


def test_kernels_that_ship_are_those_that_sources_give(monkeypatch, tmp_path):
    pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "cache"))
    folder = tmp_path / "shipped"
    folder.mkdir()
    for old in ("stale.cubin", "other.nbc"):
        (folder / old).touch()
    jobs = [
        Job("build", "", "take_low", ("int64*", "int64", "int64", "int32*"), capability)
        for capability in ((7, 5), (9, 0))
    ]
    script.ship_kernels(tmp_path / "build", jobs, into=folder)
    assert len(list(folder.glob("take_low-*.cubin"))) == len(jobs)
    assert len(list(folder.iterdir())) == len(jobs) + 1, "entries of the other engine stay"
    monkeypatch.setattr(shipped, "FOLDER", folder)
    for job in jobs:
        ships = load_or_compile(
            source_of(job), job.name, job.kinds, job.capability, pytest.fail, pytest.fail
        )
        assert ships == compile_kernel(function_of(job)(), job.kinds, job.capability)
    monkeypatch.setattr(script, "ProcessPoolExecutor", NoPool)
    script.ship_kernels(tmp_path / "again", jobs[1:], into=folder)
    assert len(list(folder.glob("take_low-*.cubin"))) == 1, "what is there is not compiled again"


@pytest.fixture
def kernel_of_a_model():
    """A small kernel of a program that stands for users'."""
    return next(job for job in jobs_of_models(MODELS, (9, 0)) if job.name == "initialise")


@pytest.mark.skipif(not COMPILED, reason="it compiles")
def test_functions_that_ship_are_all_but_the_programs_own(kernel_of_a_model, tmp_path):
    pytest.importorskip("numba.cuda.extending", reason="Numba-CUDA is not installed")
    size = script.ship_functions(tmp_path / "build", [kernel_of_a_model], into=tmp_path)
    path = tmp_path / shipped.FUNCTIONS
    assert size == path.stat().st_size
    kept = {name.rpartition("-")[0] for name in zipfile.ZipFile(path).namelist()}
    assert {
        "initialise",
        "put",
        "with_sums",
    } <= kept  # primitives may have been compiled by this process
    compiled = {entry.name.rpartition("-")[0] for entry in (tmp_path / "build").rglob("*.nvvm")}
    assert compiled - kept == {"user_init"}


def test_programs_with_other_features_differ_in_constants(kernel_of_a_model):
    jobs = list(script.with_other_features([kernel_of_a_model]))
    assert jobs[0] == kernel_of_a_model
    assert len({job.module for job in jobs}) == len({job.text for job in jobs}) == len(jobs)
    lines = kernel_of_a_model.text.splitlines()
    seen = set()
    for job in jobs[1:]:
        changed = {
            now for before, now in zip(lines, job.text.splitlines(), strict=True) if before != now
        }
        assert all(re.fullmatch(r"[A-Z]+ = \w+", line) for line in changed)
        seen |= changed
    assert {"SETTLES = True", "TERMS = 1", "ORDERED = True"} <= seen
    assert any({"SETTLES = True", "TERMS = 1"} <= set(job.text.splitlines()) for job in jobs)


class NoPool:
    """A pool that is given nothing to do."""

    def __init__(self, processes):
        assert processes

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def map(self, function, jobs, chunksize):
        assert list(jobs) == []
        return []

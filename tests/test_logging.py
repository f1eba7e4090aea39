"""The library logs under its own name, and is silent unless somebody listens."""

import logging
import subprocess
import sys

import numba
import pandas as pd
import pytest

import cugraph_ws as ws
from cugraph_ws.runtime import machine_code

EDGES = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})


@pytest.fixture(autouse=True)
def enabled(monkeypatch):
    """Enable the logger: other tests call tools whose set-up of logging disables those that exist."""
    monkeypatch.setattr(machine_code.LOG, "disabled", False)


def test_builds_runs_and_plans_are_logged(caplog):
    with caplog.at_level(logging.DEBUG, "cugraph_ws"):
        ws.pagerank(EDGES)
    by_level = {level: [] for level in ("INFO", "DEBUG")}
    for record in caplog.records:
        assert record.name == "cugraph_ws"
        by_level[record.levelname].append(record.getMessage())
    built, ran = (text for text in by_level["INFO"] if not text.startswith("compiled"))
    assert built.startswith("built a graph of 3 vertices and 3 edges in ")
    assert ran.startswith("PageRank: converged after 1 supersteps in ")
    assert "PageRank on the cpu: dense, layout" in " ".join(by_level["DEBUG"])


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_compilation_is_logged_once(caplog, tmp_path, monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path))
    source = tmp_path / "halves.py"
    source.write_text(
        "from cugraph_ws.kernels.cpu.jit import jit\n\n@jit\ndef half(x):\n    return x / 2\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    with caplog.at_level(logging.INFO, "cugraph_ws"):
        from halves import half

        assert (half(3.0), half(5.0)) == (1.5, 2.5)
    messages = [record.getMessage() for record in caplog.records]
    assert len(messages) == 1
    assert messages[0].startswith("compiled half in ")


def test_nothing_is_written_without_a_handler():
    script = "import cugraph_ws as ws, pandas as pd; ws.degrees(pd.DataFrame({'source': [0], 'destination': [1]}))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")
    assert machine_code.LOG.handlers[0].__class__ is logging.NullHandler

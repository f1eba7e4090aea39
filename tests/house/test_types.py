"""What a user's tools see: public names alone, and types that mypy agrees with."""

from __future__ import annotations

import importlib.resources
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

import cugraph_ws as ws

ROOT = Path(__file__).parents[2]
GUIDE = ROOT / "docs" / "site" / "guide"
PAGES = (ROOT / "README.md", *(GUIDE / f"{name}.md" for name in ("graphs", "runs", "programs")))

CONFIG = """
[mypy]
strict = true
cache_dir = cache
[mypy-readme]
disallow_untyped_defs = False
[mypy-cugraph_ws.*]
follow_imports = silent
ignore_errors = True
[mypy-pyarrow.*,psutil.*]
ignore_missing_imports = True
"""

# A program as strict users write it, and calls with what comes out.  A line that must be refused says
# so: an ignored error that is none is itself an error.
CALLS = '''
import math
from pathlib import Path
from typing import Any, assert_type

import dask.dataframe as dd
import pandas as pd
import polars as pl

import cugraph_ws as ws
from cugraph_ws.accessor import EdgeFrameAccessor
from readme import WidestPath


@ws.vertex_program
class Strict:
    """Ranks, declared and annotated throughout."""

    rank: ws.float64
    share = ws.hidden(ws.float64, on_gpu=ws.float32)
    nearest = ws.nullable(ws.like("weight"), math.inf)
    weight = ws.edge(ws.floating, default=1.0, least=0.0)
    first = ws.vertex_value(ws.float64, default=0.0)
    degree: ws.out_degree
    alpha = ws.parameter(ws.float64, default=0.85)
    residual = ws.l1_norm("rank")
    combine = sum
    tol = 1e-6

    @ws.aggregate
    @staticmethod
    def lost(state: Any) -> Any:
        return state.rank if state.degree == 0 else 0.0

    @staticmethod
    def init(p: Any, own: Any) -> Any:
        return own.first, 1.0 / p.number_of_vertices, 0.0

    @staticmethod
    def compute(src: Any, edge: Any) -> Any:
        return src.share * edge.weight

    @staticmethod
    def apply(old: Any, gathered: Any, p: Any) -> Any:
        rank = 1.0 - p.alpha + p.alpha * (gathered + p.lost)
        return rank, rank / max(old.degree, 1), 0.0


def calls(roads: pd.DataFrame, lanes: pl.DataFrame, many: dd.DataFrame, rows: Any) -> None:
    assert_type(ws.pagerank(roads), pd.DataFrame)
    assert_type(ws.pagerank(lanes, engine="cpu", timeout=1.0), pl.DataFrame)
    assert_type(ws.bfs(lanes, 0, checkpoint=Path("state"), every=3), pl.DataFrame)
    assert_type(ws.sssp(roads, 0, progress=lambda update: update.active > 0), pd.DataFrame)
    assert_type(ws.k_core(roads, 2), pd.DataFrame)
    assert_type(ws.triangle_count(lanes, [0, 1]), pl.DataFrame)
    assert_type(ws.jaccard(roads, roads, use_weight=True), pd.DataFrame)
    assert_type(ws.k_truss(many, 3), dd.DataFrame)
    assert_type(ws.multi_source_bfs(many, [0, 1]), dd.DataFrame)
    assert_type(ws.pagerank(rows), Any)
    with ws.Graph(roads, weight="capacity") as graph:
        assert_type(graph, ws.Graph[pd.DataFrame])
        assert_type(ws.weakly_connected_components(graph), pd.DataFrame)
        result = ws.run(WidestPath, graph, start="berlin", max_iter=10)
        assert_type(result, ws.Result[pd.DataFrame])
        assert_type(result.frame, pd.DataFrame)
        assert_type(result.iterations, int)
        assert_type(ws.shortest_path(result, ["munich"]), pd.DataFrame)
        assert_type(ws.shortest_path(graph, "berlin", "munich"), pd.DataFrame)
        assert_type(graph.run(WidestPath, start="berlin"), ws.Result[pd.DataFrame])
        assert_type(graph.vertices, pd.DataFrame)
        assert_type(graph.reverse(), ws.Graph[pd.DataFrame])
        assert_type(graph.pagerank(alpha=0.9), pd.DataFrame)
        graph.pagerank(alhpa=0.9)  # type: ignore[call-arg]
        graph.connected_components()  # type: ignore[attr-defined]
    assert_type(ws.Graph.from_arrays([0], [1]), ws.Graph[Any])
    assert_type(ws.run(Strict, lanes, alpha=0.9, plan=ws.Plan(direction="gather")).trace, pl.DataFrame)
    assert_type(ws.run(ws.PageRank, many, alpha=0.9).frame, dd.DataFrame)
    assert_type(ws.run(ws.CoreNumber(), roads).frame, pd.DataFrame)
    assert_type(ws.check(Strict, roads), ws.CheckReport)


def methods(roads: EdgeFrameAccessor[pd.DataFrame], lanes: EdgeFrameAccessor[pl.DataFrame]) -> None:
    assert_type(roads.pagerank(0.9, source="from", engine="cpu"), pd.DataFrame)
    assert_type(lanes.bfs(0, depth_limit=3), pl.DataFrame)
    communities, modularity = lanes.louvain(hierarchy=True)
    assert_type(communities, pl.DataFrame)
    assert_type(modularity, float)
    assert_type(lanes.modularity("part"), float)
    assert_type(roads.graph("from", weight="capacity"), ws.Graph[pd.DataFrame])
    assert_type(roads.run(WidestPath, start="berlin"), ws.Result[pd.DataFrame])
    assert_type(lanes.check(Strict), ws.CheckReport)


def of_any_kind(graph: ws.Graph, start: Any) -> Any:
    return ws.bfs(graph, start)


def refused(roads: pd.DataFrame) -> None:
    ws.pagerank(roads, engin="cpu")  # type: ignore[call-arg]
    ws.pagerank(roads, engine="gpu")  # type: ignore[arg-type]
    ws.bfs(roads, 0, every="often")  # type: ignore[arg-type]
    ws.run(WidestPath, roads, max_iter="10")  # type: ignore[arg-type]
    ws.run("WidestPath", roads)  # type: ignore[arg-type]
    ws.Graph(3)  # type: ignore[type-var]
    print(ws.run(WidestPath, roads).frames)  # type: ignore[attr-defined]
    EdgeFrameAccessor(roads).pagerank(engin="cpu")  # type: ignore[call-arg]
    EdgeFrameAccessor(roads).pagerank(alpha="high")  # type: ignore[arg-type]
    EdgeFrameAccessor(roads).bfs()  # type: ignore[call-arg]
    EdgeFrameAccessor(roads).page_rank()  # type: ignore[attr-defined]
'''


def readme_script() -> str:
    """Return the Python blocks of README and guide as one script, in which what is called is assigned."""
    text = "".join(page.read_text() for page in PAGES)
    blocks = re.findall(r"^```python(?: cluster)?\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return re.sub(r"^(    \w+): (ws\.\w+\()", r"\1 = \2", "\n".join(blocks), flags=re.MULTILINE)


def test_programs_and_calls_pass_mypy(tmp_path):
    (tmp_path / "mypy.ini").write_text(CONFIG)
    (tmp_path / "readme.py").write_text(readme_script())
    (tmp_path / "calls.py").write_text(CALLS)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", "mypy.ini", "readme.py", "calls.py"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout == "Success: no issues found in 2 source files\n", done.stdout + done.stderr


def test_the_strict_program_runs(tmp_path, monkeypatch):
    program = CALLS[: CALLS.index("def calls(")].replace("from readme import WidestPath\n", "")
    (tmp_path / "strict_program.py").write_text(program)
    monkeypatch.syspath_prepend(tmp_path)
    from strict_program import Strict

    assert list(Strict.state) == ["rank", "share", "nearest"]
    edges = pd.DataFrame({"source": [0, 1, 2], "destination": [1, 2, 0]})
    for engine in ("python", "cpu"):
        ranks = ws.run(Strict, edges, engine=engine).frame["rank"]
        assert ranks.tolist() == pytest.approx([1.0, 1.0, 1.0], abs=1e-5)


def test_dir_shows_the_public_names_alone():
    assert dir(ws) == sorted(ws.__all__)
    assert all(hasattr(ws, name) for name in dir(ws))


def test_the_package_says_that_it_is_typed():
    assert importlib.resources.files("cugraph_ws").joinpath("py.typed").is_file()
    packaging = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    assert "py.typed" in packaging["package-data"]["cugraph_ws"]


def test_every_package_is_packaged():
    packaging = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    library = ROOT / "cugraph_ws"
    files = (*library.rglob("__init__.py"), *(library / "kernels").rglob("__init__.py"))
    assert set(packaging["packages"]) == {
        ".".join(path.parent.relative_to(ROOT).parts) for path in files
    }


def test_the_clone_imports_kernels_where_they_stand():
    assert (ROOT / "cugraph_ws" / "kernels").resolve() == ROOT / "kernels"

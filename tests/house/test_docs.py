"""Programs of the pages in `docs` run as they stand there."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
CHECK = """
rank = dict.fromkeys(range(4), 1.0)
pairs = list(zip(edges["source"], edges["destination"]))
degree = {u: sum(u == one for one, _ in pairs) for u in rank}
for _ in range(30):
    rank = {v: 0.15 + 0.85 * sum(rank[u] / degree[u] for u, w in pairs if w == v) for v in rank}
assert list(ranks["vertex"]) == list(rank)
assert all(abs(a - b) < 1e-5 for a, b in zip(ranks["rank"], rank.values()))
"""


def program():
    return re.search(r"^```python\n(.*?)^```", (DOCS / "medusa.md").read_text(), re.M | re.S)[1]


def test_medusas_figure_1_is_short():
    lines = [line for line in program().splitlines() if line.strip()]
    assert len(lines) <= 20


@pytest.mark.parametrize("engine", ["cpu", "python"])
def test_medusas_figure_1_runs(engine, tmp_path):
    script = tmp_path / "figure.py"
    text = program().replace(
        "ws.run(PageRank, edges)", f"ws.run(PageRank, edges, engine={engine!r})"
    )
    assert engine in text
    script.write_text(text + CHECK)
    done = subprocess.run(
        [sys.executable, "-W", "error", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr

"""The pages of the site: their code runs, and the calls that they name fit the functions.

Sphinx executes the cells when it builds the site (ci/docs.sh); here they run without it.
"""

import ast
import inspect
import re
import runpy
import subprocess
import sys
from pathlib import Path

import networkx as nx
import pandas as pd
import pytest
import site_links
import site_reference
import stand_in_cudf
from emulator.device import emulated

import cugraph_ws as ws
from cugraph_ws.backends.cuda import schedule
from cugraph_ws.graph import generators

SITE = Path(__file__).parents[2] / "docs" / "site"
PAGES = sorted(
    page.relative_to(SITE).as_posix()
    for page in SITE.rglob("*.md")
    if not {"_build", "reference"} & set(page.relative_to(SITE).parts)
)
# Code cells, and blocks whose first line is exactly "```python".  Those for a GPU or a cluster say so.
CODE = re.compile(
    r"^```(?:\{code-cell\} ipython3|python)\n(?:---\n.*?^---\n|(?::.*\n)*)(.*?)^```", re.M | re.S
)
CALL = re.compile(r"`(ws\.[^`]*)`")


def cells(page: str) -> list[str]:
    """Return the code of a page that runs anywhere."""
    return CODE.findall((SITE / page).read_text())


@pytest.mark.parametrize("page", [page for page in PAGES if cells(page)])
def test_code_runs(page, tmp_path, monkeypatch, capsys):
    code = "\n".join(cells(page))
    if "import duckdb" in code:
        pytest.importorskip("duckdb", exc_type=ImportError)
    script = tmp_path / "page.py"  # a program's source is read from its file
    script.write_text(code)
    monkeypatch.chdir(tmp_path)
    with nx.config(backend_priority=[]):  # which a page sets, for its own process
        runpy.run_path(str(script))
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def marked(page: str, mark: str) -> list[str]:
    """Return the blocks of a page that need a GPU or a cluster, as their first line says."""
    return re.findall(rf"^```python {mark}\n(.*?)^```", (SITE / page).read_text(), re.M | re.S)


def test_the_gpu_block_runs_in_the_emulator(monkeypatch):
    monkeypatch.setattr(schedule, "BLOCK", 32)
    [block] = marked("how-to/etl.md", "gpu")
    names = {}
    exec(cells("how-to/etl.md")[0], names)
    with emulated(), stand_in_cudf.installed():
        exec(block, names)
        ranks = names["ranks"].to_arrow().to_pydict()
    assert isinstance(names["ranks"], stand_in_cudf.DataFrame)
    expected = ws.pagerank(names["payments"], source="payer", destination="payee", weight="amount")
    assert ranks["vertex"] == list(expected["vertex"])
    assert ranks["pagerank"] == pytest.approx(list(expected["pagerank"]), rel=1e-6)


@pytest.mark.product
def test_the_cluster_block_takes_parquet_to_parquet(tmp_path):
    edges = generators.erdos_renyi(50, 200, seed=1, frame="pandas")
    (tmp_path / "edges").mkdir()
    for place in range(2):
        edges[100 * place : 100 * (place + 1)].to_parquet(tmp_path / "edges" / f"{place}.parquet")
    [block] = marked("how-to/clusters.md", "cluster")
    script = tmp_path / "block.py"
    script.write_text(block)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    table = pd.read_parquet(tmp_path / "vertices").sort_values("vertex")
    expected = ws.pagerank(edges)
    assert list(table["vertex"]) == list(expected["vertex"])
    assert list(table["pagerank"]) == pytest.approx(list(expected["pagerank"]))
    assert list(table["labels"]) == list(ws.weakly_connected_components(edges)["labels"])


def calls() -> list[tuple[str, str]]:
    """Return each page's inline code that begins with `ws.`, once."""
    return sorted(
        {(page, text) for page in PAGES for text in CALL.findall((SITE / page).read_text())}
    )


@pytest.mark.parametrize(("page", "text"), calls())
def test_names_and_arguments_are_those_of_the_library(page, text):
    """Names are public, and the arguments of a call fit the signature."""
    tree = ast.parse(text.replace("…", "..."), mode="eval").body
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "ws":
            assert node.attr in ws.__all__
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("ws."):
            function = getattr(ws, ast.unparse(node.func).split(".")[1])
            if ast.unparse(node.func).count(".") > 1 or not callable(function):
                continue
            arguments = [
                argument
                for argument in node.args
                if not (isinstance(argument, ast.Constant) and argument.value is ...)
            ]
            inspect.signature(function).bind_partial(
                *arguments, **{keyword.arg: keyword.value for keyword in node.keywords}
            )


def test_every_public_name_has_a_page_and_a_line_in_a_group(tmp_path):
    site_reference.write_reference(tmp_path / "reference")
    groups = "".join(path.read_text() for path in (tmp_path / "reference").glob("*-index.md"))
    for name in ws.__all__:
        [line] = re.findall(rf"^\| \[{name}\]\({name}\.rst\) \| (.+) \|$", groups, re.M)
        assert line.strip()
        assert (tmp_path / "reference" / f"{name}.rst").is_file()


def test_links_are_checked(tmp_path):
    (tmp_path / "index.html").write_text(
        """<a href="other.html#there">good</a><a href="#top">good</a><p id="top">
        <a href="https://example.org">a reader may follow it</a>
        <a href="gone.html">no file</a><a href="other.html#lost">no anchor</a>
        <script src="https://cdn.example.org/a.js"></script>"""
    )
    (tmp_path / "other.html").write_text('<h1 id="there">x</h1><img src="//example.org/a.png">')
    (tmp_path / "a.css").write_text("@import url(https://fonts.example.org/f);")
    assert sorted(site_links.problems(tmp_path)) == [
        "a.css: loads https://fonts.example.org/f from elsewhere",
        "index.html: gone.html leads nowhere",
        "index.html: loads https://cdn.example.org/a.js from elsewhere",
        "index.html: other.html#lost has no such anchor",
        "other.html: loads //example.org/a.png from elsewhere",
    ]

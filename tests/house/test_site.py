"""The pages of the site: their code runs, and the calls that they name fit the functions.

Sphinx executes the cells when it builds the site (ci/docs.sh); here they run without it.
"""

import ast
import builtins
import inspect
import re
import runpy
from pathlib import Path

import pytest

import cugraph_ws as ws

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
    monkeypatch.setattr(builtins, "display", print, raising=False)
    runpy.run_path(str(script))


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

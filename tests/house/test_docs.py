"""Programs of the pages in `docs` run as they stand there; what pages link to and name exists."""

import ast
import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAPERS = DOCS / "papers.md"
PAGES = [
    *(ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")),
    ROOT / "ci" / "bench" / "README.md",
    *(page for page in sorted(DOCS.rglob("*.md")) if DOCS / "site" not in page.parents),
]  # the site's pages link to generated ones: its build looks after them
LINK = re.compile(r"\]\(([^)\s]+)\)")
# A path from the repository's root, and what is defined there
PLACE = re.compile(r"((?:[\w.-]+/)+[\w-]+\.\w+)(?::([\w.]+))?")
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
    return re.search(r"^```python\n(.*?)^```", PAPERS.read_text(), re.M | re.S)[1]


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


# ----------------------------------------------------------------------------- what pages name


@cache
def defined_in(path):
    """Return the functions, classes and constants of a file; members as `Class.member`."""
    names = set()

    def add(body, prefix):
        for node in body:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                names.add(prefix + node.name)
            if isinstance(node, ast.ClassDef):
                add(node.body, f"{prefix}{node.name}.")
            if isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                bound = [name for target in targets for name in ast.walk(target)]
                names.update(prefix + name.id for name in bound if isinstance(name, ast.Name))

    add(ast.parse(path.read_text("utf-8")).body, "")
    return names


def exists(span):
    """Return whether a path exists and, if it has a name, whether the file defines that."""
    place = PLACE.fullmatch(span)
    if place is None or not (ROOT / place[1]).is_file():
        return False
    return place[2] is None or place[2] in defined_in(ROOT / place[1])


def rows_of_papers():
    """Return the cells of the tables' rows, without the headers."""
    lines = [line for line in PAPERS.read_text("utf-8").splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [cells for cells in rows if cells[0] != "term" and set(cells[0]) != {"-"}]


def fault_of(cells):
    """Return what is wrong with a row, or None."""
    if len(cells) != 3 or not all(cells):
        return "has not three cells"
    where = cells[2]
    spans = re.findall(r"`([^`]+)`", where)
    places = [span for span in spans if "/" in span or ".py" in span]
    if wrong := [place for place in places if not exists(place)]:
        return f"names {', '.join(wrong)}, which does not exist"
    if not places and not where.startswith("absent"):
        return "names no place"
    if where.startswith("different") and "](decisions/" not in where:
        return "links to no decision"
    return None


def test_terms_of_the_papers_are_where_the_page_says():
    rows = rows_of_papers()
    assert rows
    faults = [f"{cells[0]}: {fault}" for cells in rows if (fault := fault_of(cells))]
    assert not faults, "\n".join(faults)


def test_the_page_on_the_papers_machines_names_places_that_exist():
    spans = re.findall(r"`([^`\n]+)`", (DOCS / "site" / "papers.md").read_text("utf-8"))
    places = [span for span in spans if PLACE.fullmatch(span)]
    assert len(places) > 5
    assert not [place for place in places if not exists(place)]


def lines_of(path, name):
    """Count the lines of a class that are code: no docstring, no comments, no blank lines."""
    text = (ROOT / path).read_text("utf-8")
    body = next(node for node in ast.parse(text).body if getattr(node, "name", "") == name)
    assert isinstance(body, ast.ClassDef)
    assert isinstance(body.body[0], ast.Expr)  # the docstring
    lines = text.splitlines()[body.body[0].end_lineno : body.end_lineno]
    return 1 + sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)


def test_figures_beside_those_of_the_papers_are_counted_and_measured():
    """The lines of each program on the site's page, and the medians of the record that it names."""
    page = (DOCS / "site" / "papers.md").read_text("utf-8")
    rows = re.findall(
        r"^\| .*? \| .*? \| .*? \| `(.*):(\w+)`: (\d+) \| .*? \| (.*) \|$", page, re.M
    )
    assert len(rows) >= 3
    record = json.loads((DOCS / "measurements" / "searches.json").read_text("utf-8"))
    timings = record["searches KR24, NVIDIA H200"]["timings"]
    for path, name, lines, time in rows:
        assert lines_of(path, name) == int(lines), name
        part, milliseconds = re.fullmatch(r"([\d.]+) \((.*)\)", time).group(2, 1)
        assert f"{timings[part]['cugraph_ws'][0]:.1f}" == milliseconds, part


@pytest.mark.parametrize(
    ("where", "fault"),
    [
        ("`tests/house/test_docs.py:fault_of`, `tests/house/test_docs.py`", None),
        ("`tests/house/test_docs.py:PLACE`; `cugraph_ws/execution/loop.py:Result.frame`", None),
        ("absent: nobody asked", None),
        ("`tests/house/test_docs.py:faults`", "which does not exist"),
        ("`tests/house/test_docs.py:test_terms.faults`", "which does not exist"),
        ("absent: `tests/house/test_doc.py:fault_of`", "which does not exist"),
        ("absent: `test_docs.py:fault_of`", "which does not exist"),
        ("`compute`, in the engine ([001](decisions/001.md))", "names no place"),
        ("different: `tests/house/test_docs.py`", "links to no decision"),
        ("", "has not three cells"),
    ],
)
def test_faults_of_rows_are_found(where, fault):
    found = fault_of(["term", "there", where])
    assert found == fault if fault is None else fault in found


def slug(heading):
    """Return the anchor of a heading, as on GitHub."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def broken_links(page, text):
    """Return the links of a page to files, or to headings in them, that do not exist."""
    broken = []
    for link in LINK.findall(re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)):
        if re.match(r"\w+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists():
            broken.append(link)
        elif anchor:
            headings = re.findall(r"^#+ (.*)$", target.read_text("utf-8"), re.M)
            broken += [] if anchor in map(slug, headings) else [link]
    return broken


def test_links_of_pages_lead_somewhere():
    broken = [
        f"{page.relative_to(ROOT)}: {link}"
        for page in PAGES
        for link in broken_links(page, page.read_text("utf-8"))
    ]
    assert not broken, "\n".join(broken)


@pytest.mark.parametrize(
    ("link", "is_broken"),
    [
        ("papers.md", False),
        ("decisions", False),
        ("papers.md#the-five-papers-term-by-term", False),
        ("https://example.com/x", False),
        ("paper.md", True),
        ("papers.md#six-papers", True),
        ("#the-five-papers", True),
    ],
)
def test_broken_links_are_found(link, is_broken):
    assert bool(broken_links(PAPERS, f"See [this]({link}).")) == is_broken

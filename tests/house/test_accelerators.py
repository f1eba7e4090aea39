"""The core names no accelerator, in identifiers and texts, but for the words that users write."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import cugraph_ws
from cugraph_ws.accelerators import ACCELERATORS, registered
from cugraph_ws.contract import Accelerator
from cugraph_ws.execution.options import Choice, declared

ROOT = Path(__file__).parents[2]
HOMES = ("cugraph_ws.accelerators", "cugraph_ws.kernels.accelerators")
NAMED = re.compile(
    r"extrapolat|gshard|windows|\btiles\b|tiled|tiling|arc_shards|shard_arcs|coalesc|direct_?start|hub_?links|host_?hub|hub_?exchange|HubLinks|HostHub|HubRank|Linked(?!Run|Supersteps|Memory)|gpu_?window|traverse_linked|linked_(plan|frontier|exchange|steps)"
)
# Public words: names and values of options, of a program's declaration, of columns of the trace
PUBLIC = {
    "cugraph_ws.algorithms.hits": {"extrapolated"},
    "cugraph_ws.algorithms.pagerank": {"extrapolation"},
    "cugraph_ws.backends.planner": {"tiles", "gshards", "windows"},
    "cugraph_ws.cli.algorithms": {"extrapolate"},
    "cugraph_ws.cli.warm_up": {"extrapolate"},
    "cugraph_ws.contract.engine": {"tiles", "gshards", "windows"},
    "cugraph_ws.execution.check": {"extrapolate"},
    "cugraph_ws.execution.loop": {"extrapolated"},
    "cugraph_ws.execution.options": {"extrapolate"},
    "cugraph_ws.execution.phased_loop": {"extrapolate"},
    "cugraph_ws.execution.trace": {"extrapolated"},
    "cugraph_ws.execution.vertex_loop": {"extrapolated"},
    "cugraph_ws.graph.estimates": {"gshards", "windows"},
    "cugraph_ws.program.decorator": {"extrapolation"},
    "cugraph_ws.program.vertex_program": {"extrapolation"},
    # pieces of the arcs that kernels build a graph from, which are no accelerator's
    "cugraph_ws.backends.cuda.bucketing": {"tiles"},
    "cugraph_ws.backends.cuda.shuffle": {"tiles"},
    "cugraph_ws.kernels.cuda.arc_buckets": {"tiles"},
    "cugraph_ws.kernels.cuda.split": {"tiles"},
}


def modules() -> dict[str, Path]:
    """Return the core's files by the name that they are imported by."""
    home = Path(cugraph_ws.__file__).parents[1]
    paths = {*(home / "cugraph_ws").rglob("*.py"), *(home / "kernels").rglob("*.py")}
    named = {}
    for path in paths:
        parts = path.relative_to(home).with_suffix("").parts
        name = ".".join(parts if parts[0] == "cugraph_ws" else ("cugraph_ws", *parts))
        named[name.removesuffix(".__init__")] = path
    return {name: path for name, path in named.items() if not name.startswith(HOMES)}


def docstrings(tree: ast.Module) -> set[int]:
    """Return the nodes that are docstrings."""
    texts = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr):
                texts.add(id(first.value))
    return texts


def words_of(tree: ast.Module) -> Iterator[str]:
    """Yield the identifiers of a file and its texts of one word, without docstrings."""
    ignored = docstrings(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, (ast.arg, ast.keyword)):
            yield node.arg or ""
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.alias)):
            yield node.name
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Constant) and id(node) not in ignored:
            yield from re.findall(r"^[\w./]+$", str(node.value))


def named_in(text: str) -> set[str]:
    return {word for word in words_of(ast.parse(text)) if NAMED.search(word)}


def test_the_core_names_no_accelerator() -> None:
    wrong = [
        f"{name}: {word}"
        for name, path in modules().items()
        for word in named_in(path.read_text("utf-8")) - PUBLIC.get(name, set())
    ]
    assert not wrong, "\n".join(sorted(wrong))


@pytest.mark.parametrize("module", PUBLIC)
def test_public_words_are_still_written(module: str) -> None:
    assert named_in(modules()[module].read_text("utf-8")) == PUBLIC[module]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("from cugraph_ws.accelerators.tiles import tiling", {"cugraph_ws.accelerators.tiles", "tiling"}),
        ("def extrapolated(gshards=None): ...", {"extrapolated", "gshards"}),
        ('"""Tiles of tiles."""\nlayout = "tiles"', {"tiles"}),
        ('"""Windows."""\nerror = "not over windows"', set()),
        ("quantiles = np.tile(tile_of, 3)", set()),
    ],
)  # fmt: skip
def test_names_are_found(text: str, words: set[str]) -> None:
    assert named_in(text) == words


# -------------------------------------------------------------------------------- registrations


@pytest.mark.parametrize("accelerator", registered(), ids=lambda accelerator: accelerator.name)
def test_an_accelerator_has_its_places(accelerator: Accelerator) -> None:
    """Packages of its name for library, kernels and tests; a page with its law; options that there are."""
    name = accelerator.name
    assert ACCELERATORS[name] == f"cugraph_ws.accelerators.{name}"
    assert (ROOT / "cugraph_ws" / "accelerators" / name / "__init__.py").is_file()
    assert list((ROOT / "tests" / "accelerators" / name).glob("test_*.py"))
    page = (ROOT / "docs" / "decisions" / accelerator.page).read_text("utf-8")
    section = page.partition("## As an accelerator\n")[2].partition("\n## ")[0]
    for term in ("Gain", "Cost", "Promise", "Law"):
        assert re.search(rf"^- \*\*{term}\*\*: .+", section, re.MULTILINE), term
    for option, values in accelerator.asked_by.items():
        kind = declared()[option].kind
        assert isinstance(kind, Choice)
        assert set(values) <= set(kind.words)


@pytest.mark.parametrize(
    "place",
    [
        "between_supersteps",
        "host_gathers",
        "device_layouts",
        "shard_loops",
        "worker_requests",
        "host_links",
        "linked_supersteps",
    ],
)
def test_one_accelerator_steps_in_at_a_place(place: str) -> None:
    assert sum(getattr(accelerator, place) is not None for accelerator in registered()) == 1


def test_kernels_of_accelerators_are_of_one_that_there_is() -> None:
    packages = (ROOT / "kernels" / "accelerators").glob("*/__init__.py")
    assert {package.parent.name for package in packages} <= ACCELERATORS.keys()

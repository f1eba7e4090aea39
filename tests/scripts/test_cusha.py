"""CuSha's tables, and Tables II, V and VI of the Warp Segmentation paper, of a small made-up report."""

from __future__ import annotations

from ci_scripts import of

TIMES = {"csc": 2.0, "gshards": 4.0, "windows": 3.0}


def section(graph, edges, **figures):
    return {"part": "x", "graph": graph, "figures": {"vertices": 10, "edges": edges, **figures}}


def report():
    """Two small graphs, and a large one whose windows failed for one program."""
    found = [
        section("s", 100, shards={"PR": TIMES, "HS": {**TIMES, "windows": 5.0}}),
        section("t", 200, shards={"PR": {**TIMES, "windows": 1.0}}),
        section("l", 134_000_000, shards={"PR": {**TIMES, "windows": 8.0}, "NN": {"csc": 1.0}}),
        section(
            "m", 50,
            loads={"csc": [2, 32, 4, 64], "windows": [1, 32, 4, 128]},
            space={"csc": 400, "gshards": 600, "windows": 800},
            breakdown={"csc": {"build": 1.0, "conversion": 0.0, "supersteps": 0.5, "result": 0.25}},
            layouts=[["csc", 0, 0, 5.0], ["windows", 49152, 256, 4.0], ["windows", 49152, 384, 3.0],
                     ["windows", 24576, 128, 6.0]],
        ),
    ]  # fmt: skip
    return {"bench": {one["graph"]: one for one in found}}


def rows():
    return {table.title.split(":")[0]: table.rows for table in of("cusha").cusha_tables(report())}


def test_the_papers_tables():
    found = rows()
    assert found["Table II"][0] == ["l", "10", "134,000,000", "13400000.0"]
    assert [row[0] for row in found["Table II"]] == ["l", "t", "s"]
    assert found["Table V"] == [["l", "–", "–", "–", "4.00"]]
    assert found["Table VI"] == [
        ["s", "–", "2.50", "–", "1.50"], ["t", "–", "–", "–", "0.50"],
        ["average", "–", "2.50", "–", "1.00"],
    ]  # fmt: skip


def test_cushas_tables():
    found = rows()
    loads, slides = found["CuSha's memory efficiency"]
    assert loads == ["m", "–", "50.0%, 50.0%", "–", "100.0%, 100.0%"]
    assert slides[1] == "28.2%, 34.5%"
    assert found["CuSha's space overhead"] == [
        ["m", "csc", "8.0", "1.00"], ["m", "gshards", "12.0", "1.50"],
        ["m", "windows", "16.0", "2.00"],
    ]  # fmt: skip
    assert found["CuSha's breakdown of time"] == [["m", "csc", "1000.0", "0.0", "500.0", "250.0"]]
    assert of("cusha").cusha_tables({"bench": {}}) == []


def test_sensitivity(tmp_path):
    lines = {"csc": [(0, 5.0)], "windows": [(24, 6.0), (48, 3.0)]}
    assert of("cusha").sensitivities(report()) == {"m": lines}
    (axes,) = of("pictures").sensitivity_figure(report(), "m").axes
    drawn = {line.get_label(): line for line in axes.lines}
    assert list(drawn["csc"].get_ydata()) == [5.0, 5.0]
    assert list(drawn["windows"].get_xdata()) == [24, 48]
    written, _ = of("pictures").draw(report(), tmp_path)
    assert {path.name for path in written} == {"sensitivity-m.svg", "README.md"}
    assert "## Table VI" in (tmp_path / "README.md").read_text()

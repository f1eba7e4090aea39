"""Section V's tables over several graphs and its picture, of a small made-up report."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from ci_scripts import of

EXCHANGE = {  # seconds
    "BFS": {"VR": 1.0, "MS": 1.5, "ALL": 2.0},
    "PR": {"VR": 3.0, "MS": 2.4, "ALL": 3.0},
}


def exchange(graph, part="cluster-exchange", times=1.0, gpus=2):
    figures = {
        program: {
            method: {
                "seconds": seconds * (1.0 if method == "VR" else times),
                "supersteps": 4, "sent": 400, "useful": 100 if method == "ALL" else 300,
            }
            for method, seconds in methods.items()
        }
        for program, methods in EXCHANGE.items()
    }  # fmt: skip
    return {"part": part, "graph": graph, "figures": {"gpus": gpus, "exchange": figures}}


def scaling(graph, vertices, edges, seconds):
    """A section of SSSP, whose calls take a second more than supersteps, and with no other program."""
    found = {
        str(gpus): {"seconds": one, "call": one + 1.0}
        for gpus, one in zip((1, 2, 4), seconds, strict=False)
    }
    figures = {"gpus": len(seconds), "vertices": vertices, "edges": edges}
    return {
        "part": "cluster-scaling", "graph": graph, "figures": {**figures, "scaling": {"SSSP": found}},
    }  # fmt: skip


def report(*sections):
    bench = {f"{one['part']} {one['graph']}": {"status": "passed", **one} for one in sections}
    frames = {"status": "passed", "part": "frames", "graph": "RM22"}
    return {"bench": {"frames RM22": frames, **bench}}


SCALED = (
    scaling("b", 100, 1600, [4.0, 2.5, 2.0]), scaling("a", 50, 800, [2.0, 1.0]),
    scaling("c", 100, 800, [3.0, 2.0]), scaling("d", 50, 400, [1.0, 1.0]),
    scaling("alone", 100, 700, [1.0, 1.0]),
)  # fmt: skip


def cells(table):
    """Rows without what is unknown everywhere: by their first two columns, programs and values."""
    return {
        tuple(row[:2]): {
            name: one for name, one in zip(table.columns[2:], row[2:], strict=True) if one != "–"
        }
        for row in table.rows
    }


class TestTables:
    def test_useful_bytes(self):
        found = cells(of("papers").useful_table(report(exchange("g"))))
        assert found == {
            ("g, 2 GPUs", "ALL"): {"BFS": "25.0%", "PR": "25.0%"},
            ("g, 2 GPUs", "MS"): {"BFS": "75.0%", "PR": "75.0%"},
        }

    def test_speed_up_of_refinement(self):
        several = report(
            exchange("g"), exchange("h", times=3.0), exchange("g", part="cluster-hub", times=2.0)
        )
        table = of("papers").refinement_table(several)
        assert table.columns[2:] == ["BFS", "CC", "CS", "HS", "NN", "PR", "SSSP", "SSWP", "mean"]
        assert cells(table) == {
            ("g, 2 GPUs", "over ALL"): {"BFS": "2.00", "PR": "1.00", "mean": "1.50"},
            ("g, 2 GPUs", "over MS"): {"BFS": "1.50", "PR": "0.80", "mean": "1.15"},
            ("h, 2 GPUs", "over ALL"): {"BFS": "6.00", "PR": "3.00", "mean": "4.50"},
            ("h, 2 GPUs", "over MS"): {"BFS": "4.50", "PR": "2.40", "mean": "3.45"},
            ("g, 2 GPUs, through the host", "over ALL"): {
                "BFS": "4.00", "PR": "2.00", "mean": "3.00",
            },
            ("g, 2 GPUs, through the host", "over MS"): {
                "BFS": "3.00", "PR": "1.60", "mean": "2.30",
            },
            ("mean, 2 GPUs", "over ALL"): {"BFS": "4.00", "PR": "2.00", "mean": "3.00"},
            ("mean, 2 GPUs", "over MS"): {"BFS": "3.00", "PR": "1.60", "mean": "2.30"},
        }  # fmt: skip

    def test_speed_up_with_more_gpus(self):
        table = of("papers").scaling_table
        found = report(*SCALED[:2])
        assert cells(table(found, "supersteps")) == {
            ("b", "2 vs. 1"): {"SSSP": "1.60", "mean": "1.60"},
            ("b", "4 vs. 1"): {"SSSP": "2.00", "mean": "2.00"},
            ("b", "4 vs. 2"): {"SSSP": "1.25", "mean": "1.25"},
            ("a", "2 vs. 1"): {"SSSP": "2.00", "mean": "2.00"},
        }
        assert cells(table(found, "call"))["a", "2 vs. 1"]["SSSP"] == "1.50"

    def test_the_run_with_most_gpus_counts(self):
        two, four = scaling("b", 100, 1600, [9.0, 8.0]), SCALED[0]
        found = {"bench": {"b, 4 GPUs": four, "b, 2 GPUs": two}}
        assert of("papers").scalings(found) == {"b, 4 GPUs": four}


class TestScaling:
    def test_lines_by_density_and_gpus(self):
        assert of("pictures").series(report(*SCALED)) == {
            8.0: {1: [(400, 1.0), (800, 3.0)], 2: [(400, 1.0), (800, 2.0)]},
            16.0: {1: [(800, 2.0), (1600, 4.0)], 2: [(800, 1.0), (1600, 2.5)], 4: [(1600, 2.0)]},
        }


class TestDrawing:
    @pytest.fixture
    def whole(self):
        return report(exchange("g"), exchange("g", part="cluster-hub"), *SCALED)

    def test_all_of_it(self, whole, tmp_path):
        made, missing = of("pictures").draw(whole, tmp_path / "new")
        assert missing == {}
        assert [path.name for path in made] == [
            "figure-10.svg", "README.md",
        ]  # fmt: skip
        page = made[-1].read_text()
        for path in made[:-1]:
            assert f"({path.name})" in page
            assert ElementTree.parse(path).getroot().tag.endswith("svg")
        for table in ("Table I:", "Table VIII:", "Table IX:"):
            assert f"## {table}" in page
        assert "| b | 4 vs. 2 |" in page
        assert "through the host" in page
        assert "edges a vertex" in made[0].read_text(), "words are words"

    def test_the_same_bytes_again(self, whole, tmp_path):
        draw = of("pictures").draw
        first, second = (draw(whole, tmp_path / name)[0] for name in ("first", "second"))
        for one, other in zip(first, second, strict=True):
            assert one.read_bytes() == other.read_bytes()
        for path in first:
            lines = path.read_text().splitlines()
            assert not [line for line in lines if line != line.rstrip()]
            assert "dc:date" not in path.read_text()

    @pytest.mark.parametrize("there", [True, False])
    def test_the_command(self, there, tmp_path, capsys):
        if there:
            of("record").write(tmp_path, report(*SCALED))
        assert of("page").main(["--folder", str(tmp_path)]) == 1
        said = capsys.readouterr()
        if there:
            assert "figure-10.svg" in said.out
            assert "Tables I and VIII: nothing in" in said.err
            assert "ci/gpu.sh bench-cluster-exchange measures it" in said.err
        else:
            assert f"there is no record in {tmp_path}" in said.err
            assert said.out == ""

"""Errors and warnings speak of options, not of arguments."""

import subprocess
import sys

import pytest

from cugraph_ws.cli import main as cli
from cugraph_ws.cli.phrasing import flags_of, in_own_words


@pytest.fixture
def edges(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("source,destination\na,b\nb,c\n")
    return str(path)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("pagerank E --alpha 3", "cugraph-ws: --alpha 3.0 must be between 0 and 1"),
        ("pagerank E --tol -1", "--tol -1.0 must be a number, 0 or more"),
        ("pagerank E --source from", "--source from: edges has no such column"),
        ("pagerank E --weight km", "--weight km: edges has no such column"),
        (
            "bfs E --start z",
            "--start: 'z' is not a vertex of the graph; give an id of the edges, or list vertices without",
        ),
        ("bfs E --start a --to z", "--to: 'z' is not a vertex"),
        ("pagerank E --personalization p", "give the column in --vertices FILE, or a file of"),
    ],
)
def test_errors(edges, capsys, words, message):
    assert cli._exit_code([edges if word == "E" else word for word in words.split()]) == 1
    assert message in capsys.readouterr().err


def test_parameters_of_a_program_are_not_options():
    flags = flags_of(cli.commands.commands["run"])
    assert in_own_words("source='a' is no vertex; max_iter=0", flags) == (
        "source='a' is no vertex; --max-iter 0"
    )


def test_other_text_stays():
    flags = flags_of(cli.commands.commands["pagerank"])
    for text in ("f(tol=1)", "a.tol=1", "the tol is 1", "stop: tol"):
        assert in_own_words(text, flags) == text
    assert in_own_words("weight=None or directed=False", flags) == "--unweighted or --undirected"


def test_warnings_are_lines(tmp_path):
    (tmp_path / "e.csv").write_text("1,2,0.5\n2,3,1.5\n")
    command = [sys.executable, "-m", "cugraph_ws", "sssp", "e.csv", "--start", "1"]
    done = subprocess.run(command, cwd=tmp_path, text=True, capture_output=True, check=False)
    assert done.stderr.splitlines() == [
        "cugraph-ws: warning: e.csv: has no header; column 3 is read as the weight: --unweighted "
        "ignores it, and --weight weight reads it without this warning"
    ]

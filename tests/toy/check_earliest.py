"""What its test would be: the toy program by each of its faces, in a copy of the library that has it."""

import inspect
import sys
from pathlib import Path

import pandas as pd
from click.testing import CliRunner

import cugraph_ws as ws
from cugraph_ws.cli.main import commands
from cugraph_ws.cli.options import Settings
from cugraph_ws.cli.warm_up import Task, compile_task

EDGES = pd.DataFrame({"source": ["b", "c", "d"], "destination": ["c", "a", "e"]})
EXPECTED = {"a": "a", "b": "b", "c": "b", "d": "d", "e": "d"}


def ancestors(frame: pd.DataFrame) -> dict[str, str]:
    assert list(frame.columns) == ["vertex", "ancestor"]
    return dict(zip(frame["vertex"], frame["ancestor"], strict=True))


def command(*words: str) -> str:
    done = CliRunner().invoke(commands, words, obj=Settings(), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


assert ancestors(ws.earliest(EDGES)) == EXPECTED
assert ancestors(EDGES.ws.earliest()) == EXPECTED
with ws.Graph(EDGES) as graph:
    assert ancestors(ws.earliest(graph)) == EXPECTED
    assert ancestors(ws.run(ws.Earliest, graph).frame) == EXPECTED
EDGES.to_csv("edges.csv", index=False)
command("earliest", "edges.csv", "-o", "ancestors.csv")
assert ancestors(pd.read_csv("ancestors.csv")) == EXPECTED
assert "earliest" in command("--help").partition("Structure:")[2].partition("Similarity:")[0]
compile_task(ws, Task("earliest", "cpu"))
for name in inspect.signature(ws.earliest).parameters:
    assert name in ws.earliest.__doc__, name
assert "| `earliest(g)` | vertex, ancestor | Find the least" in Path(sys.argv[1]).read_text()
assert ws.estimate_memory(EDGES, program=ws.earliest).run > 0

"""Dask without the other library that clusters need: the error names the command that installs it."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import sys
sys.modules["cryptography"] = None  # as if it were not installed
import dask.dataframe, pandas
import cugraph_ws as ws
edges = dask.dataframe.from_pandas(pandas.DataFrame({"source": [0], "destination": [1]}), npartitions=1)
try:
    ws.pagerank(edges)
except ws.InputError as error:
    print(error)
"""


def test_the_error_names_the_library_and_the_command():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert "a graph on a Dask cluster needs cryptography; run pip install" in done.stdout, done

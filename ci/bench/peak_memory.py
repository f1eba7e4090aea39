"""Pandas frame in, CSC out: what `building.peak_memory` weighs in a new process (Linux)."""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd

import cugraph_ws as ws


def kilobytes(field: str) -> int:
    """Return a figure of this process from the kernel, as VmRSS or VmHWM."""
    status = Path("/proc/self/status").read_text()
    (line,) = [line for line in status.splitlines() if line.startswith(field + ":")]
    return int(line.split()[1])


small = pd.DataFrame({"source": [1, 2], "destination": [2, 4]})
assert ws.Graph(small).csc.number_of_arcs == len(small)  # loads all code that building needs
before = kilobytes("VmRSS")
source, destination = np.load(sys.argv[1])
edges = pd.DataFrame({"source": source, "destination": destination})
del source, destination
Path("/proc/self/clear_refs").write_text("5")  # the peak starts again from here
graph = ws.Graph(edges)
csc = graph.csc
facts = {
    "peak": (kilobytes("VmHWM") - before) * 1024,
    "csc": csc.offsets.nbytes + csc.indices.nbytes,
    "frame": int(edges.memory_usage(index=False).sum()),
    "rows": int(np.count_nonzero(csc.degrees)),
}
print(json.dumps(facts))

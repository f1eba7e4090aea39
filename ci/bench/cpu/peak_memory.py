"""Pandas frame in, CSC out; `building.peak_memory` measures its memory in a new process (Linux)."""

import json
import sys

import numpy as np
import pandas as pd

import cugraph_ws as ws
from bench.cpu.estimates import kilobytes, restart_peak

small = pd.DataFrame({"source": [1, 2], "destination": [2, 4]})
assert ws.Graph(small).csc.number_of_arcs == len(small)  # loads all code that building needs
before = kilobytes("VmRSS")
source, destination = np.load(sys.argv[1])
edges = pd.DataFrame({"source": source, "destination": destination})
del source, destination
restart_peak()
graph = ws.Graph(edges)
csc = graph.csc
facts = {
    "peak": (kilobytes("VmHWM") - before) * 1024,
    "csc": csc.offsets.nbytes + csc.indices.nbytes,
    "frame": int(edges.memory_usage(index=False).sum()),
    "rows": int(np.count_nonzero(csc.degrees)),
}
print(json.dumps(facts))

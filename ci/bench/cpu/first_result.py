"""Edge file in, ranks out; `building.first_result` times it in a new process."""

import sys

import pandas as pd

import cugraph_ws as ws

edges = pd.read_parquet(sys.argv[1])
ws.pagerank(edges).to_parquet(sys.argv[2])

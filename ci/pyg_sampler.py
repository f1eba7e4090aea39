"""A pytest plugin that puts `ws.neighbor_sample` in the place of pyg-lib's sampler; see `ci/pyg.sh`."""

from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch

import cugraph_ws as ws

__all__ = ["neighbor_sample"]

Tensor = Any


def neighbor_sample(
    rowptr: Tensor, col: Tensor, seed: Tensor, num_neighbors: list[int], node_time: Tensor = None,
    edge_time: Tensor = None, seed_time: Tensor = None, edge_weight: Tensor = None, csc: bool = False,
    replace: bool = False, directed: bool = True, disjoint: bool = False, temporal_strategy: str = "uniform",
    return_edge_id: bool = True,
) -> tuple[Any, ...]:  # fmt: skip
    """Sample as pyg-lib does, of rows of in-neighbours: return row, col, node, edge, and counts by hop."""
    assert csc
    assert directed
    assert return_edge_id
    if temporal_strategy != "uniform":
        raise NotImplementedError(f"temporal_strategy={temporal_strategy!r}")
    given = rowptr.dtype
    vertices, sources = len(rowptr) - 1, col.numpy()
    edges = pd.DataFrame(
        {"source": sources, "destination": np.repeat(np.arange(vertices), np.diff(rowptr.numpy()))}
    )
    edges["place"] = np.arange(len(edges))
    options: dict[str, Any] = {}
    if edge_weight is not None:
        edges["weight"] = edge_weight.numpy().astype(np.float64)
        options["weighted"] = True
    starts = seed.numpy()
    if not disjoint:
        starts = pd.unique(starts)
    batches = np.arange(len(starts)) if disjoint else np.zeros(len(starts), np.int64)
    times = edge_time.numpy() if edge_time is not None else None
    if node_time is not None:
        times = node_time.numpy()[sources]
    if times is not None:
        edges["time"] = times
        before = seed_time if seed_time is not None else node_time[seed]
        options |= {"time": "time", "before": before.numpy()}
    names = [name for name in ("place", "time") if name in edges]
    known = pd.DataFrame({"vertex": np.arange(max(vertices, sources.max(initial=-1) + 1))})
    weight = "weight" if edge_weight is not None else None
    with ws.Graph(edges, vertices=known, attributes=names, weight=weight) as graph:
        drawn = ws.neighbor_sample(
            graph, starts, list(num_neighbors), batches=batches, replace=replace, attributes="place",
            seed=int(torch.randint(1 << 62, ())), **options,
        )  # fmt: skip
    # A vertex of a batch has the place at which it is reached first: starts, then neighbours
    reached = pd.MultiIndex.from_arrays(
        [np.concatenate([batches, drawn["batch"]]), np.concatenate([starts, drawn["source"]])]
    )
    places, nodes = reached.factorize()
    ends = nodes.get_indexer(pd.MultiIndex.from_arrays([drawn["batch"], drawn["destination"]]))
    hops = np.concatenate([np.zeros(len(starts), np.int64), drawn["hop"] + 1])
    new = np.bincount(hops[~reached.duplicated()], minlength=len(num_neighbors) + 1)
    drawn_by_hop = np.bincount(drawn["hop"].astype(np.int64), minlength=len(num_neighbors))
    columns = places[len(starts) :], ends, nodes.get_level_values(1), drawn["place"]
    row, target, node, edge = (torch.tensor(np.array(values), dtype=given) for values in columns)
    if disjoint:
        node = torch.stack(
            [torch.tensor(np.array(nodes.get_level_values(0)), dtype=given), node], 1
        )
    return row, target, node, edge, new.tolist(), drawn_by_hop.tolist()


def _put_in_place() -> None:
    library: Any = ModuleType("pyg_lib")
    library.__spec__ = ModuleSpec("pyg_lib", None)
    library.ops, library.sampler = (
        SimpleNamespace(),
        SimpleNamespace(neighbor_sample=neighbor_sample),
    )
    sys.modules["pyg_lib"] = library
    torch.ops.pyg.neighbor_sample = neighbor_sample


_put_in_place()

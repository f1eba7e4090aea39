"""Edges of a few small graphs in one frame, and calls on one of them after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from verify import Edges
from zoo import attributes_of

import cugraph_ws as ws

__all__ = ["SIZES", "alone", "groups", "ran"]

SIZES = {"c": (9, 24), "a": (4, 4), "b": (7, 16), "d": (9, 9)}  # vertices and edges of each group


def groups(seed: int, *, acyclic: bool = False, shuffled: bool = True) -> pd.DataFrame:
    """Return the edges of all groups; the ids of a group with n vertices are 0 … n-1."""
    generator, parts = np.random.default_rng(seed), []
    for name, (n, count) in SIZES.items():
        source, destination = generator.integers(0, n, (2, count - n + 1))
        source = np.append(source, np.arange(n - 1))
        destination = np.append(destination, np.arange(1, n))  # a path, so that all ids occur
        if acyclic:
            source, destination = np.minimum(source, destination), np.maximum(source, destination)
        edges = Edges(source, destination, n)
        rows = {"source": source, "destination": destination, **attributes_of(edges)}
        part = pd.DataFrame({"group": name, **rows})
        parts.append(part[part.source < part.destination] if acyclic else part)
    edges = pd.concat(parts, ignore_index=True)
    return edges.sample(frac=1, random_state=seed) if shuffled else edges


def alone(call: Any, edges: pd.DataFrame, by: list[str], **arguments: Any) -> pd.DataFrame:
    """Call a function on the rows of each group, and put the results below each other."""
    results = []
    for key, rows in edges.groupby(by):
        result = call(rows.drop(columns=by), **arguments)
        for place, name in enumerate(by):
            result.insert(place, name, key[place])
        results.append(result)
    return pd.concat(results, ignore_index=True)


def ran(program: Any, edges: pd.DataFrame, **given: Any) -> pd.DataFrame:
    """Run a program on one group after the other, uncompiled."""
    results = []
    for group, rows in edges.groupby("group"):
        arguments = {
            name: value[value.group == group].drop(columns="group")
            if isinstance(value, pd.DataFrame)
            else value
            for name, value in given.items()
        }
        result = ws.run(program, rows.drop(columns="group"), engine="python", **arguments).frame
        result.insert(0, "group", group)
        results.append(result)
    return pd.concat(results, ignore_index=True)

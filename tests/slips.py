"""Vertex programs with one slip each: parts of a valid program replaced by text."""

from __future__ import annotations

import itertools
import linecache
import math
import random
import statistics
from typing import Any

import numpy as np
import pandas as pd

import cugraph_ws as ws

__all__ = ["slip"]

PARTS = {
    "fields": "x: ws.float64",
    "combine": "combine = sum",
    "init": "def init(vertex):\n    return 1.0",
    "compute": "def compute(src):\n    return src.x",
    "apply": "def apply(gathered):\n    return gathered",
}
MODULES = {
    "ws": ws,
    "np": np,
    "pd": pd,
    "math": math,
    "random": random,
    "statistics": statistics,
    "__name__": "slips",
}
NUMBER = itertools.count()


def slip(*, head: str = "", **parts: str) -> Any:
    """Make the program `Slip`, of the valid parts and those that are given; `head` stands above the class.

    Its lines are known by the name of a file that is not there, as those of a notebook's cells are.
    """
    body = "\n".join({**PARTS, **parts}.values())
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    text = f"{head}\n@ws.vertex_program\nclass Slip:\n{lines}\n"
    file = f"slip_{next(NUMBER)}.py"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    space = dict(MODULES)
    exec(compile(text, file, "exec"), space)
    return space["Slip"]

"""Recipes of random graphs: checked parameters, turned into a function of edge numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.arguments import shown
from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cpu import generate as kernels
from cugraph_ws.runtime.threads import cut_evenly, number_of_threads, parallel

__all__ = ["MOST_VERTICES", "RECIPES", "Arrays", "Recipe", "Weights", "whole"]

Arrays = dict[str, npt.NDArray[Any]]
Integers = npt.NDArray[np.int64]
Weights = tuple[float, float] | None

EDGES, WEIGHTS, DROP, PERMUTATION, PAIRS, CELLS = range(6)  # random number streams of one seed
MOST_VERTICES = 2**62
MOST_PAIRED = 2**31  # vertices whose pairs can be numbered in 62 bits
MOST_BLOCKS = 1000
PIECES = 4  # per thread, so that a slow thread does not delay the others


@dataclass(frozen=True)
class Recipe:
    """How to make a graph: `fill` writes the edges of any range of slots.

    Attributes
    ----------
    fill : callable
        `fill(source, destination, first, lo, hi)` writes slots `first + lo` to `first + hi` of
        the graph at `lo` to `hi` of the arrays.
    slots : int
        Number of edges, or more: a slot with source -1 has no edge.
    seed : int
    weights : (low, high) or None
    """

    fill: Callable[..., None]
    slots: int
    seed: int
    weights: Weights

    def make(self, first: int, last: int) -> Arrays:
        """Return the edges of slots `first` to `last` as columns."""
        size = last - first
        source = np.empty(size, np.int64)
        edges: Arrays = {"source": source, "destination": np.empty(size, np.int64)}
        ranges = cut_evenly(size, PIECES * number_of_threads())
        parallel(self.fill, [(source, edges["destination"], first, lo, hi) for lo, hi in ranges])
        if self.weights is not None:
            edges["weight"] = self._weigh(first, ranges, size)
        is_edge = source >= 0
        if not is_edge.all():
            edges = {name: values[is_edge] for name, values in edges.items()}
        return edges

    def _weigh(self, first: int, ranges: list[tuple[int, int]], size: int) -> npt.NDArray[Any]:
        assert self.weights is not None
        low, high = self.weights
        key = kernels.key_of(self.seed, WEIGHTS)
        values: npt.NDArray[Any]
        if isinstance(low, int) and isinstance(high, int):
            values = np.empty(size, np.int64)
            tasks = [(values, first, lo, hi, key, low, high - low + 1) for lo, hi in ranges]
            parallel(kernels.uniform_integers, tasks)
        else:
            values = np.empty(size, np.float64)
            low, width = float(low), float(high) - float(low)
            floats = [(values, first, lo, hi, key, low, width) for lo, hi in ranges]
            parallel(kernels.uniform_floats, floats)
        return values


def rmat(
    scale: int | None = None,
    edge_factor: float = 16,
    *,
    a: float = 0.57,
    b: float = 0.19,
    c: float = 0.19,
    vertices: int | None = None,
    edges: int | None = None,
    seed: int = 0,
    weights: Weights = None,
    permute: bool = False,
) -> Recipe:
    if (scale is None) == (vertices is None):
        raise InputError(
            f"scale is {shown(scale)} and vertices is {shown(vertices)}: "
            "give one of them, scale for 2**scale vertices"
        )
    if scale is not None:
        vertices = 2 ** whole(scale, "scale", 0, 62)
    vertices = whole(vertices, "vertices", 1, MOST_VERTICES)
    if edges is None:
        factor = _number(edge_factor, "edge_factor", 0.0, math.inf)
        edges = round(min(factor * vertices, float(MOST_VERTICES)))
    edges = whole(edges, "edges", 0, MOST_VERTICES)
    for name, share in (("a", a), ("b", b), ("c", c)):
        _number(share, name, 0.0, 1.0)
    if a + b + c > 1 + 1e-9:
        raise InputError(f"a + b + c is {a + b + c:g}: the probabilities must not exceed 1")
    seed, weights = _seed(seed), _weights(weights)
    thresholds: Any = tuple(round(min(share, 1.0) * 2**32) for share in (a, a + b, a + b + c))
    key, levels = kernels.key_of(seed, EDGES), (vertices - 1).bit_length()
    renamed, half = kernels.key_of(seed, PERMUTATION), (levels + 1) // 2

    def fill(source: Integers, destination: Integers, first: int, lo: int, hi: int) -> None:
        kernels.rmat_edges(source, destination, first, lo, hi, key, vertices, levels, thresholds)
        if permute:
            kernels.permute(source, lo, hi, vertices, half, renamed)
            kernels.permute(destination, lo, hi, vertices, half, renamed)

    return Recipe(fill, edges, seed, weights)


def kronecker(
    scale: int,
    edge_factor: float = 16,
    *,
    permute: bool = True,
    seed: int = 0,
    weights: Weights = (0.0, 1.0),
) -> Recipe:
    return rmat(scale, edge_factor, permute=permute, seed=seed, weights=weights)


def erdos_renyi(
    vertices: int,
    edges: int | None = None,
    *,
    probability: float | None = None,
    directed: bool = True,
    seed: int = 0,
    weights: Weights = None,
) -> Recipe:
    vertices = whole(vertices, "vertices", 0, MOST_PAIRED)
    pairs = vertices * (vertices - 1) // (1 if directed else 2)
    seed, weights = _seed(seed), _weights(weights)
    if (edges is None) == (probability is None):
        raise InputError(
            f"edges is {shown(edges)} and probability is {shown(probability)}: give one of them"
        )
    if probability is not None:
        probability = _number(probability, "probability", 0.0, 1.0)
        edges = int(np.random.default_rng([seed, PAIRS]).binomial(pairs, probability))
    edges = whole(edges, "edges", 0, pairs)
    key, half = kernels.key_of(seed, EDGES), (max(pairs - 1, 0).bit_length() + 1) // 2

    def fill(source: Integers, destination: Integers, first: int, lo: int, hi: int) -> None:
        source[lo:hi] = np.arange(first + lo, first + hi)
        kernels.permute(source, lo, hi, pairs, half, key)
        kernels.split_pairs(source, destination, lo, hi, vertices, directed)

    return Recipe(fill, edges, seed, weights)


def grid(
    rows: int, columns: int, *, drop: float = 0.0, seed: int = 0, weights: Weights = None
) -> Recipe:
    rows = whole(rows, "rows", 0, MOST_PAIRED)
    columns = whole(columns, "columns", 0, MOST_PAIRED // 4)
    drop = _number(drop, "drop", 0.0, 1.0)
    seed, weights = _seed(seed), _weights(weights)
    key = kernels.key_of(seed, DROP)

    def fill(source: Integers, destination: Integers, first: int, lo: int, hi: int) -> None:
        kernels.grid_edges(source, destination, first, lo, hi, key, rows, columns, drop)

    return Recipe(fill, 4 * rows * columns, seed, weights)


def preferential_attachment(
    vertices: int, degree: int = 4, *, seed: int = 0, weights: Weights = None
) -> Recipe:
    vertices = whole(vertices, "vertices", 1, MOST_PAIRED)
    degree = whole(degree, "degree", 1, MOST_PAIRED)
    seed, weights = _seed(seed), _weights(weights)
    key = kernels.key_of(seed, EDGES)

    def fill(source: Integers, destination: Integers, first: int, lo: int, hi: int) -> None:
        kernels.preferential_edges(source, destination, first, lo, hi, key, degree)

    return Recipe(fill, (vertices - 1) * degree, seed, weights)


def stochastic_blocks(
    sizes: Sequence[int],
    within: float,
    between: float,
    *,
    directed: bool = False,
    seed: int = 0,
    weights: Weights = None,
) -> Recipe:
    try:
        blocks = [whole(size, "a size of `sizes`", 0, MOST_PAIRED) for size in sizes]
    except TypeError:
        raise InputError(f"sizes is {shown(sizes)}: give a list of whole numbers") from None
    if len(blocks) > MOST_BLOCKS or sum(blocks) > MOST_PAIRED:
        raise InputError(
            f"sizes has {len(blocks):,} blocks with {sum(blocks):,} vertices: give at most "
            f"{MOST_BLOCKS:,} blocks and {MOST_PAIRED:,} vertices"
        )
    within = _number(within, "within", 0.0, 1.0)
    between = _number(between, "between", 0.0, 1.0)
    seed, weights = _seed(seed), _weights(weights)
    starts = np.cumsum([0, *blocks])
    random = np.random.default_rng([seed, PAIRS])
    cells = []  # blocks of the ends, number of pairs, key, and the slots of the edges
    slots = 0
    for row, size in enumerate(blocks):
        for column in range(0 if directed else row, len(blocks)):
            inner = row == column
            pairs = size * (size - 1) // (1 if directed else 2) if inner else size * blocks[column]
            edges = int(random.binomial(pairs, within if inner else between))
            if edges:
                cells.append((row, column, pairs, slots, slots + edges))
                slots += edges

    def fill(source: Integers, destination: Integers, first: int, lo: int, hi: int) -> None:
        for row, column, pairs, start, end in cells:
            low, high = max(lo, start - first), min(hi, end - first)
            if low >= high:
                continue
            half = (max(pairs - 1, 0).bit_length() + 1) // 2
            key = kernels.key_of(seed, CELLS + row * len(blocks) + column)
            source[low:high] = np.arange(first + low - start, first + high - start)
            kernels.permute(source, low, high, pairs, half, key)
            if row == column:
                kernels.split_pairs(source, destination, low, high, blocks[row], directed)
            else:
                destination[low:high] = source[low:high] % blocks[column]
                source[low:high] //= blocks[column]
            source[low:high] += starts[row]
            destination[low:high] += starts[column]

    return Recipe(fill, slots, seed, weights)


RECIPES: dict[str, Callable[..., Recipe]] = {
    "rmat": rmat,
    "kronecker": kronecker,
    "erdos_renyi": erdos_renyi,
    "grid": grid,
    "preferential_attachment": preferential_attachment,
    "stochastic_blocks": stochastic_blocks,
}


def whole(value: Any, name: str, least: int, most: int) -> int:
    """Check that an argument is an integer in a range.

    Parameters
    ----------
    value : object
        The argument.
    name : str
        Its name, for the error.
    least, most : int
        The range, both included.

    Returns
    -------
    int
        The number.

    Raises
    ------
    InputError
        If it is not an integer, or out of range.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise InputError(f"{name} is {shown(value)}: give a whole number")
    if not least <= value <= most:
        raise InputError(f"{name} is {shown(value)}: give a number from {least} to {most}")
    return int(value)


def _number(value: Any, name: str, least: float, most: float) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} is {shown(value)}: give a number") from None
    if not least <= number <= most:
        raise InputError(f"{name} is {shown(value)}: give a number from {least:g} to {most:g}")
    return number


def _seed(seed: Any) -> int:
    return whole(seed, "seed", 0, 2**64 - 1)


def _weights(weights: Any) -> Weights:
    if weights is None:
        return None
    try:
        low, high = weights
    except (TypeError, ValueError):
        raise InputError(f"weights is {shown(weights)}: give None or a pair (low, high)") from None
    are_integers = all(
        isinstance(bound, int | np.integer) and not isinstance(bound, bool) for bound in weights
    )
    for bound in weights:
        _number(bound, "weights", -1e300, 1e300)
    if low > high:
        raise InputError(f"weights is {shown(weights)}: low must not exceed high")
    if not are_integers:
        return float(low), float(high)
    low, high = int(low), int(high)
    if high - low >= 2**32 or max(abs(low), abs(high)) >= 2**62:
        raise InputError(
            f"weights is {shown(weights)}: integers may span 2**32 values below 2**62; "
            "give floats for more"
        )
    return low, high

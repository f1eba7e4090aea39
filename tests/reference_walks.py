"""What a walk means, in plain Python: it shares no code with the library."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

__all__ = ["philox", "walk"]

MASK = 2**32 - 1
CALL = 0x7FFE  # of all draws of walks


def philox(key: int, counter: tuple[int, int, int, int]) -> int:
    """Return the first 64 bits of Philox-4x32-10, as its authors write it."""
    x, k, m = list(counter), key & MASK, key >> 32
    for _ in range(10):
        first, second = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [(second >> 32) ^ x[1] ^ k, second & MASK, (first >> 32) ^ x[3] ^ m, first & MASK]
        k, m = (k + 0x9E3779B9) & MASK, (m + 0xBB67AE85) & MASK
    return x[0] << 32 | x[1]


class Walker(SimpleNamespace):
    """A walker in one step: its n-th draw is that of (seed, step, number, n)."""

    def bits(self) -> int:
        self.draws += 1
        high = (self.number >> 32) & 0xFFFF | CALL << 16
        return philox(self.seed, (self.number & MASK, high, self.draws, self.step))

    def random(self) -> float:
        return (self.bits() >> 11) / 2**53

    def random_integer(self, end: int) -> int:
        return self.bits() % end

    def random_edge(self, weights: Sequence[float]) -> int:
        total, random = 0.0, self.random()
        for weight in weights:
            total += weight
        part = 0.0
        for place, weight in enumerate(weights):
            part += weight
            if total > 0 and (part > random * total or part >= total):
                return place
        return -1

    def has_edge(self, source: int, destination: int) -> bool:
        return (source, destination) in self.ends


class Edges(list):  # type: ignore[type-arg]
    """The out-edges of a vertex."""

    def __getattr__(self, column: str) -> list[float]:
        return [float(getattr(edge, column)) for edge in self]


def walk(
    function: Callable[..., int],
    arcs: Sequence[Mapping[str, Any]],
    starts: Sequence[int],
    length: int,
    seed: int = 0,
    **parameters: Any,
) -> list[list[int]]:
    """Return the vertices of each walk.

    `arcs` have `src`, `dst` and columns, in the order of the frame.
    """
    rows: dict[int, Edges] = {}
    for arc in sorted(arcs, key=lambda arc: (arc["src"], arc["dst"])):
        rows.setdefault(arc["src"], Edges()).append(SimpleNamespace(**arc))
    ends = {(arc["src"], arc["dst"]) for arc in arcs}
    nothing = SimpleNamespace(**{**dict.fromkeys(arcs[0], 0), "dst": -1})
    walks = []
    for number, start in enumerate(starts):
        path, edge = [start], nothing
        for step in range(length):
            walker = Walker(
                seed=seed, number=number, step=step, vertex=path[-1], edge=edge, draws=0, ends=ends,
                previous=path[-2] if step else -1,
            )  # fmt: skip
            edges = rows.get(path[-1], Edges())
            place = function(walker, edges, **parameters) if edges else -1
            if place < 0:
                break
            edge = edges[place]
            path.append(edge.dst)
        walks.append(path)
    return walks

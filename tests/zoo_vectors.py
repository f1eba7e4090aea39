"""Programs of the zoo with vectors, each of which a user would write."""

from __future__ import annotations

import numpy as np

import cugraph_ws as ws

__all__ = ["WIDE", "Beliefs", "K", "Labels", "MinHash", "Reached", "Sketch", "Smoothed"]

K = 6
WIDE = 40  # more than a warp has lanes


@ws.vertex_program
class Labels:
    """Label propagation over distributions: seeds keep theirs, others take the weighted mean of their neighbours'."""

    share = ws.vector(ws.float32, K)
    label: ws.int64
    given = ws.vertex_value(ws.vector(ws.float32, K), default=0.0)
    w = ws.edge(ws.float64)
    combine = sum
    max_iter = 4

    def init(own):
        return own.given, -1

    def compute(src, edge):
        return src.share * edge.w

    def apply(old, gathered):
        total = np.sum(gathered)
        if np.max(old.given) > 0 or total == 0:
            return old.share, old.label
        gathered = gathered / total
        return gathered, np.argmax(gathered)


@ws.vertex_program
class Smoothed:
    """The mean of the neighbours' features, as GraphSAGE's, until they hardly change; and the greatest of each."""

    x = ws.vector(ws.float64, K)
    features = ws.vertex_value(ws.vector(ws.float64, K))
    alpha = ws.parameter(ws.float64, default=0.5)
    combine = sum, max, sum
    residual = ws.max_norm("x")
    tol = 1e-3

    def init(own):
        return own.features

    def compute(src):
        return src.x, src.x, 1

    def apply(old, gathered, p):
        count = gathered[2]
        gathered = gathered[0] + gathered[1]
        mean = gathered / (count + 1) if count > 0 else old.features
        return (1 - p.alpha) * old.features + p.alpha * mean


def mixed(number, place):
    """Hash a pair of numbers."""
    x = (number * 48271 + place * 69621 + 7) % 2147483647
    return (x * 16807) % 2147483647


@ws.vertex_program
class MinHash:
    """A min-hash sketch of the vertices that lead to each vertex."""

    least = ws.vector(ws.int64, WIDE)
    combine = min

    def init(vertex):
        vertex = vertex * 48271 + 7
        x = (vertex + np.arange(WIDE) * 69621) % 2147483647
        return (x * 16807) % 2147483647

    def compute(src):
        return src.least

    def apply(old, gathered):
        return np.minimum(old.least, gathered)


@ws.vertex_program
class Sketch:
    """HyperLogLog registers of how many vertices are within some hops, until few grow."""

    register = ws.vector(ws.int32, WIDE)
    combine = max

    def init(vertex):
        hashed = mixed(vertex, 3)
        rank = 1
        while hashed % 2 == 0 and rank < 20:
            hashed = hashed // 2
            rank += 1
        return np.where(np.arange(WIDE) == vertex % WIDE, rank, 0)

    def compute(src, dst):
        return np.where(src.register > dst.register, src.register, 0)

    def apply(old, gathered):
        return np.maximum(old.register, gathered)

    @ws.aggregate
    def filled(state):
        return np.sum(state.register > 0)

    def until(p):
        return p.filled >= 4 * p.number_of_vertices


@ws.vertex_program
class Beliefs:
    """Beliefs as logarithms, whose messages depend on the edge; normalised by the greatest."""

    belief = ws.vector(ws.float32, WIDE)
    entropy: ws.float32
    prior = ws.vertex_value(ws.vector(ws.float32, WIDE))
    degree: ws.in_degree
    weight = ws.edge(ws.float32)
    combine = sum
    contributors = "all"
    max_iter = 3

    def init(own):
        return np.log(own.prior), 0.0

    def compute(src, edge):
        sent = src.belief * edge.weight
        if edge.weight > 0.5:
            sent = sent - sent[0]
        elif np.min(src.belief) < -3:
            sent = np.maximum(sent, -2.0)
        return sent

    def apply(old, gathered, p):
        belief = np.log(old.prior) + gathered / max(old.degree, 1)
        belief -= np.max(belief)
        shares = np.exp(belief)
        shares = shares / np.sum(shares)
        return belief, -np.dot(shares, np.log(shares)) + p.superstep


@ws.vertex_program
class Reached:
    """The least hops from some starts, one element for each; only vertices that changed send, and not to all."""

    hops = ws.vector(ws.float32, K)
    nearest: ws.int32
    start = ws.vertex_value(ws.int64, default=-1)
    combine = min

    def init(own):
        return np.where(np.arange(K) == own.start, 0.0, np.inf), own.start

    def starts(state):
        return state.nearest >= 0

    def compute(src, dst):
        if src.hops[dst.nearest] > 9 and dst.nearest >= 0:
            return ws.no_message
        return src.hops + 1

    def apply(old, gathered):
        hops = np.minimum(old.hops, gathered)
        return hops, np.argmin(hops)

    def active(old, new):
        return np.sum(new.hops < old.hops) > 0

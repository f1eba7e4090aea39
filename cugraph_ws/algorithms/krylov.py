"""Principal eigenvector of a symmetric matrix by its Krylov spaces; see `eigenvector_centrality`.

Powers of A are linear combinations of few vectors: v, A v, A² v, … span a space of which power iteration
takes the last vector only.  The best vector of that space is its Ritz vector for the greatest Ritz value
(Saad, "Numerical methods for large eigenvalue problems", 2011, chapter 6): it needs about half the products,
or the square root of them where eigenvalues are close.  As A is symmetric, inner products of two of these
vectors depend on the sum of their exponents alone, so each product needs two of them.

A period begins with a vector v and an estimate θ of the eigenvalue, and computes w₀ = A v − θ v and
wᵢ₊₁ = A wᵢ.  The first estimate is 0, later ones are Ritz values, so that w₀ is the error of v, and rounding
errors are relative to it.  After each product the Ritz vector's residual |A x − θ x| / θ is known from
the inner products.  When it is small enough, or after `PRODUCTS` products, the vector is combined, and its
residual is added up anew.

The square sum of all entries of the residual bounds the error: at most tol · θ / (θ − λ), where λ is the second
eigenvalue, and less after the last step of power iteration.  So the bound is at least as good as that of power
iteration which ends when no value changes by more than `tol`.

Where eigenvalues are so close that `SLOW` products do not do, as on a large grid, that is all that is asked for: no value
would change by more than `tol` in a step of power iteration.  Every fourth period is power iteration then, from the
same products: what it leaves of eigenvalues far below the greatest, a Ritz vector carries on.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from cugraph_ws.algorithms.footprints import ROWS
from cugraph_ws.algorithms.neighbourhood import ArrayLoop, Neighbourhood
from cugraph_ws.arguments import check_count, check_number
from cugraph_ws.backends import loops
from cugraph_ws.execution.loop import Column, Step
from cugraph_ws.graph.footprints import Sizes
from cugraph_ws.graph.view import GraphView
from cugraph_ws.program.binding import check_edge_values, constant_values, edge_columns
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.launch_times import note_bytes, note_rows
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["PrincipalVector", "Ritz", "ritz_of"]

Array = Any  # NumPy's or CuPy's

PRODUCTS = 8  # of a period
# After so many products every fourth period is power iteration, and its promise is enough
SLOW, TURN = 64, 4
FIRST, MORE = (
    6,
    2,
)  # products that are queued on a GPU before the host first waits, and then each time
# Vectors whose share in the span is below this fraction are rounding errors of the inner products
RANK = 1e-13


class Ritz(NamedTuple):
    """The Ritz vector of a space for the greatest Ritz value.

    Attributes
    ----------
    value : float
        The Ritz value.
    factors : ndarray of float64, shape (2, vectors)
        Of v, w₀, w₁, …, for the vector x of length 1, and for A x − value · x.
    change : float
        The length of the latter ÷ the Ritz value.
    """

    value: float
    factors: npt.NDArray[np.float64]
    change: float


class _Space(NamedTuple):
    """The span of v, w₀, w₁, … but the last.

    Attributes
    ----------
    products : ndarray of float64, shape (vectors + 1, vectors + 1)
        Inner products of v, w₀, w₁, ….
    image : ndarray of float64, shape (vectors + 1, vectors)
        Factors of A v, A w₀, ….
    """

    products: npt.NDArray[np.float64]
    image: npt.NDArray[np.float64]

    def result(self, vector: npt.NDArray[np.float64], value: float) -> Ritz:
        """Return a vector of the span, and its residual for a value."""
        count = len(vector)
        rest = self.image @ vector
        rest[:count] -= value * vector
        length = math.sqrt(max(0.0, float(rest @ self.products @ rest)))
        factors = np.stack([np.append(vector, 0.0), rest])
        return Ritz(value, factors, length / value if value > 0.0 else 0.0)


def _space_of(estimate: float, square: float, sums: npt.NDArray[np.float64]) -> _Space:
    """Return the span that `ritz_of` and `power_of` describe."""
    count = len(sums)
    # Of w with w, by the sum of indices; and of v with w: (v, A w) = (A v, w) = θ (v, w) + (w₀, w)
    among = np.concatenate([sums[:1, 1], sums[1:].reshape(-1)])
    products = np.empty((count + 1, count + 1))
    products[0, 0], products[0, 1] = square, sums[0, 0]
    for row in range(1, count):
        products[0, row + 1] = estimate * products[0, row] + among[row - 1]
    places = np.arange(count)
    products[1:, 1:] = among[places[:, None] + places]
    products[1:, 0] = products[0, 1:]
    # A maps v to θ v + w₀, and each w to the next
    image = np.eye(count + 1, count, -1)
    image[0, 0] = estimate
    return _Space(products, image)


def ritz_of(estimate: float, square: float, sums: npt.NDArray[np.float64]) -> Ritz:
    """Return the Ritz vector in the span of v, w₀, w₁, … but the last.

    Parameters
    ----------
    estimate : float
        θ, where w₀ = A v − θ v.
    square : float
        The inner product of v with itself.
    sums : ndarray of float64, shape (products, 2)
        Inner products of w₀, w₁, … with the vector before, and with itself.
    """
    space, count = _space_of(estimate, square, sums), len(sums)
    gram, mapped = space.products[:count, :count], space.products[:count] @ space.image
    sizes = np.sqrt(np.diag(gram))
    sizes[sizes == 0.0] = 1.0
    scaled = np.outer(sizes, sizes)
    shares, directions = np.linalg.eigh(gram / scaled)
    independent = shares > RANK * shares[-1]
    basis = directions[:, independent] / np.sqrt(shares[independent])
    within = basis.T @ ((mapped + mapped.T) / (2.0 * scaled)) @ basis
    values, vectors = np.linalg.eigh(within)
    factors = basis @ vectors[:, -1] / sizes
    if gram[0] @ factors < 0.0:
        factors = -factors
    return space.result(factors, float(values[-1]))


def power_of(estimate: float, square: float, sums: npt.NDArray[np.float64], unit: float) -> Ritz:
    """Return the last vector of power iteration on A + unit · I from v, and its Rayleigh quotient.

    Parameters
    ----------
    estimate, square, sums
        As in `ritz_of`.
    unit : float
    """
    space, count = _space_of(estimate, square, sums), len(sums)
    factors = np.eye(1, count)[0]
    for _ in range(count - 1):
        factors = space.image[:count] @ factors + unit * factors
        factors /= np.abs(factors).max()
    gram, mapped = space.products[:count, :count], space.products[:count] @ space.image
    length = float(factors @ gram @ factors)
    factors = factors / math.sqrt(length)
    return space.result(factors, float(factors @ mapped @ factors))


VALUE = 8  # bytes


class PrincipalVector(ArrayLoop):
    """The algorithm as a loop for `run`, on an undirected graph: a step is a period.

    Weights are divided by the greatest, so that eigenvalues are between 1 and the number of arcs, and no
    product overflows.  If all first values are equal and there are no weights, degrees + 1 are the first
    vector: the first step of power iteration.

    Parameters
    ----------
    program : VertexProgram
        Declares the weights, the first values, the result, and the limits.
    max_iter : int, optional
        Maximum number of products.
    tol : float, optional
        The run ends when the residual ÷ the Ritz value is at most this; after `SLOW` products, also when a step
        of power iteration would change no value by more.
    nstart : frame, mapping, number or column name
        First values.
    """

    reads_weights = True
    converged = diverged = False
    saved: ClassVar = {"vector": None, "rest": None}

    def __init__(
        self,
        program: VertexProgram,
        max_iter: int | None = None,
        tol: float | None = None,
        nstart: Any = 1.0,
    ) -> None:
        self.max_iter = program.max_iter if max_iter is None else max_iter
        self.tol = program.tol if tol is None else tol
        check_count("max_iter", self.max_iter)
        check_number("tol", self.tol, finite=True)
        (self.name,) = (name for name, field in program.state.items() if field.visible)
        self._program, self._nstart = program, nstart

    @property
    def outputs(self) -> dict[str, bool]:
        """The vector."""
        return {self.name: False}

    def memory(self, sizes: Sizes) -> float:
        """Return the bytes that a run takes; see `footprints`."""
        return ROWS["eigenvector_centrality"].of(sizes) + sizes.cast_weights

    def start(self, graph: GraphView, *, on_device: bool = False) -> None:
        """Read the weights and the first values; collective."""
        program = self._program.current()
        (self._weight,) = edge_columns(program, graph)[0]
        check_edge_values(program, graph, (self._weight,), ("float64",) * len(program.state))
        declared: Any = program.constants["nstart"]
        arguments = {"nstart": self._nstart}
        first = constant_values(
            program, "nstart", declared, graph, None, arguments, on_device=False
        )
        by_vertex = first.shape == (graph.length,)
        self._first = first[: graph.owned] if by_vertex else first
        assert program.validate is not None
        program.validate(graph, {"nstart": self._first})
        self._comm = graph.comm
        self.near = near = Neighbourhood(graph, on_device=on_device)
        part, xp = near.part, near.xp
        self._loops = loops("krylov", on_device=on_device)
        self._queue: Any = None
        greatest = None if self._weight is None else graph.greatest_edge_value(self._weight)
        self._scale = 1.0
        if greatest is not None and float(greatest[0]) > np.finfo(np.float64).tiny:
            self._scale = 1.0 / float(greatest[0])
        self._vectors = xp.empty((PRODUCTS + 1, part.size))
        self._vector, self._rest = self._vectors[0], self._vectors[1]
        vector = self._vector[: part.owned]
        if by_vertex:
            greatest_of = self._comm.allgather(float(np.max(self._first, initial=0.0)))
            vector[part.order] = xp.asarray(self._first / (max(greatest_of) or 1.0))
        elif self._weight is None:
            vector[:] = xp.diff(part.csc.offsets[: part.owned + 1]) + 1.0
        else:
            vector[:] = 1.0
        vector /= math.sqrt(self._total((vector * vector).sum())) or 1.0
        self._rest[:] = 0.0
        self._estimate, self._square, self._change = 0.0, 1.0, math.inf
        self.converged = graph.number_of_arcs == 0

    def _total(self, own: Any) -> float:
        """Return a sum over all ranks; collective."""
        return float(np.sum(self._comm.allgather(float(own))))

    def step(self) -> Step:
        """Compute a period's vectors, and combine them; collective."""
        assert self.max_iter is not None
        part = self.near.part
        most = max(1, min(PRODUCTS, self.max_iter - self.done))
        sums = np.zeros((0, 2))
        changes: list[float] = []
        slow, turn = self.done >= SLOW, self.done // PRODUCTS % TURN
        while len(changes) < most and not (changes and changes[-1] <= (self.tol or 0.0)):
            if len(changes) == len(sums):
                sums = np.concatenate([sums, self._multiply(len(sums), most)])
                self.diverged = not np.isfinite(sums).all()
                if self.diverged:
                    self._rest[:] = 0.0  # the sums are there
                    changes.append(math.inf)
                    break
            if slow and len(sums) < most:  # only the whole period is looked at
                changes = [math.inf] * len(sums)
                continue
            ritz = ritz_of(self._estimate, self._square, sums[: most if slow else len(changes) + 1])
            changes = [ritz.change] * most if slow else [*changes, ritz.change]
        if not self.diverged:
            if self.tol and slow and turn == TURN - 1 and changes[-1] > self.tol:
                ritz = power_of(self._estimate, self._square, sums, self._scale)
            combined = self._loops.combine(self._vectors, part.owned, ritz.factors)
            note_bytes(VALUE * ritz.factors.shape[1] * part.owned, 2 * VALUE * part.owned)
            self._square, rest = np.sum(self._comm.allgather(combined.tolist()), axis=0).tolist()
            self._estimate = ritz.value
            if ritz.value > 0.0:
                length = math.sqrt(self._square)
                changes[-1] = math.sqrt(rest) / (length * ritz.value)
                if slow and changes[-1] > (self.tol or 0.0):
                    changes[-1] = self._greatest_rest() / (length * (ritz.value + self._scale))
            self.converged = changes[-1] <= (self.tol or 0.0)
        self.done += len(changes)
        self._change = changes[-1]
        graph = part.graph
        work = graph.number_of_vertices, graph.number_of_arcs
        return Step(
            *work,
            changes[-1],
            "gather",
            "all",
            bytes_sent=part.halo.totals(0)[1],
            residuals=changes,
            history=[work] * len(changes),
        )

    def _greatest_rest(self) -> float:
        """Return the greatest absolute entry of the residual; collective."""
        rest = self._rest[: self.near.part.owned]
        return max(self._comm.allgather(float(abs(rest).max()) if len(rest) else 0.0))

    def _multiply(self, first: int, most: int) -> npt.NDArray[np.float64]:
        """Compute the next vectors; return their inner products; collective."""
        near, part, vectors = self.near, self.near.part, self._vectors
        if part.on_device and part.halo.alone:
            if self._queue is None:
                folded = near.folded("in", self._weight)
                self._queue = self._loops.QueuedProducts(folded, vectors, self._scale)
            last = min(most, first + MORE if first else FIRST)
            if self.done >= SLOW:
                last = most
            sums: npt.NDArray[np.float64] = self._queue.run(first, last, self._estimate)
            arc = VALUE * (1 + (self._weight is not None))
            for _ in range(first, last):
                note_rows(part.csc, arc=arc, vertex=2 * VALUE, written=2 * VALUE)
            return sums
        near.update(vectors[first])
        before, product = vectors[first, : part.owned], vectors[first + 1, : part.owned]
        shifted = self._loops.shift(
            near.sums(vectors[first], "in", weight=self._weight), before, product,
            scale=self._scale, by=0.0 if first else self._estimate,
        )  # fmt: skip
        note_bytes(2 * VALUE * part.owned, VALUE * part.owned)
        shown = self._comm.allgather(shifted[None].tolist())
        added: npt.NDArray[np.float64] = np.sum(shown, axis=0)
        return added

    # ------------------------------------------------------------------------------- checkpoints

    def inputs(self) -> dict[str, Any]:
        """Return the first values."""
        return {"nstart": self._first}

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return the vector and its residual, the Ritz value, the square sum, and the last change."""
        ritz = np.array([self._estimate, self._square, self._change])
        return {**super().state(), "ritz": ritz}

    def check(self, state: SavedState, graph: Any) -> None:
        """Refuse a state that this run cannot have saved; not collective."""
        super().check(state, graph)
        state.floats("ritz", 3, 0.0)

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Resume from what `state` returned."""
        super().restore(state)
        for row, values in enumerate((self._vector, self._rest)):
            self._vectors[row] = values
        self._vector, self._rest = self._vectors[0], self._vectors[1]
        self._estimate, self._square, self._change = state["ritz"].tolist()
        self.converged = self.converged or self._change <= (self.tol or 0.0)

    def columns(self) -> dict[str, Column]:
        """Return the vector after a step of power iteration on A + I, of length 1; collective."""
        part, xp = self.near.part, self.near.xp
        vector, rest = self._vector[: part.owned], self._rest[: part.owned]
        values = xp.maximum(vector + rest / (self._estimate + self._scale), 0.0)
        values /= math.sqrt(self._total((values * values).sum())) or 1.0
        return {self.name: part.by_number(values)}

"""Extrapolation between supersteps that map a field affinely, as those of PageRank do.

If `f` maps distributions affinely, it maps a combination of vectors x₁ … x₅ with factors that sum to 1 to the
same combination of f(x₁) … f(x₅).  So the change that a superstep would make to the combination is the
same combination of the known changes f(xᵢ) − xᵢ.  The factors that minimise its L2 norm follow from the inner
products of the changes, without a superstep: reduced rank extrapolation (Eddy 1979, Mešina 1977).
Quadratic extrapolation (Kamvar, Haveliwala, Manning and Golub, "Extrapolation methods for accelerating
PageRank computations", WWW 2003) finds factors of three vectors in nearly the same way.

The combination of f(x₁) … f(x₅), with negative entries set to 0 and scaled to the same sum, replaces the state
if a superstep is then certain to change it by at most `GUARD` times the last change.  Changes are measured in
the L1 norm, in which `f` does not increase distances, so a run cannot diverge.  Like any run, it ends when a
superstep of the program changes the field by at most `tol`.

The period is eight supersteps.  After the fourth, the run decides whether to keep the vectors of the rest of
the period; after the eighth they are combined.  An executor has the state before and after a superstep, so
four further vectors are kept.  After n refused combinations in a row, the next n - 1 periods are skipped.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from cugraph_ws.contract import Executor
from cugraph_ws.errors import InputError
from cugraph_ws.execution.options import Options
from cugraph_ws.graph.view import GraphView
from cugraph_ws.partition.exchange import Exchange
from cugraph_ws.partition.part import Part
from cugraph_ws.program.binding import BoundProgram
from cugraph_ws.program.linear import Extrapolate, Linear
from cugraph_ws.program.vertex_program import VertexProgram
from cugraph_ws.runtime.arrays import as_host
from cugraph_ws.runtime.device import device
from cugraph_ws.runtime.memory import available_memory
from cugraph_ws.runtime.saved_state import SavedState

__all__ = ["KEPT", "Extrapolation", "ExtrapolationOfRun", "extrapolation_of", "factors_of"]

Array = Any  # NumPy's or CuPy's

PERIOD = 8  # supersteps from one combination to the next
DECIDED, SECOND = 4, 6  # supersteps of a period after which two vectors are kept
KEPT = ("_kept_first", "_kept_second", "_kept_third", "_kept_fourth")
GUARD = 0.7  # a combination is refused if its change may exceed this fraction of the last change
# Supersteps that a run must still need after a combination, which takes as long as one or two
LEAST_LEFT = 6
MOST_REFUSED = 1 << 32  # refused combinations in a row
# Arcs of a rank above which a GPU's supersteps take long enough: a combination takes 1 to 2 ms there
LEAST_ARCS = 24_000_000
# The same on a CPU, where supersteps of a small graph run in one call
LEAST_ON_HOST = 1 << 16
SMALL = 1 << 26  # bytes that are always there: asking a driver takes as long as a small graph's run
PART = 4  # vectors may take 1/4 of the free memory
# Singular values below this fraction of the greatest are rounding errors of the products
RANK = 1e-13


def extrapolation_of(
    program: VertexProgram,
    options: Options,
    *,
    in_place: bool,
    tol: float | None,
    max_iter: int | None,
) -> ExtrapolationOfRun | None:
    """Return the extrapolation of a run, or None; see `cugraph_ws.contract.BetweenSupersteps`."""
    wanted, why_not = options.plan.extrapolate, _why_not(program, in_place=in_place)
    if why_not is not None and wanted == "always":
        raise InputError(f"extrapolate='always': {why_not}; leave it out")
    # With `tol` of 0 or None, the run is to do `max_iter` supersteps
    if why_not is not None or wanted == "never" or (wanted == "auto" and not tol):
        return None
    return ExtrapolationOfRun(wanted, tol, max_iter)


def _why_not(program: VertexProgram, *, in_place: bool) -> str | None:
    """Return why a program's runs cannot be extrapolated, or None if they can.

    Parameters
    ----------
    program : VertexProgram
    in_place : bool
        Whether supersteps must write into the state that they read.
    """
    if program.extrapolation is None:
        return f"{program.name} does not declare that its supersteps are linear"
    return "supersteps in place overwrite the earlier state" if in_place else None


@dataclass(frozen=True)
class ExtrapolationOfRun:
    """That a run may be extrapolated; see `cugraph_ws.contract.BetweenSuperstepsOfRun`.

    Attributes
    ----------
    wanted : {"auto", "always"}
        With "always", vectors are combined in any case, not only where that is expected to save time.
    tol : float or None
        Bound of the residual.
    max_iter : int or None
        Maximum number of supersteps.
    """

    wanted: Extrapolate
    tol: float | None
    max_iter: int | None
    keeps = KEPT
    bytes_a_vertex = 48  # six vectors: those kept, those of the executor's, and the combination

    @property
    def inputs(self) -> dict[str, str]:
        """What of the options a result depends on."""
        return {"extrapolate": self.wanted}

    def check(self, state: SavedState, owned: int) -> None:
        """Refuse vectors and counts that no run can have saved."""
        for name in KEPT:
            state.like(name, owned, np.float64)
        count, refused, pause = state.integers("_kept", 3, 0, MOST_REFUSED).tolist()
        state.require("_kept", count in (0, 2, 4), f"has {count} vectors")
        state.require("_kept", pause <= refused, f"has a pause of {pause} after {refused}")
        state.floats("_rate", 1, 0.0)

    def started(
        self,
        bound: BoundProgram,
        graph: GraphView,
        executor: Executor,
        exchange: Exchange,
        *,
        on_device: bool,
    ) -> Extrapolation:
        """Return the extrapolation of the run that begins; collective."""
        return Extrapolation(
            bound,
            graph,
            executor,
            exchange,
            always=self.wanted == "always",
            tol=self.tol,
            max_iter=self.max_iter,
            on_device=on_device,
        )


class Extrapolation:
    """The vectors of a run that are kept, and the combinations that replace its state.

    Parameters
    ----------
    bound : BoundProgram
        A program that declares `extrapolation`.
    graph : GraphView
    executor : Executor
    exchange : Exchange
    always : bool
        Whether to combine vectors in any case, not only where that is expected to save time.
    tol : float or None
        Bound of the residual.
    max_iter : int or None
        Maximum number of supersteps.
    on_device : bool
        Whether the executor computes on the GPU.
    """

    def __init__(
        self,
        bound: BoundProgram,
        graph: GraphView,
        executor: Executor,
        exchange: Exchange,
        *,
        always: bool,
        tol: float | None,
        max_iter: int | None,
        on_device: bool,
    ) -> None:
        program = bound.program
        assert program.extrapolation is not None
        self._declared: Linear = program.extrapolation
        self._names = tuple(program.constants)
        self._executor, self._exchange = executor, exchange
        self._part = Part(graph, on_device=on_device)
        self._loops = _loops(on_device=on_device)
        self._always, self._tol, self._max_iter = always, tol, max_iter
        least = LEAST_ARCS * self._part.halo.comm.size if on_device else LEAST_ON_HOST
        self._never = graph.number_of_arcs < least and not always
        self._vectors: tuple[Array, ...] = ()  # buffers of the kept vectors
        self._count = 0  # number of vectors kept
        self._refused = 0  # refused combinations in a row
        self._pause = 0  # periods left to skip
        self._rate = 0.0  # greatest ratio of a change to the one before

    def supersteps(self, number: int) -> int:
        """Return how many supersteps may run before `after` must be called.

        Parameters
        ----------
        number : int
            Number of the next superstep, from 0.
        """
        if self._never:
            return 1 << 62
        stop = (DECIDED, DECIDED, SECOND, SECOND, PERIOD)[self._count]
        return (stop - number - 1) % PERIOD + 1

    def after(self, number: int, before: float, residual: float) -> bool:
        """Keep vectors, or replace the state by their combination; collective.

        Parameters
        ----------
        number : int
            Number of supersteps so far.
        before, residual : float
            The changes of the last two supersteps.

        Returns
        -------
        bool
            Whether the state has been replaced.
        """
        if self._never:
            return False
        place = number % PERIOD
        if before > 0.0 and (place == DECIDED or (place == 0 and self._count)):
            # Not right after a combination: then changes shrink faster for a few supersteps
            self._rate = max(self._rate, residual / before)
        if place == DECIDED:
            self._count = 0
            if self._wanted(number, residual):
                self._keep()
        elif place == SECOND and self._count:
            self._keep()
        elif place == 0 and self._count == len(KEPT):
            self._count = 0
            if self._combine(residual):
                self._refused = 0
                return True
            self._refused += 1
            self._pause = self._refused - 1
        return False

    def _wanted(self, number: int, residual: float) -> bool:
        """Return whether vectors are worth keeping; the same on all ranks."""
        if self._max_iter is not None and number + PERIOD - DECIDED >= self._max_iter:
            return False
        if not self._always:
            assert self._tol is not None
            supersteps_left = 0.0
            if residual > 0.0:
                supersteps_left = math.inf
                if 0.0 < self._rate < 1.0:
                    supersteps_left = math.log(self._tol / residual) / math.log(self._rate)
            if supersteps_left < LEAST_LEFT + PERIOD - DECIDED:
                return False
            if self._pause:
                self._pause -= 1
                return False
        if self._vectors:  # on all ranks
            return True
        needed = 8 * (len(KEPT) + 1) * self._part.size
        return not self._exchange.total(int(needed > SMALL and PART * needed > self._free()))

    def _free(self) -> int:
        """Return how many bytes can be allocated."""
        return device().free_memory() if self._part.on_device else available_memory()

    def _recent(self) -> tuple[Array, Array]:
        """Return the field before and after the last superstep, of owned vertices by position."""
        owned = self._part.owned
        before, after = self._executor.recent(self._declared.field)
        return before[:owned], after[:owned]

    def _keep(self) -> None:
        """Copy the field before and after the last superstep."""
        if not self._vectors:
            xp, owned = self._part.xp, self._part.owned
            self._vectors = tuple(xp.empty(owned, np.float64) for _ in KEPT)
        for vector in self._recent():
            self._vectors[self._count][:] = vector
            self._count += 1

    def _combine(self, residual: float) -> bool:
        """Replace the state by a combination, if its change is small enough; collective."""
        part, halo = self._part, self._part.halo
        vectors = (*self._vectors, *self._recent())
        shown = halo.allgather(self._loops.products(vectors).tolist())
        factors = factors_of(np.sum(shown, axis=0))
        if factors is None:  # on all ranks
            return False
        combined = part.xp.empty(part.size, np.float64)
        own_combined = self._loops.combine(vectors, factors.tolist(), combined[: part.owned])
        change, below = np.sum(halo.allgather(own_combined.tolist()), axis=0).tolist()
        # Setting negative entries to 0 adds `below`, and scaling removes as much: either may change the
        # state and its image by that amount
        if not change + 4.0 * below <= GUARD * residual:
            return False
        if below > 0.0:
            combined[: part.owned] /= 1.0 + below
        self._exchange.finish()
        halo.update(combined)
        derived: Mapping[str, Array] = {}
        if self._declared.others is not None:
            constants = {
                name: self._executor.by_position(at) for at, name in enumerate(self._names)
            }
            derived = self._declared.others(part.xp, combined, constants)
        self._executor.begin({self._declared.field: combined, **derived})
        return True

    # ------------------------------------------------------------------------------- checkpoints

    def state(self) -> dict[str, npt.NDArray[np.float64]]:
        """Return the kept vectors by owned vertex, zeros for those not kept, and the counts."""
        part, saved = self._part, {}
        for place, name in enumerate(KEPT):
            column = np.zeros(part.owned)
            if place < self._count:
                column = as_host(self._vectors[place][part.order])
            saved[name] = column
        counts = (self._count, self._refused, self._pause)
        return {**saved, "_kept": np.array(counts, np.int64), "_rate": np.array([self._rate])}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Restore what `state` returned."""
        part = self._part
        self._count, self._refused, self._pause = state["_kept"].tolist()
        self._rate = float(state["_rate"][0])
        if self._count:
            self._vectors = tuple(part.xp.empty(part.owned, np.float64) for _ in KEPT)
            for vector, name in zip(self._vectors, KEPT, strict=True):
                vector[part.order] = part.xp.asarray(state[name])


def _loops(*, on_device: bool) -> ModuleType:
    """Return the module whose `products` and `combine` take the vectors of the run."""
    if on_device:
        from cugraph_ws.accelerators.extrapolation import cuda

        return cuda
    from cugraph_ws.accelerators.extrapolation import cpu

    return cpu


def factors_of(products: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Return the factors that sum to 1 and minimise the L2 norm of the combined change.

    Parameters
    ----------
    products : ndarray of float64, shape (15,)
        Inner products of any two of five changes.

    Returns
    -------
    ndarray of float64, shape (5,), or None
        None if the products are not finite.
    """
    if not np.isfinite(products).all():
        return None
    table = np.zeros((5, 5))
    table[np.triu_indices(5)] = products
    table += np.triu(table, 1).T
    # Products of differences from the last change; scaled, since sizes differ by orders of magnitude
    last = table[4]
    differences = table[:4, :4] - last[:4, None] - last[None, :4] + last[4]
    right = last[4] - last[:4]
    sizes = np.sqrt(np.maximum(np.diag(differences), 0.0))
    sizes[sizes == 0.0] = 1.0
    scaled = differences / np.outer(sizes, sizes)
    solution = np.linalg.lstsq(scaled, right / sizes, rcond=RANK)[0] / sizes
    factors = np.append(solution, 1.0 - solution.sum())
    return factors if np.isfinite(factors).all() else None

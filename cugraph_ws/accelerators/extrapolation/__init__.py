"""Extrapolation between supersteps that map a field affinely: fewer of them, on graphs that mix slowly."""

from __future__ import annotations

from cugraph_ws.contract import Accelerator, BetweenSupersteps

__all__ = ["ACCELERATOR"]


def _between_supersteps() -> BetweenSupersteps:
    from cugraph_ws.accelerators.extrapolation.runs import extrapolation_of

    return extrapolation_of


ACCELERATOR = Accelerator(
    name="extrapolation",
    bits="within tol",
    memory="48 bytes a vertex; a run does without if that is more than a quarter of the free memory",
    first_call="two small kernels, once a machine, in the first run that combines states",
    page="042-pagerank-is-extrapolated.md",
    asked_by={"extrapolate": ("always",)},
    between_supersteps=_between_supersteps,
)

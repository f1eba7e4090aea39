"""The accelerators: a table of their names, and what is registered at each place where one may step in.

The core looks this module up by name (`runtime/dispatch.py`) and imports none of the accelerators.  The
environment variable CUGRAPH_WS_ACCELERATORS leaves some out: `none`, or the names of those to use,
separated by commas.  It is read once, by the first run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from typing import Any

from cugraph_ws.contract import (
    Accelerator,
    BetweenSupersteps,
    DeviceLayouts,
    HostGathers,
    HostLinks,
    LinkedSupersteps,
    ShardLoops,
    WorkerRequests,
)
from cugraph_ws.errors import EngineError, InputError
from cugraph_ws.runtime.communicator import Communicator

__all__ = [
    "ACCELERATORS",
    "VARIABLE",
    "between_supersteps",
    "device_layouts",
    "enabled",
    "frontier_loops",
    "host_gathers",
    "host_links",
    "layout_of",
    "layouts",
    "left_out",
    "linked_supersteps",
    "program_loops",
    "refuse_left_out",
    "registered",
    "require_agreement",
    "shard_loops",
    "worker_requests",
]

ACCELERATORS = {
    "extrapolation": "cugraph_ws.accelerators.extrapolation",
    "tiles": "cugraph_ws.accelerators.tiles",
    "gshards": "cugraph_ws.accelerators.gshards",
    "coalescing": "cugraph_ws.accelerators.coalescing",
    "direct_start": "cugraph_ws.accelerators.direct_start",
    "hub": "cugraph_ws.accelerators.hub",
    "linked": "cugraph_ws.accelerators.linked",
}
VARIABLE = "CUGRAPH_WS_ACCELERATORS"


@cache
def registered() -> tuple[Accelerator, ...]:
    """Return the registration of every accelerator, in the order of the table."""
    return tuple(import_module(ACCELERATORS[name]).ACCELERATOR for name in ACCELERATORS)


@cache
def enabled() -> tuple[Accelerator, ...]:
    """Return the registrations of those in use.

    Raises
    ------
    InputError
        If the environment variable names an accelerator that there is not.
    """
    setting = os.environ.get(VARIABLE, "").strip()
    if not setting:
        return registered()
    names = set() if setting == "none" else {name.strip() for name in setting.split(",")}
    unknown = sorted(names - ACCELERATORS.keys())
    if unknown:
        raise InputError(
            f"{VARIABLE}={setting!r}: there is no accelerator {unknown[0]!r}; give 'none', or some of "
            f"{', '.join(map(repr, ACCELERATORS))}, separated by commas, or unset it to use all"
        )
    return tuple(accelerator for accelerator in registered() if accelerator.name in names)


@cache
def left_out() -> tuple[Accelerator, ...]:
    """Return the registrations of those that are left out."""
    return tuple(accelerator for accelerator in registered() if accelerator not in enabled())


def refuse_left_out(options: Any) -> None:
    """Refuse options that ask by name for an accelerator that is left out.

    Parameters
    ----------
    options : Options

    Raises
    ------
    EngineError
    """
    for accelerator in left_out():
        for option, values in accelerator.asked_by.items():
            value = getattr(options.plan, option)
            if value in values:
                raise _is_left_out(accelerator, option, value)


def _is_left_out(accelerator: Accelerator, option: str, value: str) -> EngineError:
    """Return the error for an option that asks for an accelerator that is left out."""
    return EngineError(
        f"{option}={value!r}: {VARIABLE}={os.environ.get(VARIABLE)!r} leaves out the accelerator "
        f"{accelerator.name!r}; leave the option out, or unset the environment variable"
    )


def _made(makers: Iterable[Callable[[], Any] | None]) -> Any:
    """Return what the first maker that there is makes; at most one accelerator has one."""
    return next((make() for make in makers if make is not None), None)


@cache
def between_supersteps() -> BetweenSupersteps | None:
    """Return what may replace states between supersteps, None if nothing does."""
    built: BetweenSupersteps | None = _made(each.between_supersteps for each in enabled())
    return built


@cache
def host_gathers() -> HostGathers | None:
    """Return what gathers on the CPU may go over, None if they go over rows only."""
    built: HostGathers | None = _made(each.host_gathers for each in enabled())
    return built


@cache
def device_layouts() -> DeviceLayouts | None:
    """Return the layouts of arcs on the GPU besides the CSC, None if there are none."""
    built: DeviceLayouts | None = _made(each.device_layouts for each in enabled())
    return built


@cache
def shard_loops() -> ShardLoops | None:
    """Return what stands in for a program's loop on the shards of a cluster, None if nothing does."""
    built: ShardLoops | None = _made(each.shard_loops for each in enabled())
    return built


@cache
def worker_requests() -> WorkerRequests | None:
    """Return what sends requests to workers before the scheduler does, None if nothing does."""
    built: WorkerRequests | None = _made(each.worker_requests for each in enabled())
    return built


@cache
def host_links() -> HostLinks | None:
    """Return what makes links between GPUs through the memory of their host, None if nothing does."""
    built: HostLinks | None = _made(each.host_links for each in enabled())
    return built


@cache
def linked_supersteps() -> LinkedSupersteps | None:
    """Return what runs supersteps with their exchanges in one launch on each GPU, None if nothing does."""
    built: LinkedSupersteps | None = _made(each.linked_supersteps for each in enabled())
    return built


def require_agreement(comm: Communicator) -> None:
    """Refuse ranks of which some leave out other accelerators; collective.

    Ranks step in together, or wait for each other forever.

    Raises
    ------
    InputError
        On all ranks.
    """
    settings = {str(setting) for setting in comm.allgather(os.environ.get(VARIABLE, ""))}
    if len(settings) > 1:
        error = InputError(
            f"{VARIABLE} is {' on some workers, '.join(map(repr, sorted(settings)))} on others; set the same value "
            "on all workers"
        )
        error.on_all_ranks = True
        raise error


def layout_of(name: str) -> Any:
    """Return the class of a layout on the GPU besides the CSC; see `cugraph_ws.contract.Layout`.

    Raises
    ------
    EngineError
        If its accelerator is left out.
    """
    for accelerator in left_out():
        if name in accelerator.asked_by.get("layout", ()):
            raise _is_left_out(accelerator, "layout", name)
    layouts = device_layouts()
    assert layouts is not None
    return layouts.layout_of(name)


@cache
def program_loops() -> tuple[str, ...]:
    """Return the modules of kernels that every program on the CPU is compiled with, besides the core's."""
    return tuple(loop for accelerator in enabled() for loop in accelerator.program_loops)


@cache
def frontier_loops() -> tuple[str, ...]:
    """Return the modules of kernels that programs with frontiers on the GPU are compiled with, besides the core's."""
    return tuple(loop for accelerator in enabled() for loop in accelerator.frontier_loops)


@cache
def layouts(*, on_device: bool) -> tuple[str, ...]:
    """Return the names of layouts that accelerators have on the GPU, or on the CPU; left out ones too."""
    return tuple(
        name
        for each in registered()
        if (each.device_layouts if on_device else each.host_gathers) is not None
        for name in each.asked_by.get("layout", ())
    )

"""The table of modules that are chosen at run time.

Frame kinds, backends and clusters import the graph and the program, not the reverse.  A module that
depends on the kind of a frame or on the engine is looked up here by name, and imported then.  So cuDF
and Dask are imported only when they are used.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from cugraph_ws.runtime.extras import import_optional, install_command

__all__ = ["PROVIDERS", "provider"]

PROVIDERS = {
    # frames: `make_frame` and `join_categories`; of cuDF also `CudfFrame` and `device_column`
    "frames of pandas": "cugraph_ws.frames.pandas",
    "frames of cudf": "cugraph_ws.backends.cuda.cudf_frames",
    # columns on the device: `device_values`, `id_values`, `convert_ids`
    "device columns": "cugraph_ws.backends.cuda.columns",
    # graphs on the device: `read_device_edges`; `from_host`; `with_ids_there`; `placed`;
    # `estimate`, `estimate_numbering`
    "device edges": "cugraph_ws.backends.cuda.edges",
    "device graph": "cugraph_ws.backends.cuda.graph",
    "device vertices": "cugraph_ws.backends.cuda.vertices",
    "device graphs of host arcs": "cugraph_ws.backends.cuda.arcs_on_host",
    "device memory": "cugraph_ws.backends.cuda.memory",
    # layouts of arcs on the device: `layout_of`
    "device layouts": "cugraph_ws.backends.cuda.schedule",
    # rows along reversed edges: `reversed_arcs`, `reversed_shard`
    "reversed device graphs": "cugraph_ws.backends.cuda.reversed_rows",
    # a rank's shard of a graph on the device: `number_dtype`; `laid_out`; `are_integers`,
    # `build_on_devices`
    "device rows": "cugraph_ws.backends.cuda.grouping",
    "device partitions": "cugraph_ws.backends.cuda.partition",
    "device shards": "cugraph_ws.backends.cuda.shard_build",
    # what may step in beside the core: `between_supersteps`, `host_gathers`, `device_layouts`, …
    "accelerators": "cugraph_ws.accelerators",
    # what runs take, by function, program or loop: `loop_of`, `lists_messages`
    "rows of runs": "cugraph_ws.algorithms.rows_of_runs",
    # what calls are listed to launch: `jobs_of`
    "listed programs": "cugraph_ws.backends.cuda.listed_programs",
    # a rank's rows of all neighbours on the device: `symmetrised`
    "symmetrised rows": "cugraph_ws.backends.cuda.symmetrised_rows",
    # graphs made of another: `contracted`, `induced`
    "graphs of graphs": "cugraph_ws.partition.contraction",
    # pictures of results: `plot_result`
    "pictures of results": "cugraph_ws.pictures.results",
    # graphs on a cluster: `ClusterGraph`
    "graphs of dask": "cugraph_ws.dask.graph",
}


@cache
def provider(what: str) -> Any:
    """Return the module with a name in the table.

    Parameters
    ----------
    what : str
        A key of `PROVIDERS`.

    Returns
    -------
    module

    Raises
    ------
    InputError
        If a library that clusters need is missing.
    """
    if what == "graphs of dask":  # Dask is often installed without it
        remedy = f"run {install_command('dask')}"
        import_optional("cryptography", "a graph on a Dask cluster", remedy)
    return import_module(PROVIDERS[what])

"""Several GPUs of one host: builds and memory, functions, exchange, scaling, cuGraph, Parquet.

All GPUs of the host take part; there must be two.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.cluster.builds import builds, large, peers
from bench.cluster.contests import CONTESTS
from bench.forms import gpu_cases
from bench.graphs import GENERATED, SCALING
from bench.parts import Part, parser, read, sweep
from bench.unlike import unlike_gpus

GRAPHS = {"scaling": tuple(SCALING), "large": ("RM54V704E",)}
MEASURES = {"build": builds, **CONTESTS, "peers": peers, "large": large, "unlike": unlike_gpus}
PARTS = {  # by their names in records
    f"cluster-{name}": Part(measure, GRAPHS.get(name, ("RM33V335E",)), by_name=True)
    for name, measure in MEASURES.items()
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested parts; return 1 if anything failed."""
    reader = parser("cluster", (__doc__ or "").splitlines()[0], MEASURES)
    asked = read(reader, arguments, GENERATED.__contains__)
    asked.parts = [f"cluster-{name}" for name in asked.parts]
    return sweep(PARTS, asked, gpu_cases)

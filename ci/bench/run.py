"""Run stages on a GPU, one after the other, and put the results into the record."""

from __future__ import annotations

import argparse
import datetime
import json
import signal
import subprocess
import sys
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench import stages
from bench.children import CHILDREN
from bench.page import add
from bench.places import MEASUREMENTS, ROOT, environment
from bench.tree import files_hash

__all__ = ["expand", "main", "on_gpus", "placed", "run", "when"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the requested stages; return 1 if one failed."""
    parser = argparse.ArgumentParser(prog="bench stages", description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", default=list(stages.STAGES),
                        help=f"{', '.join(stages.STAGES)}; bench: all its parts; bench-PART:GRAPH,GRAPH; "
                             f"on several GPUs: {', '.join(stages.CLUSTER)}")  # fmt: skip
    parser.add_argument("--report", type=Path, default=MEASUREMENTS,
                        help="folder of records and pages; by default docs/measurements")  # fmt: skip
    given = parser.parse_args(arguments)
    wanted = expand(given.stages)
    if (reason := unusable()) is not None:
        print(reason, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: CHILDREN.end())
    where: dict[str, Any] = {"tree": files_hash(), "machine": machine()}
    failed = []
    for stage in wanted:
        if CHILDREN.ended:
            failed.append(f"{stage} (not begun)")
            continue
        print(f"\n== {stage}", flush=True)
        for group, name, facts in run(stage):
            name += placed(stage, where["machine"])
            add(given.report, group, name, {**where, **facts})
            print(f"-- {group} {name}: {facts['status']}", flush=True)
            if facts["status"] != "passed":
                failed.append(name)
    print(f"\nfailed: {', '.join(failed)}" if failed else "\nno stage failed")
    return 1 if failed else 0


def expand(names: list[str]) -> list[str]:
    """Return the stages that names on the command line stand for, or exit with a message."""
    wanted: list[str] = []
    for name in names:
        below = [
            one for one in stages.STAGES if one == name or one.startswith((f"{name}:", f"{name}-"))
        ]
        kind = name.partition(":")[0]
        if name in stages.CLUSTER:
            below = ["cluster-hub", "cluster"] if name == "cluster" else [name]
        elif not below and (
            kind in {one.partition(":")[0] for one in stages.BENCHES}
            or (kind in stages.CLUSTER and kind.startswith("bench-"))
        ):
            below = [name]  # a part on graphs of the caller's choice
        if not below:
            kinds = dict.fromkeys(
                one.partition(":")[0] for one in (*stages.STAGES, *stages.CLUSTER)
            )
            sys.exit(f"there is no stage {name!r}; choose of {', '.join(kinds)}, bench")
        wanted += below
    return wanted


def unusable() -> str | None:
    """Return why nothing can run here, or None."""
    code = "import cugraph_ws.kernels, cugraph_ws.runtime.device as d; d.device()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    last = done.stderr.strip().splitlines()[-1:]
    return f"cugraph_ws does not run here: {''.join(last)}\ninstall it (pip install -e .) and set PYTHON"


def machine() -> dict[str, Any]:
    """Describe the machine, in a separate process, since that starts the GPU and imports much."""
    done = subprocess.run(
        [*stages.BENCH, "machine"],
        cwd=ROOT, env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = done.stdout.strip().splitlines()
    facts: dict[str, Any] = json.loads(lines[-1]) if lines and done.returncode == 0 else {}
    return facts


def placed(stage: str, machine: Mapping[str, Any]) -> str:
    """Return the part of a section's name that gives the GPU model, and the number of GPUs."""
    card = machine.get("gpu") or machine.get("processor")
    return on_gpus(stage, machine) + (f", {card}" if card else "")


def on_gpus(stage: str, machine: Mapping[str, Any]) -> str:
    """Return the part of a cluster section's name that gives the number of GPUs."""
    if stage.partition(":")[0] not in stages.CLUSTER:
        return ""
    gpus = machine.get("gpus", "?")
    return f", {gpus} GPU{'s' * (gpus != 1)}"


def run(stage: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Run a stage; return group ("stages" or "bench"), name and facts of each of its sections."""
    begun = datetime.datetime.now(datetime.UTC)
    name, _, graphs = stage.partition(":")
    try:
        if name.startswith("bench-"):
            part = name.removeprefix("bench-")
            found = stages.bench(part, [one for one in graphs.split(",") if one])
            sections = [("bench", one, facts) for one, facts in found.items()]
        else:
            sections = [("stages", name, getattr(stages, name.replace("-", "_"))())]
    except Exception:  # let the later stages run
        problem = traceback.format_exc(limit=-3)
        sections = [("stages", stage, {"status": "failed", "problem": problem})]
    return [(group, one, {**when(begun), **facts}) for group, one, facts in sections]


def when(begun: datetime.datetime) -> dict[str, Any]:
    """Return when something began, and how many seconds ago that is."""
    seconds = (datetime.datetime.now(datetime.UTC) - begun).total_seconds()
    return {"when": begun.strftime("%Y-%m-%d %H:%M UTC"), "seconds": seconds}

"""Run stages on a GPU, one after the other, and write what came out into the report."""

from __future__ import annotations

import argparse
import datetime
import json
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import stages
from page import merge, page
from tree import ROOT, files_hash, git_tree

REPORT = ROOT / "ci" / "gpu-report.json"


def main() -> int:
    """Run what was asked for; return 1 if a stage failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stages", nargs="*", metavar="STAGE", default=list(stages.STAGES),
                        help=f"{', '.join(stages.STAGES)}; bench: all its parts; bench-PART:GRAPH,GRAPH")  # fmt: skip
    parser.add_argument("--report", type=Path, default=REPORT, help="the JSON file; .md beside it")
    arguments = parser.parse_args()
    wanted = expand(arguments.stages)
    if (reason := unusable()) is not None:
        print(reason, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: stages.CHILDREN.end())
    where = {"tree": {"files": files_hash(), "git": git_tree()}, "machine": machine()}
    failed = []
    for stage in wanted:
        if stages.CHILDREN.ended:
            failed.append(f"{stage} (not begun)")
            continue
        print(f"\n== {stage}", flush=True)
        for group, name, facts in run(stage):
            name += on_gpus(stage, where["machine"])
            record(arguments.report, group, name, {**where, **facts})
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
            below = [name]
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
    code = "import cugraph_ws.kernels, cugraph_ws.cuda.device as d; d.device()"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode == 0:
        return None
    last = done.stderr.strip().splitlines()[-1:]
    return f"cugraph_ws does not run here: {''.join(last)}\ninstall it (pip install -e .) and set PYTHON"


def machine() -> dict[str, Any]:
    """Describe the machine, from a process of its own: it starts the GPU and imports a lot."""
    script = Path(__file__).parent / "machine.py"
    done = subprocess.run(
        [sys.executable, str(script)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    lines = done.stdout.strip().splitlines()
    facts: dict[str, Any] = json.loads(lines[-1]) if lines and done.returncode == 0 else {}
    return facts


def on_gpus(stage: str, machine: Mapping[str, Any]) -> str:
    """Return what tells a cluster's sections apart from those of machines with more or fewer GPUs."""
    if stage.partition(":")[0] not in stages.CLUSTER:
        return ""
    gpus = machine.get("gpus", "?")
    return f", {gpus} GPU{'s' * (gpus != 1)}"


def run(stage: str) -> list[tuple[str, str, dict[str, Any]]]:
    """Run a stage; return group ("stages" or "bench"), name and facts of what it did."""
    begun, now = time.perf_counter(), datetime.datetime.now(datetime.UTC)
    name, _, graphs = stage.partition(":")
    try:
        if name.startswith("bench-"):
            part = name.removeprefix("bench-")
            found = stages.bench(part, [one for one in graphs.split(",") if one])
            sections = [("bench", one, facts) for one, facts in found.items()]
        else:
            sections = [("stages", name, getattr(stages, name)())]
    except Exception:  # the stages after this one still run
        problem = traceback.format_exc(limit=-3)
        sections = [("stages", stage, {"status": "failed", "problem": problem})]
    when = {"when": now.strftime("%Y-%m-%d %H:%M UTC"), "seconds": time.perf_counter() - begun}
    return [(group, one, {**when, **facts}) for group, one, facts in sections]


def record(path: Path, group: str, name: str, facts: dict[str, Any]) -> None:
    """Put a section into the report on disk; all others stay as they are."""
    before = json.loads(path.read_text()) if path.exists() else {}
    report = merge(before, group, name, facts)
    path.write_text(json.dumps(report, indent=1) + "\n")
    path.with_suffix(".md").write_text(page(report))


if __name__ == "__main__":
    sys.exit(main())

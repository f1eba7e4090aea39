"""Run NetworkX's own tests with its functions dispatched to this backend, and compare failures with a list.

    python tests/networkx_suite.py          the modules of the functions that the backend has
    python tests/networkx_suite.py --all    all of NetworkX's tests, as `ci/by_hand.sh networkx` does

A failure that is not in `FAILURES` is an error, and so is one of them that passes.  Functions that the backend
lacks, or calls that it does not take, run in NetworkX.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NamedTuple

import pytest

__all__ = ["FAILURES", "MODULES", "Outcome", "differences", "run_suite"]

RECORD = "NETWORKX_SUITE_RECORD"
LOUVAIN = "NetworkX shuffles the nodes by the seed, and the test has the communities of that order"
ORDER = "the test takes the largest component to be the first that NetworkX yields"
FAILURES = {
    "community.tests.test_louvain::test_karate_club_partition": LOUVAIN,
    "community.tests.test_louvain::test_undirected_selfloops": LOUVAIN,
    "community.tests.test_louvain::test_none_weight_param": LOUVAIN,
    "community.tests.test_louvain::test_multigraph": LOUVAIN,
    "community.tests.test_louvain::test_max_level": "a level of NetworkX's merges fewer communities",
    "components.tests.test_strongly_connected::TestStronglyConnected::test_condensation_mapping_and_members": ORDER,
}
MODULES = (
    "bipartite.tests.test_project",
    "centrality.tests.test_betweenness_centrality",
    "centrality.tests.test_closeness_centrality",
    "centrality.tests.test_eigenvector_centrality",
    "centrality.tests.test_harmonic_centrality",
    "centrality.tests.test_katz_centrality",
    "coloring",
    "community.tests.test_leiden",
    "community.tests.test_louvain",
    "community.tests.test_quality",
    "components",
    "link_analysis",
    "shortest_paths.tests.test_generic",
    "shortest_paths.tests.test_unweighted",
    "shortest_paths.tests.test_weighted",
    "tests.test_bridges",
    "tests.test_cluster",
    "tests.test_core",
    "tests.test_dag",
    "tests.test_efficiency",
    "tests.test_link_prediction",
    "traversal.tests.test_bfs",
    "tree.tests.test_mst",
)


class Outcome(NamedTuple):
    """What a run of NetworkX's tests gave.

    Attributes
    ----------
    tests : int
        The number of tests.
    reached : int
        The number of tests that called a function of the backend.
    failures : set of str
        Names as in `FAILURES`, of tests that failed.
    """

    tests: int
    reached: int
    failures: set[str]


class Recorder:
    """A plugin of pytest that records which tests fail, and which call the backend."""

    def __init__(self) -> None:
        self.tests, self.reached, self.calls = 0, 0, 0
        self.failures: set[str] = set()

    def watch(self, function: Any) -> Any:
        """Return a function that is counted when it is called."""

        @wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:
            self.calls += 1
            return function(*args, **kwargs)

        return counted

    def pytest_sessionstart(self) -> None:
        from _cugraph_ws_networkx import FUNCTIONS
        from cugraph_ws.networkx.backend import backend

        for name in FUNCTIONS:
            setattr(backend, name, self.watch(getattr(backend, name)))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        before = self.calls
        result = yield
        self.tests += 1
        self.reached += self.calls > before
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, Any, Any]:
        report = yield
        if report.failed:
            module = item.module.__name__  # type: ignore[attr-defined]
            name = "::".join([module, *item.nodeid.split("::")[1:]])
            self.failures.add(name.removeprefix("networkx.").removeprefix("algorithms."))
        return report

    def pytest_sessionfinish(self) -> None:
        facts = [self.tests, self.reached, sorted(self.failures)]
        Path(os.environ[RECORD]).write_text(json.dumps(facts))


def pytest_configure(config: pytest.Config) -> None:
    """Register the recorder, where this file is a plugin of NetworkX's run."""
    if RECORD in os.environ:
        config.pluginmanager.register(Recorder())


def run_suite(modules: Sequence[str] | None) -> Outcome:
    """Run NetworkX's tests in a process of their own.

    Parameters
    ----------
    modules : sequence of str, optional
        Of `networkx.algorithms`; by default all tests.
    """
    chosen = ["networkx"] if modules is None else [f"networkx.algorithms.{m}" for m in modules]
    with tempfile.TemporaryDirectory() as folder:
        record = Path(folder, "record.json")
        environment = {
            **os.environ,
            "NETWORKX_TEST_BACKEND": "cugraph_ws",
            "NETWORKX_FALLBACK_TO_NX": "True",
            "PYTHONPATH": os.pathsep.join([*map(str, PATHS), os.environ.get("PYTHONPATH", "")]),
            RECORD: str(record),
        }
        command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "-p", "networkx_suite"]
        command += ["-p", "no:cacheprovider", "--rootdir", folder, "--pyargs"]
        done = subprocess.run(
            [*command, *chosen], cwd=folder, env=environment, capture_output=True, text=True,
            check=False,
        )  # fmt: skip
        if not record.exists():
            raise RuntimeError(f"NetworkX's tests did not run:\n{done.stdout}{done.stderr}")
        tests, reached, failures = json.loads(record.read_text())
    return Outcome(tests, reached, set(failures))


def differences(outcome: Outcome, modules: Sequence[str] | None) -> list[str]:
    """Return a line for each failure that is not listed, and each listed one of the modules that passed."""
    ran = tuple(modules or [""])
    listed = {name for name in FAILURES if name.startswith(ran)}
    return [
        *(f"{name} failed, and is not listed" for name in sorted(outcome.failures - listed)),
        *(f"{name} passed, but is listed" for name in sorted(listed - outcome.failures)),
    ]


PATHS = (Path(__file__).parent, Path(__file__).parents[1])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the suite; return 1 if failures are not those that are listed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="all of NetworkX's tests")
    modules = None if parser.parse_args(arguments).all else MODULES
    outcome = run_suite(modules)
    print(*(lines := differences(outcome, modules)), sep="\n")
    print(
        f"{outcome.tests} tests of NetworkX, {outcome.reached} of them through the backend, "
        f"{len(outcome.failures)} failed, {len(lines)} of these not as listed"
    )
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())

"""What a worker's plugin keeps of runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from cugraph_ws.dask.worker import RankPlugin
from cugraph_ws.runtime.communicator import RunAbandonedError


@pytest.fixture
def plugin() -> RankPlugin:
    worker: Any = SimpleNamespace(handlers={})
    made = RankPlugin()
    made.setup(worker)
    return made


def test_a_rank_at_work_learns_why_its_run_was_abandoned(plugin: RankPlugin) -> None:
    plugin.begin("run")
    plugin.abandon("run", "another rank failed")
    with pytest.raises(RunAbandonedError, match="another rank failed"):
        plugin.wait_for("run", 0, 1, seconds=60.0)
    plugin.end("run")
    assert not plugin._abandoned


def test_nothing_is_kept_of_a_run_that_is_abandoned_where_it_has_not_begun(
    plugin: RankPlugin,
) -> None:
    """A lost rank's task may be tried on any worker, which the client asks neither to begin nor to end."""
    plugin.abandon("run", "its client has left")
    assert not plugin._abandoned
    plugin.begin("run")
    with pytest.raises(RunAbandonedError, match="the run is over"):
        plugin.wait_for("run", 0, 1, seconds=60.0)

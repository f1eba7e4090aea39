"""Which workers the client holds to be lost, from what the remaining ranks report."""

from __future__ import annotations

from typing import Any

import pytest

from cugraph_ws.dask.client import RankTasks
from cugraph_ws.errors import InputError, WorkerLostError

SHORT, LONG, OTHER = "tcp://10.0.0.1:4567", "tcp://10.0.0.1:45678", "tcp://110.0.0.1:4567"


class Failed:
    """A future of a rank that has raised an error."""

    status = "error"

    def __init__(self, error: Exception) -> None:
        self._error = error

    def exception(self) -> Exception:
        return self._error


def blamed(*errors: Exception) -> list[str]:
    tasks: Any = RankTasks.__new__(RankTasks)
    tasks._addresses = [SHORT, LONG, OTHER]
    tasks.futures = [Failed(error) for error in errors]
    return RankTasks._blamed(tasks)


@pytest.mark.parametrize("address", [SHORT, LONG, OTHER])
@pytest.mark.parametrize("text", ["{} is lost", "rank 2 ({}) does not answer", "worker {}"])
def test_an_address_that_begins_another_is_told_from_it(address, text):
    assert blamed(WorkerLostError(text.format(address))) == [address]


def test_only_reports_of_lost_workers_count_and_all_of_them():
    assert blamed(InputError(f"{SHORT} is lost")) == []
    assert blamed(WorkerLostError("a worker is lost")) == []
    reports = WorkerLostError(f"{LONG} is lost"), WorkerLostError(f"{OTHER} and {LONG} are lost")
    assert blamed(*reports) == [LONG, OTHER]

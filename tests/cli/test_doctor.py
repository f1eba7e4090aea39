"""`cugraph-ws doctor` runs one of everything, and says what is missing and what fails."""

import json

import pytest

from cugraph_ws.cli import doctor
from cugraph_ws.cli import main as cli
from cugraph_ws.runtime import driver


@pytest.fixture(autouse=True)
def without_a_cluster(monkeypatch):
    """Leave out what takes seconds, and what this machine may have."""
    find_spec = doctor.find_spec
    missing = ("dask", "cudf")
    monkeypatch.setattr(
        doctor, "find_spec", lambda name: None if name in missing else find_spec(name)
    )
    monkeypatch.setattr(driver, "installed_gpus", list)


def test_every_check_has_an_outcome_and_a_time(capsys):
    assert cli._exit_code(["doctor", "--json"]) == 0
    groups = json.loads(capsys.readouterr().out)
    outcomes = {row["check"]: row["outcome"] for row in groups["Checks"]}
    assert outcomes == {
        "cache of compiled code": "ok",
        "frames of pandas": "ok",
        "frames of polars": "ok",
        "frames of pyarrow": "ok",
        "frames of cudf": "not installed",
        "vertex program": "ok",
        "loop of its own": "ok",
        "GPU": "not installed",
        "Dask cluster": "not installed",
    }
    assert all(row["seconds"] >= 0 for row in groups["Checks"])
    assert "numba" in groups["Versions"]


def test_a_failed_check_is_the_exit_code(capsys, monkeypatch):
    def fails():
        raise OSError("the driver does\nnot answer")

    monkeypatch.setattr(doctor, "_gpu", fails)
    assert cli._exit_code(["doctor"]) == 1
    rows = [line.split() for line in capsys.readouterr().out.splitlines()]
    row = next(row for row in rows if row[:1] == ["GPU"])
    assert row[1] == "failed"
    assert row[4:] == ["OSError:", "the", "driver", "does", "not", "answer"]


def test_a_wrong_answer_is_a_failure(monkeypatch):
    from cugraph_ws.algorithms import components

    def one_component_each(graph):
        return {"labels": graph["source"]}

    monkeypatch.setattr(components, "weakly_connected_components", one_component_each)
    name, outcome, _, detail = doctor._tried("loop", doctor._loop)
    assert (name, outcome) == ("loop", "failed")
    assert "not one" in detail

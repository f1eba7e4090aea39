"""The errors: what they are caught as, and what they carry."""

from __future__ import annotations

import pickle

import pytest

import cugraph_ws as ws

KINDS = {
    ws.InputError: ValueError,
    ws.ProgramError: TypeError,
    ws.FileError: OSError,
    ws.GraphMemoryError: MemoryError,
    ws.ConvergenceError: RuntimeError,
}


@pytest.mark.parametrize("kind", KINDS)
def test_they_are_ours_and_pythons(kind):
    error = kind("a message")
    assert isinstance(error, ws.CugraphWsError)
    assert isinstance(error, KINDS[kind])
    assert str(error) == "a message"


def test_an_interrupt_is_no_ordinary_error():
    assert issubclass(ws.Interrupted, KeyboardInterrupt)
    assert not issubclass(ws.Interrupted, Exception), "`except Exception` does not swallow Ctrl-C"


@pytest.mark.parametrize("kind", [ws.ConvergenceError, ws.Interrupted])
def test_some_carry_a_result(kind):
    result = object()
    assert kind("a message", result).result is result
    assert kind("a message").result is None
    assert str(kind("a message", result)) == "a message"


@pytest.mark.parametrize("kind", [*KINDS, ws.Interrupted])
def test_they_cross_processes(kind):
    copy = pickle.loads(pickle.dumps(kind("a message")))
    assert type(copy) is kind
    assert str(copy) == "a message"

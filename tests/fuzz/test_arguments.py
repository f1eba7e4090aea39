"""Absurd arguments: a short, seeded run of `tests/fuzz/arguments.py`, and what it finds if planted."""

from __future__ import annotations

import os
import sys
import time
from inspect import isfunction
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))  # behind: `programs` is that of all tests

import arguments
from arguments import Target, command_targets, forked, function_targets, try_call, working_files

import cugraph_ws as ws

CALLS = 60  # by hand, `python tests/fuzz/arguments.py` makes more


@pytest.fixture(scope="module")
def targets():
    return [*function_targets(), *command_targets()]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    working_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_absurd_arguments_get_results_or_our_own_errors(targets, folder):
    findings = [try_call(targets, seed) for seed in range(CALLS)]
    assert [str(one) for one in findings if one is not None] == []


def test_valid_calls_succeed(targets, folder):
    for target in targets:
        if target.name not in arguments.DECLARATIONS:
            answer = target.call(**target.works)
            assert not isinstance(answer, BaseException), (target.name, answer)


def test_commands_and_functions_are_all_there(targets):
    names = {target.name for target in targets}
    assert {*arguments.commands.commands} - {"generate", "warm-up"} <= names
    public = {name for name in ws.__all__ if isfunction(getattr(ws, name)) and name.islower()}
    elsewhere = {"run", "any_message", "cluster_scan", "local_cluster"}
    elsewhere |= {"phases"}  # takes any number of programs
    elsewhere |= {"plot"}  # writes a file of any name
    elsewhere |= {"run_groups"}  # there for two functions
    assert {f"run_groups of {name}" for name in ("pagerank", "label_propagation")} <= names
    assert public - elsewhere <= names


def raises(error):
    raise error


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda x=0: raises(KeyError("x")), "KeyError"),
        (lambda x=0: raises(RuntimeWarning("x")), "RuntimeWarning"),
        (lambda x=0: time.sleep(30), "no answer in 0.05 s"),
        (lambda x=0: raises(ws.InputError("x")), None),
        (lambda x=0: x, None),
    ],
)
def test_a_planted_mistake_is_found(call, said, monkeypatch):
    monkeypatch.setattr(arguments, "LIMIT", 0.05)
    finding = try_call([Target("planted", call, {}, ("x",))], 1)
    assert (finding is None) == (said is None)
    assert said is None or said in str(finding)


def test_a_process_that_dies_or_hangs_is_found(folder, monkeypatch):
    def call(x=0):
        if x is None:
            os._exit(3)
        raise TypeError("raw")

    monkeypatch.setattr(arguments, "absurd_values", lambda: [None, 1])
    found = forked([Target("planted", call, {}, ("x",))], range(8), 2, folder)
    said = {one.seed: one.said for one in found}
    assert sorted(said) == list(range(8))
    assert {one.split(":")[0].split(" status")[0] for one in said.values()} == {
        "TypeError",
        "ended with",
    }


def test_a_process_that_hangs_is_ended(folder, monkeypatch):
    def call(x=0):
        arguments.signal.setitimer(
            arguments.signal.ITIMER_REAL, 0
        )  # as if it were in compiled code
        time.sleep(60)

    monkeypatch.setattr(arguments, "LIMIT", 0.2)
    (found,) = forked([Target("planted", call, {}, ("x",))], range(1), 1, folder)
    assert found.said == "no answer in 0.4 s"


def test_the_command_line_of_the_fuzzer(monkeypatch, capsys):
    monkeypatch.setattr(arguments, "command_targets", list)
    planted = [Target("planted", lambda x=0: raises(TypeError("raw")), {}, ("x",))]
    monkeypatch.setattr(arguments, "function_targets", lambda: planted)
    monkeypatch.setattr(sys, "argv", ["arguments.py", "--count", "3", "--seed", "5"])
    assert arguments.main() == 1
    assert "3 times, --only 5: planted" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", ["arguments.py", "--only", "5"])
    assert arguments.main() == 0
    assert "TypeError" in capsys.readouterr().out

"""A short run of the fuzzers of damage; `damage.py` says how to run a long one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import COMPILED

SCRIPT = Path(__file__).with_name("damage.py")


@pytest.mark.skipif(not COMPILED, reason="it looks for what machine code does")
@pytest.mark.parametrize(
    ("kinds", "count"),
    [(["checkpoints", "forged", "inputs"], 20), (["cache"], 3), (["loops"], 8)],
    ids=["files", "cache", "loops"],
)
def test_damage_is_refused_or_harmless(kinds, count):
    """No signal, no hang, no error but the library's own, and no wrong answer."""
    done = subprocess.run(
        [sys.executable, SCRIPT, *kinds, "--count", str(count), "--seed", "7"],
        env=dict(os.environ),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.partition(",")[0] for line in lines] == kinds
    for line in lines:
        told = re.findall(r"([a-z ]+) (\d+)", line.partition(": cases ")[2])
        counted = {name.strip(): int(number) for name, number in told}
        assert sum(counted.values()) == count
        assert not any(counted[name] for name in ("wrong", "raw error", "signal", "hang"))
        assert counted["same" if kinds[0] in ("cache", "loops") else "refused"] > count // 2


def test_bad_cases_are_counted():
    """What would be wrong is seen: a signal, a hang, an error, each in a process of its own."""
    script = f"""
import os, signal, sys, time
sys.path.insert(0, {str(SCRIPT.parent)!r})
import damage

def case(prepared, rng, scratch):
    number = int(scratch.name.split("-")[1])
    if number == 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    if number == 1:
        signal.pause()
    if number == 2:
        raise KeyError("raw")
    if number == 3:
        os._exit(3)
    return ("wrong" if number == 4 else "refused"), ""

damage.KINDS["planted"] = (lambda folder: None, case)
counts = damage.run("planted", count=6, seed=0, jobs=1, limit=0.5)
print(sorted(counts.items()))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    counts = [("hang", 1), ("raw error", 2), ("refused", 1), ("signal", 1), ("wrong", 1)]
    assert done.stdout.splitlines()[-1] == str(counts)
    assert "SIGSEGV" in done.stdout
    assert "KeyError: 'raw'" in done.stdout

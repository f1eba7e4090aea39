"""One process at a time makes an entry of the cache, and no lock outlives its process."""

import fcntl
import os
import signal
import subprocess
import sys
import threading
from errno import ENOLCK

import pytest

from cugraph_ws.runtime import device_compiler
from cugraph_ws.runtime.device_compiler import Binary, load_or_compile
from cugraph_ws.runtime.single_flight import single_flight

BINARY = Binary(name="add", registers=8, spilled=0, stack=0, shared=0, code=b"\x7fELF")

HOLD = """
import sys, time
from pathlib import Path
from cugraph_ws.runtime.single_flight import single_flight
with single_flight(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def is_locked(path):
    """Tell whether anyone holds the lock of an entry."""
    try:
        descriptor = os.open(f"{path}.lock", os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


@pytest.fixture
def holder(tmp_path):
    """An entry's path, and a process that holds its lock."""
    path = tmp_path / "code" / "one"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield path, process
        process.kill()


def test_the_lock_is_held_in_the_block_and_leaves_no_file(tmp_path):
    path = tmp_path / "code" / "one"
    with single_flight(path):
        assert is_locked(path)
    assert list(path.parent.iterdir()) == []


def test_an_error_in_the_block_ends_the_lock(tmp_path):
    with pytest.raises(KeyError), single_flight(tmp_path / "code" / "one"):
        raise KeyError
    assert list((tmp_path / "code").iterdir()) == []


def test_a_killed_process_leaves_nothing_locked(holder):
    path, process = holder
    assert is_locked(path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not is_locked(path)
    with single_flight(path):
        assert is_locked(path)
    assert not list(path.parent.iterdir())


def test_who_has_waited_long_enough_goes_on_and_leaves_the_lock_alone(holder):
    path, _ = holder
    entered = False
    with single_flight(path, patience=0.02):
        entered = True
    assert entered
    assert is_locked(path)


def test_a_folder_that_others_can_write_to_gets_no_lock(tmp_path):
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with single_flight(folder / "one"):
        assert list(folder.iterdir()) == []


def test_a_file_system_without_locks_is_no_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(ENOLCK, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    entered = False
    with single_flight(tmp_path / "one"):
        entered = True
    assert entered


def test_a_kernel_that_is_being_compiled_is_waited_for(tmp_path, monkeypatch):
    monkeypatch.setenv("CUGRAPH_WS_CACHE_DIR", str(tmp_path / "cache"))
    compiled, begun, rest = [], threading.Event(), threading.Event()

    def compile_slowly(*_):
        compiled.append(threading.get_ident())
        begun.set()
        assert rest.wait(30)
        return BINARY

    monkeypatch.setattr(device_compiler, "compile_kernel", compile_slowly)
    found = []

    def load():
        found.append(load_or_compile("text", "add", ("int64",), (9, 0), lambda: "function"))

    threads = [threading.Thread(target=load) for _ in range(4)]
    threads[0].start()
    assert begun.wait(30)
    for thread in threads[1:]:
        thread.start()
    for thread in threads[1:]:
        thread.join(0.05)
        assert thread.is_alive()
    rest.set()
    for thread in threads:
        thread.join(30)
    assert found == [BINARY] * 4
    assert len(compiled) == 1

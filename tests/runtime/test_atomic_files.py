"""Files that appear whole or not at all: names, permissions, links, and what killed runs leave."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import cugraph_ws as ws
from cugraph_ws.execution.checkpoint import check_checkpoint, write_checkpoint
from cugraph_ws.frames.writers import check_writable, write_frame
from cugraph_ws.runtime import atomic_files
from cugraph_ws.runtime.atomic_files import (
    ABANDONED,
    TEMPORARY,
    is_private,
    new_beside,
    private_folder,
    read_private,
    replacing,
    sweep,
    temporary_folder,
    write_private,
)

TABLE = pa.table({"vertex": [1, 2], "label": [0.5, 1.5]})
FACTS = {"identity": {}, "iterations": 1, "residual": None}
OTHER = 12345  # another user's id


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def put_checkpoint(path: Path) -> None:
    write_checkpoint(path, {"x": np.arange(3)}, FACTS)


def put_frame(path: Path) -> None:
    write_frame(TABLE, path)


WRITES = pytest.mark.parametrize(
    ("put", "name"),
    [
        (put_checkpoint, "state.parquet"),
        (put_frame, "result.parquet"),
        (put_frame, "result.csv"),
        (put_frame, "result.tsv.gz"),
    ],
    ids=["checkpoint", "parquet", "csv", "tsv.gz"],
)


@pytest.fixture
def umask():
    """Set the usual umask, and a strict one on request."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


@WRITES
def test_permissions_of_what_is_replaced_are_kept(put, name, tmp_path, umask):
    path = tmp_path / name
    for mode in (0o600, 0o640, 0o664):
        path.touch()
        path.chmod(mode)
        put(path)
        assert mode_of(path) == mode
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


@WRITES
def test_a_new_file_is_as_the_umask_has_it(put, name, tmp_path, umask):
    put(tmp_path / name)
    assert mode_of(tmp_path / name) == 0o644
    umask(0o077)
    put(tmp_path / f"private {name}")
    assert mode_of(tmp_path / f"private {name}") == 0o600


@WRITES
def test_files_and_folders_are_synced(put, name, tmp_path, monkeypatch):
    """The file before it gets its name, and the folder after that."""
    events = []
    fsync, rename = os.fsync, os.replace

    def watched(descriptor):
        events.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def renamed(source, target):
        events.append("rename")
        rename(source, target)

    monkeypatch.setattr(os, "fsync", watched)
    monkeypatch.setattr(os, "replace", renamed)
    put(tmp_path / name)
    assert events == ["file", "rename", "folder"]


@WRITES
def test_names_cannot_be_foreseen(put, name, tmp_path, monkeypatch):
    """Links planted by someone who knows the name and the process beforehand do no harm."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / f".{name}.{os.getpid()}.part").symlink_to(victim)
    seen = []
    rename = os.replace
    monkeypatch.setattr(
        os, "replace", lambda *ends: seen.append(Path(ends[0]).name) or rename(*ends)
    )
    put(tmp_path / name)
    put(tmp_path / name)
    assert victim.read_text() == "precious"
    assert len({*seen}) == 2
    assert all(TEMPORARY.fullmatch(one) for one in seen)


def test_a_link_in_the_way_is_not_followed(tmp_path, monkeypatch):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    planted = tmp_path / f".cugraph_ws-{'0' * 32}.part"
    planted.symlink_to(victim)
    monkeypatch.setattr(atomic_files, "new_beside", lambda path: planted)
    with pytest.raises(FileExistsError), replacing(tmp_path / "new") as file:
        file.write(b"mine")
    assert victim.read_text() == "precious"


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"before")

    def fail():
        with replacing(path) as file:
            file.write(b"after")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_bytes() == b"before"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_link_is_replaced_by_the_file(tmp_path):
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    with replacing(tmp_path / "link") as file:
        file.write(b"new")
    assert not (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "kept"


def test_owner_and_group_go_over_where_they_may(tmp_path, monkeypatch):
    """A group's permissions do not go to another group."""
    path = tmp_path / "file"
    path.touch()
    path.chmod(0o664)
    now = os.lstat(path)
    asked = []

    class Before:
        st_mode, st_uid, st_gid = now.st_mode, now.st_uid + 1, now.st_gid + 1

    def refuse(descriptor, user, group):
        asked.append((user, group))
        raise PermissionError(1, "not permitted")

    monkeypatch.setattr(os, "fchown", refuse)
    monkeypatch.setattr(atomic_files, "_replaced", lambda path: Before)
    with replacing(path) as file:
        file.write(b"new")
    assert asked == [(now.st_uid + 1, -1), (-1, now.st_gid + 1)]
    assert mode_of(path) == 0o604


class TestSweep:
    """What killed runs leave goes; what others write stays."""

    @pytest.fixture
    def left(self, tmp_path):
        """Return a function that leaves a temporary file of an age."""

        def leave(age: float = 2 * ABANDONED) -> Path:
            path = new_beside(tmp_path / "x")
            path.write_bytes(b"half")
            os.utime(path, (time.time() - age, time.time() - age))
            return path

        return leave

    def test_old_ones_go(self, left, tmp_path):
        old, new = left(), left(age=0)
        others = [tmp_path / ".half.part", tmp_path / ".cugraph_ws-12.part", tmp_path / "x"]
        for path in others:
            path.touch()
            os.utime(path, (0, 0))
        assert sweep(tmp_path) == 1
        assert not old.exists()
        assert new.exists()
        assert all(path.exists() for path in others)

    def test_one_that_is_written_stays(self, left, tmp_path):
        path = left()
        with open(path, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            assert sweep(tmp_path) == 0
        assert sweep(tmp_path) == 1

    def test_files_of_a_running_process_stay(self, tmp_path, monkeypatch):
        """However long it takes."""
        monkeypatch.setattr(atomic_files, "ABANDONED", -1)
        with replacing(tmp_path / "file") as file:
            file.write(b"a part")
            assert sweep(tmp_path) == 0
            file.write(b" and another")
        assert (tmp_path / "file").read_bytes() == b"a part and another"

    def test_links_and_folders_stay(self, tmp_path):
        (tmp_path / "precious").write_text("kept")
        link, folder = new_beside(tmp_path / "x"), new_beside(tmp_path / "x")
        link.symlink_to(tmp_path / "precious")
        folder.mkdir()
        for path in (tmp_path / "precious", folder):
            os.utime(path, (0, 0))
        assert sweep(tmp_path) == 0
        assert sweep(tmp_path / "missing") == 0
        assert (tmp_path / "precious").exists()
        assert link.is_symlink()
        assert folder.is_dir()

    def test_files_of_another_user_stay(self, left, tmp_path, monkeypatch):
        left()
        monkeypatch.setattr(os, "geteuid", lambda: OTHER)
        assert sweep(tmp_path) == 0

    @pytest.mark.parametrize(
        "look", [check_checkpoint, check_writable], ids=lambda one: one.__name__
    )
    def test_before_a_run_writes(self, left, look, tmp_path):
        old = left()
        look(tmp_path / "state.parquet")
        assert not old.exists()

    def test_after_a_kill(self, tmp_path):
        """Killed in the middle: nothing but a file that the next run sweeps."""
        script = (
            "import os, signal, sys\n"
            "from pathlib import Path\n"
            "from cugraph_ws.runtime.atomic_files import replacing\n"
            "with replacing(Path(sys.argv[1])) as file:\n"
            "    file.write(b'half')\n"
            "    file.flush()\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        killed = subprocess.run([sys.executable, "-c", script, tmp_path / "file"], check=False)
        assert killed.returncode == -signal.SIGKILL
        (half,) = tmp_path.iterdir()
        assert sweep(tmp_path) == 0, "too new: another machine may be writing it"
        os.utime(half, (0, 0))
        assert sweep(tmp_path) == 1
        assert list(tmp_path.iterdir()) == []


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    with replacing(tmp_path / "file") as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_temporary_file_that_is_swept_at_once_is_made_again(tmp_path, monkeypatch):
    flock, calls = fcntl.flock, []

    def swept(descriptor, operation):
        flock(descriptor, operation)
        if not calls:
            (path,) = tmp_path.iterdir()
            path.unlink()
        calls.append(operation)

    monkeypatch.setattr(fcntl, "flock", swept)
    with replacing(tmp_path / "file") as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert len(calls) == 2

    def always(descriptor, operation):
        (path,) = [one for one in tmp_path.iterdir() if one.name != "file"]
        path.unlink()

    monkeypatch.setattr(fcntl, "flock", always)
    with pytest.raises(OSError, match="as soon as they are made"), replacing(tmp_path / "file"):
        raise AssertionError("opened")


def test_a_file_system_without_permissions(tmp_path, monkeypatch):
    def refuse(descriptor, mode):
        raise PermissionError(1, "Operation not permitted")

    (tmp_path / "file").touch(mode=0o640)
    monkeypatch.setattr(os, "fchmod", refuse)
    with replacing(tmp_path / "file") as file:
        file.write(b"whole")
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_folder_that_cannot_be_synced(tmp_path, monkeypatch):
    fsync = os.fsync

    def refuse(descriptor):
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(22, "Invalid argument")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    put_frame(tmp_path / "file.csv")
    assert (tmp_path / "file.csv").exists()


class TestPrivate:
    """Folders and files that no other user can write to."""

    def test_a_new_folder(self, tmp_path, umask):
        umask(0)
        assert private_folder(tmp_path / "above" / "folder")
        assert mode_of(tmp_path / "above" / "folder") == 0o700
        assert is_private(tmp_path / "above" / "folder")

    @pytest.mark.parametrize("mode", [0o777, 0o770, 0o722])
    def test_one_that_others_can_write_to(self, mode, tmp_path):
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder").chmod(mode)
        assert not private_folder(tmp_path / "folder")

    def test_one_that_others_can_read(self, tmp_path):
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder").chmod(0o755)
        assert private_folder(tmp_path / "folder")

    def test_a_link_and_a_file(self, tmp_path):
        (tmp_path / "folder").mkdir(mode=0o700)
        (tmp_path / "link").symlink_to(tmp_path / "folder")
        (tmp_path / "file").touch()
        assert not private_folder(tmp_path / "link")
        with pytest.raises(NotADirectoryError, match="is a file"):
            private_folder(tmp_path / "file")
        assert not is_private(tmp_path / "missing")

    def test_a_folder_of_another_user(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "geteuid", lambda: OTHER)
        assert not private_folder(tmp_path)

    def test_one_that_is_read_only(self, tmp_path, monkeypatch):
        monkeypatch.setattr(os, "access", lambda *_: False)
        with pytest.raises(PermissionError, match="is not writable"):
            private_folder(tmp_path / "folder")

    def test_files(self, tmp_path, monkeypatch):
        path = tmp_path / "file"
        assert write_private(path, b"content")
        assert mode_of(path) == 0o600
        assert read_private(path) == b"content"
        (tmp_path / "link").symlink_to(path)
        with pytest.raises(OSError, match="symbolic link"):
            read_private(tmp_path / "link")
        path.chmod(0o622)
        with pytest.raises(PermissionError, match="only this user"):
            read_private(path)
        os.mkfifo(tmp_path / "pipe", 0o600)
        with pytest.raises(PermissionError, match="regular"):
            read_private(tmp_path / "pipe")
        path.chmod(0o600)
        monkeypatch.setattr(os, "geteuid", lambda: OTHER)
        with pytest.raises(PermissionError, match="only this user"):
            read_private(path)
        assert not write_private(tmp_path / "missing" / "file", b"")

    def test_the_temporary_folder(self):
        folder = temporary_folder()
        assert mode_of(folder) == 0o700
        assert temporary_folder() == folder
        atomic_files._remove(str(folder), os.getpid() + 1)
        assert folder.is_dir(), "another process' folder stays"
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                "from cugraph_ws.runtime.atomic_files import temporary_folder as f; print(f())",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        assert not Path(done.stdout.strip()).exists(), "it goes with its process"


def test_a_checkpoint_beside_a_link_of_the_old_name(tmp_path):
    """The whole way: a run writes beside a planted link, and the victim stays."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    path = tmp_path / "state.parquet"
    (tmp_path / f".{path.name}.{os.getpid()}.part").symlink_to(victim)
    edges = pa.table({"source": [0, 1], "destination": [1, 2]})
    ws.run(ws.BFS, edges, start=0, engine="python", checkpoint=path)
    assert victim.read_text() == "precious"
    assert path.exists()

"""Segments of shared memory: what is opened, what is refused, what crashed processes leave."""

from __future__ import annotations

import os

import pytest

from cugraph_ws.accelerators.hub import segment as host_segment
from cugraph_ws.accelerators.hub.segment import ABANDONED, PREFIX, Segment, free_bytes, sweep


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(host_segment, "FOLDER", tmp_path)
    return tmp_path


def test_two_maps_of_one_segment(folder):
    own = Segment.new(8192)
    other = Segment(own.name, 8192)
    own.forget()
    own.forget()
    assert not list(folder.iterdir())
    own.bytes[5000] = 7
    assert other.bytes[5000] == 7
    assert own.bytes.sum() == 7, "zeros at first"
    assert free_bytes() > 0


@pytest.mark.parametrize("name", ["", "../etc/passwd", PREFIX, f"{PREFIX}../x", "other"])
def test_names_that_are_none(name):
    with pytest.raises(OSError, match="is not the name of a segment"):
        Segment(name, 4096)


def test_what_is_not_a_segment(folder):
    own = Segment.new(4096)
    with pytest.raises(OSError, match="is not a segment of 8192 bytes"):
        Segment(own.name, 8192)
    with pytest.raises(FileNotFoundError):
        Segment(f"{PREFIX}abc", 4096)
    (folder / f"{PREFIX}link").symlink_to(folder / own.name)
    with pytest.raises(OSError, match="link"):
        Segment(f"{PREFIX}link", 4096)


def test_without_room_nothing_is_left(folder, monkeypatch):
    def full(opened, begin, size):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    with pytest.raises(OSError, match="No space"):
        Segment.new(4096)
    assert not list(folder.iterdir())
    monkeypatch.setattr(host_segment, "FOLDER", folder / "none")
    assert free_bytes() == 0


def test_what_crashed_processes_left_is_swept(folder):
    old, young, another = Segment.new(4096), Segment.new(4096), folder / "another"
    another.touch()
    for name in (old.name, "another"):
        os.utime(folder / name, (0, os.stat(folder / name).st_mtime - ABANDONED - 1))
    sweep()
    assert {one.name for one in folder.iterdir()} == {young.name, "another"}

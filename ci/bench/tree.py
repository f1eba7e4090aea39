"""Identify the code of a measurement: a hash over its files, and the commit that has them.

`python -m bench tree` prints the hash, with or without git, so that a record can be matched to a checkout.
"""

from __future__ import annotations

import hashlib
import subprocess
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePosixPath

from bench.places import ROOT

__all__ = ["commits_of", "files_hash", "main"]

PARTS = ("ci", "cugraph_ws", "examples", "kernels", "tests", "pyproject.toml")
LINK = "120000"  # git's mode of a symbolic link


def files_hash(root: Path = ROOT) -> str:
    """Return a hash over the names and contents of all files.

    Parameters
    ----------
    root : Path
        The checkout.

    Returns
    -------
    str
        16 hexadecimal digits.  Links, caches, hidden files and Markdown do not count.
    """
    found: list[Path] = []
    for part in PARTS:
        top = root / part
        found += [top] if top.is_file() else top.rglob("*")
    names = [path.relative_to(root) for path in found if path.is_file() and not _linked(path, root)]
    return _hash((name.as_posix() for name in names), lambda name: (root / name).read_bytes())


def _linked(path: Path, root: Path) -> bool:
    folders = [root / parent for parent in path.relative_to(root).parents][:-1]
    return any(one.is_symlink() for one in (path, *folders))


def _hash(names: Iterable[str], content_of: Callable[[str], bytes]) -> str:
    digest = hashlib.sha256()
    for path in sorted(PurePosixPath(name) for name in names):
        if path.suffix in (".pyc", ".md") or any(
            part.startswith(".") or part == "__pycache__" for part in path.parts
        ):
            continue
        content = content_of(str(path))
        digest.update(f"{path}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def commits_of(hashes: set[str], root: Path = ROOT) -> dict[str, str]:
    """Return for each hash the first commit in this history whose files have it.

    Parameters
    ----------
    hashes : set of str
        As `files_hash` returns them.
    root : Path
        The checkout.

    Returns
    -------
    dict of str to str
        Without hashes that no commit has; empty without git.
    """
    commits = _git(root, "log", "--reverse", "--format=%H").split() if hashes else []
    blobs: dict[str, bytes] = {}
    found: dict[str, str] = {}
    for commit in reversed(commits):
        lines = _git(root, "ls-tree", "-r", "-z", commit, "--", *PARTS).split("\0")[:-1]
        entries = [line.split("\t", 1) for line in lines]
        blob_of = {name: one.split()[2] for one, name in entries if not one.startswith(LINK)}
        missing = set(blob_of.values()) - set(blobs)
        blobs |= _contents(root, sorted(missing))
        content_of = {name: blobs[blob] for name, blob in blob_of.items()}.__getitem__
        if (here := _hash(blob_of, content_of)) in hashes:
            found[here] = commit  # replaced by an earlier commit if one has the same hash
    return found


def _contents(root: Path, blobs: Sequence[str]) -> dict[str, bytes]:
    """Return the contents of git's objects."""
    done = subprocess.run(
        ["git", "cat-file", "--batch"], cwd=root, check=True, capture_output=True,
        input="".join(f"{one}\n" for one in blobs).encode(),
    ).stdout  # fmt: skip
    found, place = {}, 0
    for blob in blobs:
        head = done.index(b"\n", place)
        size = int(done[place:head].split()[2])
        found[blob] = done[head + 1 : head + 1 + size]
        place = head + size + 2
    return found


def _git(root: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip("\n")


def main(arguments: Sequence[str] = ()) -> int:
    """Print the hash of this checkout."""
    print(files_hash())
    return 0

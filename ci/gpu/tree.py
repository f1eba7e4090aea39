"""Which code a figure belongs to: a hash over the files that matter.

`python ci/gpu/tree.py` prints it, with or without git, so that a report can be matched to a checkout.
"""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

__all__ = ["ROOT", "files_hash", "git_tree"]

ROOT = Path(__file__).parents[2]
PARTS = ("ci", "cugraph_ws", "examples", "kernels", "tests", "pyproject.toml")
REPORT = "ci/gpu-report.json"
PICTURES = "ci/bench/pictures"  # drawn of it


def files_hash(root: Path = ROOT) -> str:
    """Return a hash over the names and contents of all files, the report and its pictures left out.

    Parameters
    ----------
    root : Path
        The checkout.

    Returns
    -------
    str
        16 hexadecimal digits.  Links, caches, hidden files and Markdown do not count.
    """
    digest = hashlib.sha256()
    for path in _files(root):
        content = path.read_bytes()
        name = path.relative_to(root).as_posix()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def git_tree(root: Path = ROOT) -> str | None:
    """Return git's hash of the checked-out tree, or None: no git, or files have been changed.

    Parameters
    ----------
    root : Path
        The checkout.

    Returns
    -------
    str or None
    """
    if not (root / ".git").exists() or _git(root, "status", "--porcelain") != "":
        return None
    return _git(root, "rev-parse", "HEAD^{tree}")


def _files(root: Path) -> list[Path]:
    found = []
    for part in PARTS:
        top = root / part
        found += [top] if top.is_file() else top.rglob("*")
    return sorted(path for path in found if _counts(path, root))


def _counts(path: Path, root: Path) -> bool:
    name = path.relative_to(root)
    folders = [root / parent for parent in name.parents][:-1]
    return (
        path.is_file()
        and not any(one.is_symlink() for one in (path, *folders))
        and not any(part.startswith(".") or part == "__pycache__" for part in name.parts)
        and path.suffix not in (".pyc", ".md")
        and name.as_posix() != REPORT
        and name.parent.as_posix() != PICTURES
    )


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=root, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


if __name__ == "__main__":
    print(files_hash())

"""Which tests a module has: `python ci/module_tests.py cugraph_ws/graph/arcs.py` prints their files.

By its path: those of `cugraph_ws/PACKAGE/NAME.py` are `tests/PACKAGE/test_NAME.py` and `test_NAME_….py` beside it,
or `test_PACKAGE_NAME.py` where another package has a module and its tests of that name.
The folders of a module that is deeper in its package come before its name: the tests of
`backends/cuda/rows.py` are in `tests/backends/test_cuda_rows.py`.  `loops` does not count, and kernels
are tested with what launches them: `kernels/cuda/core.py` and `backends/cuda/loops/core.py` in
`tests/backends/test_cuda_core.py`.  What is tested there for all backends goes by its name alone, in
`tests/backends`, `tests/algorithms` or `tests/program`.  An accelerator has a folder of tests.

A module without such tests has those that run through most of its lines, by `tests_of_modules.txt`, which
`ci/coverage.sh` writes.  What coverage has not seen run has those that import it, or those of its users.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

__all__ = ["MOST", "RECORD", "ROOT", "module_tests", "path_tests"]

ROOT = Path(__file__).parents[1]
RECORD = ROOT / "ci" / "tests_of_modules.txt"
MOST = 3  # files of tests of a module that has none by its path


def path_tests(path: Path, root: Path | None = None) -> list[Path]:
    """Return the files that test a module, by its path.

    Parameters
    ----------
    path : Path
        Of the module, from the repository's root.
    root : Path, optional
        The checkout; by default this one.

    Returns
    -------
    list of Path
        From the root; empty if there are none.
    """
    root = root or ROOT
    folders, name = [part for part in path.parts[:-1] if part != "loops"], path.stem
    if folders[0] == "kernels" and "accelerators" not in folders:
        folders.insert(1, "backends")
    folders = folders[1:]
    if folders[:1] == ["accelerators"]:
        return [
            test.relative_to(root)
            for test in sorted((root / "tests").joinpath(*folders[:2]).glob("test_*.py"))
        ]
    places = [("".join(folders[:1]), "_".join([*folders[1:], name]))]
    if folders[:1] == ["backends"]:
        places += [(package, name) for package in ("backends", "algorithms", "program")]
    for package, stem in places:
        folder = root / "tests" / package
        tests = [
            *folder.glob(f"test_{stem}.py"), *sorted(folder.glob(f"test_{stem}_*.py")),
            *folder.glob(f"test_{package}_{stem}.py"),
        ]  # fmt: skip
        if tests:
            return [test.relative_to(root) for test in tests]
    return []


def module_tests(path: Path, root: Path | None = None) -> list[Path]:
    """Return the files that test a module: by its path, by its lines, by what uses it, or by what tests its users.

    Parameters
    ----------
    path, root : Path
        See `path_tests`.

    Returns
    -------
    list of Path
        From the root; empty if there are none.
    """
    root = root or ROOT
    if known := _known(path, root):
        return known
    if importers := _users(path, root, "tests"):
        return importers
    users = [user for top in ("cugraph_ws", "kernels") for user in _users(path, root, top)]
    return list(dict.fromkeys(test for user in users for test in _known(user, root)))[:MOST]


def _known(path: Path, root: Path) -> list[Path]:
    """Return the tests of a module by its path, else by its lines."""
    return path_tests(path, root) or [
        test for test in _by_lines(root).get(str(path), []) if (root / test).exists()
    ]


def _users(path: Path, root: Path, top: str) -> list[Path]:
    """Return the files below a folder that import a module, or name it as what is loaded by name."""
    name = ".".join(path.with_suffix("").parts).removeprefix("cugraph_ws.")
    loaded = path.parts[0] == "kernels" and top != "tests"
    texts = [f"cugraph_ws.{name} import", *([f'"{path.stem}"'] if loaded else [])]
    return [
        file.relative_to(root)
        for file in sorted((root / top).rglob("test_*.py" if top == "tests" else "*.py"))
        if any(text in file.read_text("utf-8") for text in texts)
    ]


@cache
def _by_lines(root: Path) -> dict[str, list[Path]]:
    """Return the tests of modules by the lines that they run through."""
    record = root / RECORD.relative_to(ROOT)
    rows = record.read_text("utf-8").splitlines() if record.exists() else []
    words = [row.split() for row in rows if not row.startswith("#")]
    return {module: [Path(test) for test in tests] for module, *tests in words}


if __name__ == "__main__":
    print(*(test for name in sys.argv[1:] for test in module_tests(Path(name))), sep="\n")

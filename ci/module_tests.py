"""Which tests a module has: `python ci/module_tests.py cugraph_ws/graph/arcs.py` prints their files.

By its path: those of `cugraph_ws/PACKAGE/NAME.py` are `tests/PACKAGE/test_NAME.py` and `test_NAME_….py` beside it,
or `test_PACKAGE_NAME.py` where another package has a module and its tests of that name.
The folders of a module that is deeper in its package come before its name: the tests of
`backends/cuda/rows.py` are in `tests/backends/test_cuda_rows.py`.  `loops` does not count, and kernels
are tested with what launches them: `kernels/cuda/core.py` and `backends/cuda/loops/core.py` in
`tests/backends/test_cuda_core.py`.  What is tested there for all backends goes by its name alone, in
`tests/backends`, `tests/algorithms` or `tests/program`.  An accelerator has a folder of tests.

A module without such tests has those that import it, and those of the modules that use it: a part of a mechanism is
tested with the mechanism.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from functools import cache
from pathlib import Path

__all__ = ["module_tests", "path_tests"]

ROOT = Path(__file__).parents[1]
TOPS = ("cugraph_ws", "kernels")
MOST = 3  # files of tests of a module that has none by its path
# As so many modules that use a module counts a test that imports it, and one that is of its package
IMPORTER = 4
NEAR = 5


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
    """Return the files that test a module: by its path, else by what uses it.

    Parameters
    ----------
    path, root : Path
        See `path_tests`.

    Returns
    -------
    list of Path
        From the root; empty if nothing that is tested uses the module.
    """
    root = root or ROOT
    seen, level = {path}, [path]
    while level:
        if found := _tests_at(level, root):
            return found
        level = [user for user in _users(level, root) if user not in seen]
        seen.update(level)
    return []


def _tests_at(level: list[Path], root: Path) -> list[Path]:
    """Return the tests of some modules, or of those that use them, the nearest first."""
    if len(level) == 1 and (own := path_tests(level[0], root)):
        return own
    scores: Counter[Path] = Counter()
    for module in level:
        importers = _naming(module, root, "tests")
        scores.update({test: IMPORTER for test in importers if test.name.startswith("test_")})
    for user in {*level, *_users(level, root)}:
        scores.update(path_tests(user, root))
    package = level[0].parts[1]
    for test in scores:
        scores[test] += NEAR * (test.parts[1] == package)
    return [test for test, _ in scores.most_common(MOST)]


def _users(level: Iterable[Path], root: Path) -> list[Path]:
    """Return the modules that use some modules."""
    named = {user for module in level for top in TOPS for user in _naming(module, root, top)}
    return sorted(named - set(level))


def _naming(module: Path, root: Path, top: str) -> list[Path]:
    """Return the files below a folder that import a module; of kernels and loops, which are loaded by name, else those that name it."""
    dotted = ".".join(module.with_suffix("").parts)
    by_path, by_name = _index(root, top)
    named = by_path.get(f"cugraph_ws.{dotted}" if module.parts[0] == "kernels" else dotted, [])
    if not named and (module.parts[0] == "kernels" or "loops" in module.parts):
        named = by_name.get(module.stem, [])
    return named


@cache
def _index(root: Path, top: str) -> tuple[dict[str, list[Path]], dict[str, list[Path]]]:
    """Return the files below a folder by the modules that they import, and by the words that they quote."""
    by_path: dict[str, list[Path]] = defaultdict(list)
    by_name: dict[str, list[Path]] = defaultdict(list)
    for file in sorted((root / top).rglob("*.py")):
        path, text = file.relative_to(root), file.read_text("utf-8")
        if path.parts[:2] == ("cugraph_ws", "kernels"):  # a link
            continue
        imported = set(re.findall(r"\bcugraph_ws(?:\.\w+)+", text))
        for package, names in re.findall(
            r"from (cugraph_ws[\w.]*) import ([^(\n]+|\([^)]*\))", text
        ):
            imported |= {f"{package}.{name}" for name in re.findall(r"\w+", names)}
        for dotted in imported:
            by_path[dotted].append(path)
        for name in set(re.findall(r'"(\w+)"', text)):
            by_name[name].append(path)
    return by_path, by_name


if __name__ == "__main__":
    print(*(test for name in sys.argv[1:] for test in module_tests(Path(name))), sep="\n")

"""What the distribution says of itself: one place for the version, extras that exist, pythons that are tested."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]


def test_the_version_has_one_place():
    assert PROJECT["project"]["dynamic"] == ["version"]
    place = PROJECT["tool"]["setuptools"]["dynamic"]["version"]["attr"]
    assert place == "cugraph_ws.__version__"
    text = (ROOT / "cugraph_ws" / "__init__.py").read_text()
    assert len(re.findall(r'^__version__ = "\d+\.\d+\.\d+"$', text, re.MULTILINE)) == 1


def test_extras_that_errors_and_extras_name_exist():
    sources = "".join(path.read_text() for path in (ROOT / "cugraph_ws").rglob("*.py"))
    named = set(re.findall(r"install_command\([\"']([\w-]+)[\"']\)", sources))
    assert {"dask", "plot", "polars", "cu13"} <= named
    for requirements in EXTRAS.values():
        for requirement in requirements:
            nested = re.fullmatch(r"cugraph-ws\[([\w,-]+)\]", requirement)
            named |= set(nested[1].split(",")) if nested else set()
    assert named <= EXTRAS.keys()


def test_the_page_lists_every_extra():
    page = (ROOT / "docs" / "site" / "guide" / "versions.md").read_text()
    table = page[page.index("## Extras") :]
    assert set(re.findall(r"`([\w-]+)`", table)) | {"demo"} == EXTRAS.keys()


def test_classifiers_name_the_pythons_of_the_contributors_page():
    classifiers = PROJECT["project"]["classifiers"]
    versions = [text.split(" :: ")[-1] for text in classifiers if re.search(r":: 3\.\d+$", text)]
    oldest, newest = re.search(
        r"Python (3\.\d+) to (3\.\d+)", (ROOT / "CONTRIBUTING.md").read_text()
    ).groups()
    assert (versions[0], versions[-1]) == (oldest, newest)
    assert PROJECT["project"]["requires-python"] == f">={oldest}"

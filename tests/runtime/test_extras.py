"""Commands that install optional libraries."""

from __future__ import annotations

import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from cugraph_ws.errors import InputError
from cugraph_ws.runtime.extras import import_optional, install_command

DECLARED = [
    "numpy>=2",
    'pandas>=2.2; extra == "pandas"',
    'cugraph-ws[pandas]; extra == "dask"',
    'dask[dataframe]>=2025.9; extra == "dask"',
    "matplotlib>=3.8; extra == 'plot'",
]


@pytest.mark.parametrize(
    ("extra", "command"),
    [
        ("plot", 'pip install "matplotlib>=3.8"'),
        ("dask", 'pip install "pandas>=2.2" "dask[dataframe]>=2025.9"'),
        ("pand", 'pip install ".[pand]" in a clone of the library'),
    ],
)
def test_requirements_of_an_extra_are_named(monkeypatch, extra, command):
    monkeypatch.setattr(metadata, "requires", lambda distribution: DECLARED)
    assert install_command(extra) == command


def test_a_clone_that_is_not_installed_has_no_requirements(monkeypatch):
    def refuse(distribution):
        raise metadata.PackageNotFoundError(distribution)

    monkeypatch.setattr(metadata, "requires", refuse)
    assert install_command("dask") == 'pip install ".[dask]" in a clone of the library'


def test_both_versions_of_cuda_have_the_same_window_of_releases():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    assert extras["cu12"] == [line.replace("cu13", "cu12") for line in extras["cu13"]]
    compiler = next(line for line in extras["cu13"] if line.startswith("numba-cuda"))
    assert compiler in extras["test"]


def test_a_module_that_is_missing_is_named_with_the_command():
    assert import_optional("tomllib", "a picture", "pip install tomllib") is tomllib
    with pytest.raises(
        InputError, match="a picture needs no_such_module; pip install it"
    ) as raised:
        import_optional("no_such_module", "a picture", "pip install it")
    assert isinstance(raised.value.__cause__, ImportError)

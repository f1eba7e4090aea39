"""The accessor and the site have what algorithms declare."""

from __future__ import annotations

import functions
import pytest


@pytest.mark.parametrize("path", functions.written(), ids=lambda path: path.name)
def test_what_is_made_of_the_declarations_is_current(path):
    assert path.read_text() == functions.written()[path], "run `python ci/functions.py`"

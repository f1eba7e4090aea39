"""Arguments of `run` for tests that go through many plans: fields of `ws.Plan` stand among all others."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import cugraph_ws as ws

__all__ = ["planned"]

FIELDS = {field.name for field in fields(ws.Plan)}


def planned(**arguments: Any) -> dict[str, Any]:
    """Return arguments of a function that takes a plan; those that are fields of `ws.Plan` become one."""
    chosen = {name: arguments.pop(name) for name in FIELDS & arguments.keys()}
    return {**arguments, "plan": ws.Plan(**chosen)} if chosen else arguments

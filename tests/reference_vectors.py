"""What a program with vectors means, in plain Python: it shares no code with the library.

Vectors are NumPy's arrays, of float64 and int64 alone.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import cugraph_ws as ws

__all__ = ["vectors"]

FOLDS: dict[str, Any] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


def vectors(
    program: Any,
    n: int,
    arcs: Sequence[Mapping[str, Any]],
    constants: Mapping[str, Any],
    supersteps: int,
    **parameters: Any,
) -> list[dict[str, Any]]:
    """Return the states after each superstep, each by vertex, until no vertex is active.

    `arcs` have `src`, `dst` and columns, in the order of the frame; `constants` are by vertex.
    """
    fields, names = tuple(program.state), tuple(program.constants)
    vertex, own = namedtuple("Vertex", fields + names), namedtuple("Own", names)
    kept = [tuple(constants[name][v] for name in names) for v in range(n)]
    edge = namedtuple("Edge", tuple(program.edges))
    sums = dict.fromkeys(program.aggregates, 0.0)

    def p() -> Any:
        given = {**parameters, **sums, "number_of_vertices": n, "superstep": number}
        return namedtuple("P", given)(**given)

    def call(name: str, **arguments: Any) -> Any:
        function = program.functions[name]
        return function(*(arguments[key] for key in program.sources[name].parameters))

    def stored(returned: Any) -> tuple[Any, ...]:
        parts = returned if len(fields) > 1 else (returned,)
        return tuple(
            np.resize(part, declared.type.length).astype(declared.type.name)
            if isinstance(declared.type, type(ws.vector(ws.float32, 1)))
            else part
            for declared, part in zip(program.state.values(), parts, strict=True)
        )

    def seen(state: Any, v: int) -> Any:
        wide = [
            np.asarray(part, np.int64 if np.asarray(part).dtype.kind in "iu" else np.float64)
            for part in state
        ]
        return vertex(*(part if part.ndim else part.item() for part in wide), *kept[v])

    def fold(messages: list[Any]) -> Any:
        parts = zip(*(m if isinstance(m, tuple) else (m,) for m in messages), strict=True)
        names = [repr(part) for part in getattr(program.fold, "parts", ())] or [program.combine] * 9
        folded = [
            FOLDS[name].reduce(np.array(part)) for name, part in zip(names, parts, strict=False)
        ]
        return tuple(folded) if isinstance(messages[0], tuple) else folded[0]

    def add_up() -> None:
        for name, kind in zip(program.aggregates, program.aggregate_folds, strict=True):
            function = program.aggregates[name]
            terms = [float(function(seen(states[v], v))) for v in range(n)]
            sums[name] = sum(terms) if kind == "sum" else {"max": max, "min": min}[kind](terms)

    def nothing(message: Any) -> Any:
        if not isinstance(message, tuple):
            return np.zeros_like(message)
        names = [repr(part) for part in getattr(program.fold, "parts", ())] or ["sum"] * len(
            message
        )
        least = {"sum": 0.0, "min": np.inf, "max": -np.inf}
        return tuple(
            np.full_like(part, least[name]) for name, part in zip(names, message, strict=True)
        )

    number = 0
    states = [stored(call("init", vertex=v, own=own(*kept[v]), p=p())) for v in range(n)]
    starts = "starts" in program.functions
    active = [
        bool(call("starts", state=seen(states[v], v), p=p())) if starts else True for v in range(n)
    ]
    all_send = program.contributors == "all" or (
        program.contributors is None and (program.combine not in ("min", "max") or not starts)
    )
    silent = program.contributors == "all" or (
        program.contributors is None and program.combine not in ("min", "max")
    )
    example: Any = None  # of a message
    after = []
    rows = [sorted((a for a in arcs if a["dst"] == v), key=lambda a: a["src"]) for v in range(n)]
    add_up()
    while any(active) and number < supersteps:
        fresh, active_next = [], []
        for v in range(n):
            messages = [
                call(
                    "compute", src=seen(states[a["src"]], a["src"]), dst=seen(states[v], v),
                    edge=edge(*(a[name] for name in program.edges)), p=p(),
                )
                for a in rows[v]
                if all_send or active[a["src"]]
            ]  # fmt: skip
            messages = [message for message in messages if message is not ws.no_message]
            if messages:
                example = messages[0]
            new = states[v]
            hears = bool(messages) or silent
            if hears:
                gathered = fold(messages or [nothing(example)])
                new = stored(call("apply", old=seen(states[v], v), gathered=gathered, p=p()))
            fresh.append(new)
            if "active" in program.functions:
                is_active = hears and bool(
                    call("active", old=seen(states[v], v), new=seen(new, v), p=p())
                )
            else:
                pairs = zip(states[v], new, strict=True)
                is_active = not all(np.array_equal(a, b, equal_nan=True) for a, b in pairs)
            active_next.append(is_active)
        states, active, number = fresh, active_next, number + 1
        add_up()
        after.append({name: np.array(column) for name, column in zip(fields, zip(*states, strict=True), strict=True)})  # fmt: skip
    return after

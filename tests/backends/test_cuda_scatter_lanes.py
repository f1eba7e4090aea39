"""Which loops of a `scatter` the lanes of a GPU share, and how; `tests/program/test_scatter.py` runs them."""

from __future__ import annotations

import ast

import pytest

from cugraph_ws.backends.cuda.scatter_lanes import _fields_read, lanes_text
from cugraph_ws.program.scatter_source import Rewriting

DIVIDED, FOLDED, HANDED, ALONE = (
    "ws_step()",
    "ws_from_lane(",
    "ws_handed(",
    "for i in range(edges.degree):",
)
LOOPS = {
    "for edge in edges: edge.send(own.x * edge.w)": DIVIDED,
    "for i in range(len(edges)): edges[i].send(edges[i].w)": DIVIDED,
    "for edge in edges:\n if edge.w > 1:\n  continue\n share = edge.w / 2\n edge.send(share)": DIVIDED,
    "for edge in edges:\n n = 0\n for j in range(9):\n  if j > edge.w:\n   break\n  n += 1\n edge.send(n)": DIVIDED,
    "for edge in edges:\n if edge.w > 1:\n  share = edge.w\n else:\n  share = own.x\n edge.send(share)": DIVIDED,
    # values that are carried to the next edge, or read after the loop
    "for edge in edges:\n if edge.w > 1:\n  share = edge.w\n edge.send(share)": HANDED,
    "for edge in edges:\n share = edge.w\n edge.send(share)\nedges[0].send(share)": HANDED,
    "for edge in edges: edge.send(1)\nedge.send(2)": HANDED,
    "for i in range(len(edges)): edges[i].send(edges[i].w)\nedges[0].send(i)": HANDED,
    "while total < 9:\n edges[0].send(share)\n for edge in edges:\n  share = edge.w\n total += 1": HANDED,
    # loops that end early
    "for edge in edges:\n if edge.w > 2:\n  break\n edge.send(1)": HANDED,
    "for edge in edges:\n edge.send(1)\n if edge.w > 2:\n  return": HANDED,
    "for edge in edges: edge.send(1 + edge.w)\nelse: total += 1": HANDED,
    # messages along other edges than the pass's
    "for i in range(len(edges)): edges[0].send(edges[i].w)": HANDED,
    "for edge in edges:\n edge = edges[0]\n edge.send(edge.w)": HANDED,
    "for edge in edges:\n best = edge\n best.send(edge.w)": HANDED,
    "for i in range(1, len(edges)): edges[i].send(edges[i].w)": HANDED,
    # values that lanes compute, and all fold
    "for edge in edges: total += edge.w * own.x": FOLDED,
    "for edge in edges: total = max(total, edge.dst.x)": FOLDED,
    "for i in range(len(edges)): total *= edges[i].w": FOLDED,
    "for edge in edges:\n worth = edge.w - 1\n total += worth * 2\n best = min(best, edge.w)": FOLDED,
    # not those that read what is folded, that fold booleans, that send, or that pass some over
    "for edge in edges: total += edge.w * total": HANDED,
    "for edge in edges:\n total += edge.w\n best = max(best, edge.w + total)": HANDED,
    "for edge in edges:\n worth = edge.w - total\n total += worth * 2": HANDED,
    "for edge in edges: total += edge.dst.flag": HANDED,
    "for edge in edges: total += edge.w > 1": HANDED,
    "for edge in edges:\n edge.send(1)\n total += edge.w": HANDED,
    "for edge in edges:\n if edge.w > 1:\n  continue\n total += edge.w": HANDED,
    "for edge in edges:\n worth = edge.w\n total += worth * 2\nedges[0].send(worth)": HANDED,
    "for edge in edges: total = max(edge.w, total)": HANDED,
    # a place that changes within a pass
    "for i in range(len(edges)):\n i += 1\n edges[i].send(edges[i].w)": ALONE,
}


def lanes_of(body: str) -> str:
    lines = ["total = best = 0", *body.splitlines(), "edges[0].send(total)"]
    text = "def user_scatter(own, edges):\n " + "\n ".join(lines)
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)

    def fail(_: ast.AST, problem: str) -> None:
        raise AssertionError(problem)

    Rewriting({"w"}, {"x", "flag"}).rewrite(function, fail)
    return lanes_text(ast.unparse(function), {"w", "x"})


@pytest.mark.parametrize("body", LOOPS)
def test_the_form_of_a_loop(body: str) -> None:
    text = lanes_of(body)
    found = [form for form in (DIVIDED, FOLDED, HANDED) if form in text]
    assert (found or [ALONE]) == [LOOPS[body]], text
    assert LOOPS[body] in text
    assert "ws_send(" not in text


@pytest.mark.parametrize(
    ("body", "read"),
    [
        ("best = edge = ws_out_edge(edges, 1)\nprint(edge.w)", {"w"}),
        ("edge = ws_out_edge(edges, 1)\nbest = edge\nx = best.dst.x", {"dst", "x"}),
        ("edge = ws_out_edge(edges, 1)\nx = helper(edge)", None),
        ("edge = ws_out_edge(edges, 1)\na, b = edge.dst", None),
        ("edge = ws_out_edge(edges, 1)\na = edge\nx = a[1]", None),
        ("edge = ws_out_edge(edges, 1)\nx = a, b = edge", None),
        ("x = helper(ws_out_edge(edges, 1))", None),
        ("edge = ws_out_edge(edges, 1)\nx = edge if 1 else 2", None),
        ("edge = ws_out_edge(edges, 1)\nx = edge.dst", None),
    ],
)
def test_what_is_read_of_edges(body: str, read: set[str] | None) -> None:
    assert _fields_read(body) == read

"""Write what is made of the algorithms' declarations: methods of frames and of graphs, and the site's list of functions.

    python ci/functions.py

A test compares both files with what this writes.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import cugraph_ws  # noqa: F401 - declares the algorithms
from cugraph_ws.algorithms.registry import ALGORITHMS, GROUPS, Algorithm

ROOT = Path(__file__).parents[1]
ACCESSOR = ROOT / "cugraph_ws" / "accessor.py"
GRAPH = ROOT / "cugraph_ws" / "methods.py"
PAGE = ROOT / "docs" / "site" / "guide" / "functions.md"
SHOWN = 3  # arguments of a function that the page shows
EVERYWHERE = {"graph", "source", "destination", "weight", "directed", "options", "engine"}


def methods(path: Path, margin: str) -> str:
    """Return a file with a line for each method."""
    lines = [f"{margin}{name} = method(public.{name})\n" for name in sorted(ALGORITHMS)]
    return re.sub(
        rf"(ci/functions\.py\.\n)(?:{margin}\w+ = method\(.*\n)*",
        lambda match: match[1] + "".join(lines),
        path.read_text(),
    )


def call(declared: Algorithm) -> str:
    """Return a function with its first arguments, as the page shows it."""
    own = [
        parameter.replace(annotation=parameter.empty)
        for name, parameter in inspect.signature(declared.function).parameters.items()
        if name not in EVERYWHERE
    ]
    shown = [one for one in own if one.kind is one.POSITIONAL_OR_KEYWORD][:SHOWN]
    words = ["g", *map(str, shown), *(["…"] if len(own) > len(shown) else [])]
    return f"{declared.name}({', '.join(words)})"


def rows() -> str:
    """Return the page's tables, one for each group."""
    text = ""
    for group in GROUPS:
        text += (
            f"\n**{group.capitalize()}**\n\n| function | result columns | |\n| --- | --- | --- |\n"
        )
        for _, declared in sorted(ALGORITHMS.items()):
            if declared.group == group:
                said = f"{declared.summary} {declared.note}".strip()
                text += f"| `{call(declared)}` | {declared.columns} | {said} |\n"
    return text + "\n"


def written() -> dict[Path, str]:
    """Return each file's text with what is made of the declarations."""
    page = re.sub(
        r"(ci/functions\.py\. -->\n).*?(<!-- Its end)",
        lambda match: match[1] + rows() + match[2],
        PAGE.read_text(),
        flags=re.DOTALL,
    )
    tab = " " * 4
    return {ACCESSOR: methods(ACCESSOR, tab), GRAPH: methods(GRAPH, 2 * tab), PAGE: page}


if __name__ == "__main__":
    for path, text in written().items():
        path.write_text(text)

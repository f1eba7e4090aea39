"""What kernels do not look into: a program's states, messages and parameters, and the arrays that hold them.

The functions that stand for `kernels/cuda/interface.py` look into them; all others hand them on.  So what is compiled
for the others serves every program; see `cugraph_ws.runtime.cuda_target`.
"""

from __future__ import annotations

import re

__all__ = ["opaque_text"]

# By the name of a kernel's parameter: its role, or the roles of its parts
PARAMETERS = {
    "state": "state",
    "fresh": "state",
    "constants": "constants",
    "parameters": "parameters",
    "edges": "edges",
    "both_edges": ["edges", "edges"],
    "outbox": "messages",
    "outboxes": ["messages", "messages"],
    "program": ["state", "constants", "parameters", None],
    "parts": "parts",
    "hubs": [*[None] * 5, "parts", None, None],
    "scratch": ["state", None, None, ["parts", None], None, None],
}
# By the name of an interface function: the role of what it returns
RETURNED = {
    **dict.fromkeys(("load", "load_own", "load_coded", "glance", "replace"), "vertex"),
    "load_target": "target",
    **dict.fromkeys(("initial", "keep", "update"), "new state"),
    **dict.fromkeys(("message", "message_near", "nothing", "merge", "take_message"), "message"),
    **dict.fromkeys(
        ("shuffle_message", "shuffle_message_down", "shuffle_message_xor", "held_message"),
        "message",
    ),
    **dict.fromkeys(("terms", "add_terms", "no_terms", "take_terms", "shuffle_terms_xor"), "terms"),
    **dict.fromkeys(("initial_edge", "next_edge"), "edge's state"),
    **dict.fromkeys(("read_source", "take_source"), "source"),
    "with_sums": "values",
    "shared_messages": "shared messages",
    "shared_sources": "shared sources",
}
FUNCTION = re.compile(r"^@inline\ndef (?!stored_|loaded_|added\b)(\w+)\(", re.MULTILINE)


def opaque_text(text: str) -> str:
    """Mark the interface functions in a text, and declare which parameters of kernels are opaque.

    Parameters
    ----------
    text : str
        What replaces `kernels/cuda/interface.py` for a program, without the program's own functions.

    Returns
    -------
    str
    """
    marked = FUNCTION.sub(
        lambda found: f"@interface({RETURNED.get(found[1])!r})\ndef {found[1]}(", text
    )
    return f"OPAQUE = opaque_types({PARAMETERS!r})\n\n{marked}"

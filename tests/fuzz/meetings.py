"""Random programs in which declarations meet: who starts, who sends, who is settled, what is null or hidden."""

from __future__ import annotations

from typing import Any

from fuzz.grammar import Choices, Frame, Member, number, rising

__all__ = ["meetings"]

RELATIONS = "<", ">=", "==", "!="


def meetings(choose: Choices, members: int) -> tuple[Frame, list[Member], bool]:
    """Write programs with several of `starts`, `contributors`, `settled`, `active`, nullable and hidden fields.

    Parameters
    ----------
    choose : Choices
    members : int
        How many programs to put in one class.

    Returns
    -------
    tuple
        The frame, the members, and False.
    """
    if choose.chance(4):
        return _flags(choose, members)
    kind = choose.pick("int64", "float64", "int32")
    real = kind == "float64"
    null = choose.pick("", "-1", "3", "math.inf" if real else "-1")
    fields = [("x", f"nullable(ws.{kind}, {null})" if null else kind)]
    if choose.chance(2):
        counted = choose.pick("hidden(ws.int64)", "int64", "nullable(ws.int64, 0)")
        fields.append(("y", counted))
    combine = choose.pick("min", "max", "min", "max", "sum", "any")
    settings = _who(choose, combine, "state.x", ("0", "2", "5", "3"))
    if choose.chance(4):
        settings.append(f"def priority(state):\n    return {choose.pick('state.x', '-state.x')}")
    made = [_member(choose, combine, real, null, len(fields)) for _ in range(members)]
    return (
        Frame(tuple(fields), f"combine = {combine}", float if real else int, settings),
        made,
        False,
    )


def _who(choose: Choices, combine: str, state: str, bounds: tuple[str, ...]) -> list[str]:
    """Write who starts, who sends, and who is settled."""

    def told() -> str:
        if not bounds:
            return choose.pick(state, f"not {state}")
        return f"{state} {choose.pick(*RELATIONS)} {choose.pick(*bounds)}"

    who = choose.pick(None, "active", None, "active", "all")
    if combine == "any" and who == "all":
        who = "active"
    starts = choose.chance(2) or combine == "any"
    if starts and who is None and combine == "sum":
        who = "active"
    settings = [f'contributors = "{who}"'] if who else []
    if starts:
        settings.append(f"def starts(state):\n    return {told()}")
    if choose.chance(2):
        settings.append(f"def settled(state):\n    return {told()}")
    return settings


def _member(choose: Choices, combine: str, real: bool, null: str, width: int) -> Member:
    """Write the functions of numbers."""
    edge = "edge.w" if real else "edge.k"
    sent = choose.pick(
        lambda: rising(choose, real),
        lambda: "src.x",
        lambda: f"src.x + {edge}",
        lambda: f"src.x * {choose.pick('abs(edge.k)', 'edge.k', '2', '(edge.k > 1)')}",
        lambda: f"min(src.x, {edge})",
        # floats send floats, since silence is the identity of the messages' type
        lambda: number(choose, ["src.x", edge, *(("1.0", "3.0") if real else ("1", "3"))], 2, real),
        lambda: f"{choose.pick('9', '4')} - src.x",
    )()
    if combine == "any":  # messages of one superstep are alike
        sent = choose.pick("p.superstep + 1", "4", "7 - p.superstep")
    heard = choose.pick(
        "gathered", "gathered", f"min(gathered, {choose.pick('6', '3')})", "max(gathered, -3)"
    )
    if combine == "sum":
        apply = choose.pick(f"old.x + {heard}", heard, f"max(old.x, {heard})")
    else:
        pick = choose.pick(combine, combine, combine, "min", "max") if combine != "any" else "min"
        apply = choose.pick(f"{pick}(old.x, {heard})", f"{pick}(old.x, gathered)", heard)
    apply = f"min(max({apply}, -60), 60)" if apply != f"{combine}(old.x, gathered)" else apply
    if "*" in sent or "+" in sent or "-" in sent:
        sent = f"min(max({sent}, -50), 50)"
    first = choose.pick(
        "vertex * 5 % 7",
        "vertex",
        "0 if vertex == 0 else 9",
        f"vertex % 3 - {choose.pick('0', '1')}",
    )
    if null == "math.inf" and choose.chance(2):
        first = "0.0 if vertex == 0 else math.inf"
    active = choose.pick(
        None, None, "new.x < old.x", "new.x != old.x", "new.x < 4", "abs(new.x - old.x) >= 2",
        "new.x != old.x and p.superstep < 3",
    )  # fmt: skip
    if width == 2:
        second = choose.pick("old.y + 1", "old.y", "min(old.y + 1, 3)")
        apply, first = f"{apply}, {second}", f"{first}, {choose.pick('0', 'vertex % 3')}"
    return Member(first, sent, apply, active)


def _flags(choose: Choices, members: int) -> tuple[Frame, list[Member], bool]:
    """Write programs of flags, of which `any` needs no more than one that is set."""
    combine = choose.pick("any", "any", "max", "min")
    settings = _who(choose, combine, "state.x", ())
    kind = choose.pick("boolean", "hidden(ws.boolean)\nz: ws.int64")
    wide = "z" in kind
    made: list[Any] = []
    for _ in range(members):
        apply = choose.pick(
            "old.x or gathered",
            "gathered or old.x",
            "gathered",
            f"{'min' if combine == 'min' else 'max'}(old.x, gathered)",
        )
        sent = choose.pick("src.x", "src.x and edge.k > 0", "not src.x", "src.x or edge.k > 1")
        active = choose.pick(None, None, "new.x and not old.x", "new.x", "new.x != old.x")
        first = choose.pick("vertex == 0", "vertex % 2 == 0", "vertex % 3 != 0")
        if wide:
            apply, first = f"{apply}, old.z + 1", f"{first}, 0"
        made.append(Member(first, sent, apply, active))
    fields: tuple[tuple[str, str], ...] = (
        (("x", "hidden(ws.boolean)"), ("z", "int64")) if wide else (("x", "boolean"),)
    )
    return Frame(fields, f"combine = {combine}", bool, settings), made, False

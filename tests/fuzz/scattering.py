"""Random programs that send by `scatter`: loops over edges of many forms, and messages along some edges."""

from __future__ import annotations

from typing import Any

from fuzz.grammar import Choices, Frame, Member, condition, constants, number

__all__ = ["scattering"]

FOLDS = (  # a combine, whether messages are pairs, and what `apply` takes of them
    ("combine = sum", False, "gathered"),
    ("combine = min", False, "gathered"),
    ("combine = max", False, "gathered"),
    ("combine = ws.first_by(0)", True, "gathered[1]"),
    ("combine = (sum, max)", True, "gathered[0]"),
    ("def combine(a, b):\n    return a ^ b\nidentity = 0", False, "gathered"),
)


def scattering(choose: Choices, members: int) -> tuple[Frame, list[Member], bool]:
    """Write programs with a `scatter`.

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
    combine, pair, heard = choose.pick(*FOLDS)
    real = "^" not in combine and choose.chance(2)
    fields = [("x", choose.pick("float64", "float32") if real else choose.pick("int64", "int32"))]
    if choose.chance(2):
        fields.append(("y", "boolean"))
    who = choose.pick(None, None, "all")
    settings = [f'contributors = "{who}"'] if who else []
    if choose.chance(6):
        settings.append(f"def settled(state):\n    return state.x {choose.pick('<', '>=')} 5")
    made = [_member(choose, place, tuple(fields), real, pair, heard) for place in range(members)]
    message: Any = float if real else int
    return Frame(tuple(fields), combine, (message, int) if pair else message, settings), made, False


def _member(
    choose: Choices, place: int, fields: tuple[tuple[str, str], ...], real: bool, pair: bool,
    heard: str,
) -> Member:  # fmt: skip
    """Write the functions of one program."""
    first = choose.pick("vertex * 5 % 8", "vertex", "3", "0 if vertex == 0 else 9", "own.degree")
    atoms = ["heard", "heard", "old.x", "old.degree", "p.superstep"]
    kept = number(choose, atoms, choose.below(3), real)
    kept = f"min(max({kept}, -40), 40)" if real else f"({kept}) % {choose.pick('19', '5')}"
    parts = [first, "vertex % 3 == 0"], [kept, condition(choose, atoms)]
    init, apply = (", ".join(one[: len(fields)]) for one in parts)
    # Without a message an integer is the type's infinity, which has no room for a sum.
    lines = f"heard = {heard} if -5000 < {heard} < 5000 else 7\nreturn {apply}"
    active = choose.pick(None, None, None, "new.x != old.x", "new.x < 5")
    body = _Body(choose, place, len(fields) == 2, real, pair).write()
    return Member(init, None, lines, active, scatter=body)


class _Body:
    """Writes a `scatter`; names of variables end in the member's number, since they may differ in type."""

    def __init__(self, choose: Choices, place: int, flagged: bool, real: bool, pair: bool) -> None:
        self.choose, self.real, self.pair, self.place = choose, real, pair, place
        self.own = ["own.x", "own.degree", "len(edges)", "p.superstep", *constants(real)]
        self.of_edge = ["{}.k", "{}.k", "{}.dst.x", "{}.dst.x", "{}.dst.degree"]
        self.of_edge += ["{}.w", "{}.w"] * real
        self.of_edge += ["(1 if {}.dst.y else 0)"] * flagged
        self.lines: list[str] = []
        self.places: list[str] = ["0", "len(edges) - 1"]
        self.edges: list[str] = []

    def write(self) -> str:
        """Return the body."""
        choose = self.choose
        if choose.chance(6):
            self.lines.append(f"if {condition(choose, self.own)}:\n    return")
        if choose.chance(5):
            self.lines.append(f"d_{self.place} = p.random_integer(len(edges))")
            self.places.append(f"d_{self.place}")
            self.own.append(f"d_{self.place}")
        for number_of_block in range(choose.below(3)):
            name = f"t{number_of_block}_{self.place}"
            choose.pick(self.fold, self.fold, self.best_place, self.best_edge, self.search)(name)
        for number_of_send in range(1 + choose.below(2)):
            name = f"s{number_of_send}_{self.place}"
            choose.pick(
                self.send_all, self.send_all, self.send_one, self.send_running, self.send_ranks,
                self.send_along_others,
            )(name)  # fmt: skip
        return "\n".join([*self.lines, "return"])

    def of(self, edge: str) -> list[str]:
        """Return what may be read of an edge, and of the vertex."""
        return [one.format(edge) for one in self.of_edge] * 2 + self.own

    def value(self, atoms: list[str]) -> str:
        """Write a number that is not great."""
        text = number(self.choose, atoms, self.choose.below(3), self.real)
        return f"min(max({text}, -60), 60)" if self.real else f"({text}) % 31"

    def message(self, atoms: list[str]) -> str:
        """Write a message."""
        whole = [one for one in atoms if one.endswith((".k", ".degree"))] + ["1", "3"]
        value = self.value(atoms)
        if not self.pair:
            return value
        return f"({value}, {number(self.choose, whole, 1, False)})"

    def loop(self, edge: str, body: list[str]) -> None:
        """Write a loop over the edges."""
        choose = self.choose
        if choose.chance(2):
            start = choose.pick("", "", "1, ", "2, ")
            head, item = (
                f"for i_{self.place} in range({start}len(edges)):",
                f"edges[i_{self.place}]",
            )
            body = [line.replace(f"{edge}.", f"{item}.") for line in body]
        else:
            head, item = f"for {edge} in edges:", edge
        if choose.chance(5):
            leave = choose.pick("continue", "break", "return")
            test = condition(choose, self.of(item))
            at = choose.pick(0, len(body))
            body = [*body[:at], f"if {test}:\n    {leave}", *body[at:]]
        lines = "\n".join(body).replace("\n", "\n    ")
        self.lines.append(f"{head}\n    {lines}")

    # ------------------------------------------------------------------------ values of all edges

    def fold(self, name: str) -> None:
        """Fold a value of each edge, perhaps of some, perhaps with what has been folded."""
        choose, edge = self.choose, f"edge_{self.place}"
        atoms = self.of(edge)
        body = []
        if choose.chance(3):
            body.append(f"v_{name} = {self.value(atoms)}")
            atoms = [*atoms, f"v_{name}", f"v_{name}"]
        if choose.chance(5):
            atoms = [*atoms, name, name]
        value = self.value(atoms)
        step = choose.pick(
            f"{name} += {value}", f"{name} = max({name}, {value})", f"{name} = min({name}, {value})",
            f"{name} -= {value}", f"{name} = {value}",
        )  # fmt: skip
        if choose.chance(4):
            step = f"if {condition(choose, atoms)}:\n    {step}"
        self.lines.append(f"{name} = {'0.0' if self.real else '0'}")
        self.loop(edge, [*body, step])
        self.own += [name, name]

    def best_place(self, name: str) -> None:
        """Find the place of an edge that is least or greatest."""
        read = self.choose.pick(*self.of_edge)
        this, best = read.format(f"edges[i_{self.place}]"), read.format(f"edges[{name}]")
        sign, start = self.choose.pick("<", ">", "<=", ">="), self.choose.pick("1, ", "")
        self.lines.append(
            f"{name} = 0\nfor i_{self.place} in range({start}len(edges)):\n    if {this} {sign} {best}:\n"
            f"        {name} = i_{self.place}"
        )
        self.places.append(name)
        self.own.append(name)

    def best_edge(self, name: str) -> None:
        """Find an edge that is least or greatest."""
        read, edge = self.choose.pick(*self.of_edge), f"edge_{self.place}"
        sign = self.choose.pick("<", ">", "<=", ">=")
        self.lines.append(
            f"{name} = edges[0]\nfor {edge} in edges:\n    if {read.format(edge)} {sign} {read.format(name)}:\n"
            f"        {name} = {edge}"
        )
        self.edges.append(name)
        self.own += [one.format(name) for one in self.of_edge[:3]]

    def search(self, name: str) -> None:
        """Find the first edge of some kind, by a loop without an end."""
        test = condition(self.choose, self.of(f"edges[{name}]"))
        self.lines.append(f"{name} = 0\nwhile {name} < len(edges) - 1 and {test}:\n    {name} += 1")
        self.places.append(name)
        self.own.append(name)

    # ------------------------------------------------------------------------------------ messages

    def send_all(self, name: str) -> None:
        """Send along all edges, or those of some kind."""
        choose, edge = self.choose, f"edge_{self.place}"
        line = f"{edge}.send({self.message(self.of(edge))})"
        if choose.chance(3):
            line = f"if {condition(choose, self.of(edge))}:\n    {line}"
        self.loop(edge, [line])

    def send_one(self, name: str) -> None:
        """Send along one edge."""
        edge = self.choose.pick(*self.edges, *(f"edges[{place}]" for place in self.places))
        self.lines.append(f"{edge}.send({self.message(self.of(edge))})")

    def send_running(self, name: str) -> None:
        """Send what has been added up."""
        edge = f"edge_{self.place}"
        self.lines.append(f"{name} = {'0.0' if self.real else '0'}")
        value = self.value(self.of(edge))
        sent = self.message([*self.of(edge), name, name, name])
        self.loop(edge, [f"{name} += {value}", f"{edge}.send({sent})"])

    def send_ranks(self, name: str) -> None:
        """Send to each edge how many are before it."""
        edge, other = f"edge_{self.place}", f"other_{self.place}"
        read = self.choose.pick(*self.of_edge)
        test = f"{read.format(other)} {self.choose.pick('<', '>=')} {read.format(edge)}"
        inner = f"for {other} in edges:\n    if {test}:\n        {name} += 1"
        sent = self.message([*self.of(edge), name, name])
        self.lines.append(
            f"for {edge} in edges:\n    {name} = 0\n    "
            + inner.replace("\n", "\n    ")
            + f"\n    {edge}.send({sent})"
        )

    def send_along_others(self, name: str) -> None:
        """Send in each pass along another edge than the pass's."""
        i = f"i_{self.place}"
        place = self.choose.pick(
            f"len(edges) - 1 - {i}", f"{i} // 2", f"(3 * {i} + 1) % len(edges)"
        )
        sent = self.message([*self.of(f"edges[{i}]"), i])
        self.lines.append(f"for {i} in range(len(edges)):\n    edges[{place}].send({sent})")

"""`phases`: several vertex programs that run in turn over shared state (Medusa's `EMV::Run`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from cugraph_ws.arguments import check_choice, check_count, check_number, shown
from cugraph_ws.errors import InputError, ProgramError
from cugraph_ws.program.declarations import Edge, Jump, ScalarType, State, VertexNumber, VertexSet
from cugraph_ws.program.edge_program import EdgeProgram
from cugraph_ws.program.vector_program import VectorProgram
from cugraph_ws.program.vertex_program import Norm, VertexProgram
from cugraph_ws.program.walk_program import WalkProgram

__all__ = ["Phase", "PhaseDirection", "Phases", "phase", "phases", "programs_of"]

PhaseDirection = Literal["in", "out"]


@dataclass(frozen=True)
class Phase:
    """One program of `Phases`; made by `phase`.

    Attributes
    ----------
    program : VertexProgram
    direction : {"in", "out"}
        Whether vertices gather along in-edges, or along out-edges.
    supersteps : int or None
        Maximum number of supersteps each time it runs; None if only the program limits them.
    name : str
        Name in the trace.
    """

    program: VertexProgram
    direction: PhaseDirection = "in"
    supersteps: int | None = None
    name: str = ""

    @property
    def limit(self) -> int | None:
        """Maximum number of supersteps each time it runs."""
        return self.program.max_iter if self.supersteps is None else self.supersteps


@dataclass(frozen=True, eq=False)
class Phases:
    """Several programs over shared state; made by `phases`, run by `run`.

    Attributes
    ----------
    name : str
        For messages and checkpoints.
    phases : tuple of Phase
    rounds : int or None
        Number of rounds after which the run ends.
    until : Norm or None
        The norm of a round's change that `tol` bounds.
    tol : float or None
    state : dict of str to State
        The state fields of all programs, each as declared by the first program that has it.
    edges : dict of str to Edge
        The edge attributes of all programs.
    predecessor : None
        Phases have none.

    Examples
    --------
    Which pages are on a path from `start` back to it?  The second program reads `after` of the first, and runs
    against the edges:

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class After:
    ...     after: ws.boolean
    ...     start: ws.vertex_parameter
    ...     combine = any
    ...
    ...     def init(vertex, p):
    ...         return vertex == p.start
    ...
    ...     def compute(src):
    ...         return src.after
    ...
    ...     def apply(old, gathered):
    ...         return old.after or gathered
    >>> @ws.vertex_program
    ... class Cycle:
    ...     after: ws.boolean
    ...     cycle: ws.boolean
    ...     start: ws.vertex_parameter
    ...     combine = any
    ...
    ...     def init(vertex, p):
    ...         return False, vertex == p.start
    ...
    ...     def compute(src):
    ...         return src.cycle
    ...
    ...     def apply(old, gathered):
    ...         return old.after, old.cycle or (gathered and old.after)
    >>> both = ws.phases(After, ws.phase(Cycle, direction="out"), rounds=1)
    >>> both
    <phases After + Cycle: after, cycle>
    >>> list(both.state), list(both.parameters), [one.direction for one in both.phases]
    (['after', 'cycle'], ['start'], ['in', 'out'])
    >>> links = pd.DataFrame({"source": [1, 2, 3, 3, 5], "destination": [2, 3, 1, 4, 1]})
    >>> result = ws.run(both, links, start=1)
    >>> result.frame["cycle"].tolist(), result.trace["phase"].unique().tolist()
    ([True, True, True, False, False], ['After', 'Cycle'])
    """

    name: str
    phases: tuple[Phase, ...]
    rounds: int | None
    until: Norm | None
    tol: float | None
    state: dict[str, State]
    edges: dict[str, Edge]
    predecessor: None = None

    @property
    def programs(self) -> tuple[VertexProgram, ...]:
        """The program of each phase."""
        return tuple(member.program for member in self.phases)

    @property
    def parameters(self) -> dict[str, Any]:
        """The run parameters of all programs, by name."""
        return {
            name: value for program in self.programs for name, value in program.parameters.items()
        }

    @property
    def constants(self) -> dict[str, Any]:
        """The vertex constants of all programs, by name."""
        return {
            name: value for program in self.programs for name, value in program.constants.items()
        }

    def shares(self, arguments: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return for each phase those arguments of a run that its program takes.

        Parameters
        ----------
        arguments : mapping
            By name.

        Returns
        -------
        list of dict

        Raises
        ------
        InputError
            If no program has a parameter with a given name.
        """
        known = [_parameters(program) for program in self.programs]
        for name in arguments:
            if not any(name in names for names in known):
                have = dict.fromkeys(parameter for names in known for parameter in names)
                raise InputError(
                    f"{self.name} has no parameter {name!r}; its programs have: "
                    f"{', '.join(have) or 'none'}"
                )
        return [
            {name: value for name, value in arguments.items() if name in names} for names in known
        ]

    def __repr__(self) -> str:
        return f"<phases {self.name}: {', '.join(self.state)}>"


def phase(program: Any, direction: PhaseDirection = "in", supersteps: int | None = None) -> Phase:
    """Make a phase of a vertex program, for `phases`.

    Parameters
    ----------
    program : VertexProgram
        A class decorated with `ws.vertex_program`.
    direction : {"in", "out"}
        "out" runs the program on the reversed graph: a vertex gathers from the destinations of its
        out-edges, and its in-degree and out-degree are exchanged.
    supersteps : int, optional
        Maximum number of supersteps each time the phase runs.  Without it the program runs to its
        end: until no vertex is active, its residual is within its `tol`, or its `max_iter`.

    Returns
    -------
    Phase

    Raises
    ------
    ProgramError
        If it is not a vertex program, or declares a predecessor.
    InputError
        If another argument is invalid.

    Examples
    --------
    With `direction="out"` a program runs against the edges: from where can a town be reached?

    >>> import pandas as pd
    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Reached:
    ...     reached: ws.boolean
    ...     town: ws.vertex_parameter
    ...     combine = any
    ...
    ...     def init(vertex, p):
    ...         return vertex == p.town
    ...
    ...     def compute(src):
    ...         return src.reached
    ...
    ...     def apply(old, gathered):
    ...         return old.reached or gathered
    >>> roads = pd.DataFrame({"source": ["a", "b", "b"], "destination": ["b", "c", "d"]})
    >>> ws.run(Reached, roads, town="c").frame["reached"].tolist()
    [False, False, True, False]
    >>> towards = ws.phases(ws.phase(Reached, direction="out"), rounds=1)
    >>> ws.run(towards, roads, town="c").frame["reached"].tolist()
    [True, True, True, False]
    >>> one_road = ws.phases(ws.phase(Reached, direction="out", supersteps=1), rounds=1)
    >>> ws.run(one_road, roads, town="c").frame["reached"].tolist()
    [False, True, True, False]
    """
    if not isinstance(program, VertexProgram):
        raise ProgramError(
            f"{shown(program)} is not a vertex program; give a class decorated with @ws.vertex_program"
        )
    if isinstance(program, VectorProgram):
        raise ProgramError(
            f"{program.name} has vectors, which phases do not hand on; run it alone, or declare its fields as numbers"
        )
    check_choice("direction", direction, ("in", "out"))
    if supersteps is not None:
        check_count("supersteps", supersteps, least=1)
    if program.predecessor is not None:
        raise ProgramError(
            f"{program.name}.{program.predecessor}: a program with a predecessor cannot be a phase, since later "
            "phases change the states that predecessors follow from; leave it out"
        )
    if program.edge_state and not program.scatters:
        raise ProgramError(
            f"{program.name} keeps `{next(iter(program.edge_state))}` on edges, which phases do not share; run "
            "it by itself, or keep it on vertices"
        )
    return Phase(program, direction, supersteps, program.name)


def phases(
    *programs: Any,
    rounds: int | None = None,
    until: Norm | None = None,
    tol: float | None = None,
) -> Phases:
    """Combine vertex programs that run in turn over shared state.

    Each program runs to its end, or for the number of supersteps that its `phase` sets; then the next
    one continues from its states.  A round is one run of each program.

    A state field that several programs declare is shared; its first values come from `init` of the
    first program that declares it.  Whenever a phase begins, `p.superstep` is 0 and all vertices
    are active, or those for which the program's `starts` is true.  A run's `max_iter` bounds the
    total number of supersteps of all phases.

    Parameters
    ----------
    *programs : VertexProgram or Phase
        In the order in which they run.  A program that is given without `phase` gathers along
        in-edges.
    rounds : int, optional
        Maximum number of rounds.  The run also ends if a round changes no field of any vertex.
    until : Norm, optional
        `ws.l1_norm` or `ws.max_norm` of a field: the run also ends when this norm of a round's
        change is at most `tol`.  With `until`, a run that ends by `rounds` has not converged.
    tol : float, optional
        The bound for `until`; `run(tol=…)` replaces it.

    Returns
    -------
    Phases
        For `ws.run` and `ws.check`.

    Raises
    ------
    ProgramError
        If an argument is not a program, or programs declare a field with different types.
    InputError
        If another argument is invalid.

    Examples
    --------
    Influence: the sum of the neighbours' influence and one's own, then divided by the greatest, until it settles.

    >>> import cugraph_ws as ws
    >>> @ws.vertex_program
    ... class Passed:
    ...     influence: ws.float64
    ...     combine = sum
    ...     max_iter = 1
    ...
    ...     def init():
    ...         return 1.0
    ...
    ...     def compute(src):
    ...         return src.influence
    ...
    ...     def apply(old, gathered):
    ...         return old.influence + gathered
    >>> @ws.vertex_step
    ... class Scaled:
    ...     influence: ws.float64
    ...
    ...     @ws.aggregate(max)
    ...     def most(state):
    ...         return state.influence
    ...
    ...     def init():
    ...         return 1.0
    ...
    ...     def apply(old, p):
    ...         return old.influence / p.most
    >>> both = ws.phases(Passed, Scaled, until=ws.max_norm("influence"), tol=1e-6)
    >>> frame = ws.run(both, ws.datasets.karate_club(), directed=False).frame
    >>> frame.nlargest(3, "influence").round(3).to_dict("list")
    {'vertex': [33, 0, 2], 'influence': [1.0, 0.952, 0.85]}
    """
    if not programs:
        raise ProgramError("ws.phases() needs at least one vertex program")
    members = _named(
        [program if isinstance(program, Phase) else phase(program) for program in programs]
    )
    if rounds is not None:
        check_count("rounds", rounds, least=1)
    state = _shared_state(members)
    name = " + ".join(member.name for member in members)
    if until is not None and not (isinstance(until, Norm) and until.field in state):
        raise ProgramError(
            f"until={shown(until)} is not the norm of a state field; give ws.l1_norm or ws.max_norm of "
            f"one of: {', '.join(state)}"
        )
    if (tol is None) != (until is None):
        raise ProgramError(
            f"until={shown(until)}, tol={shown(tol)}: give both the norm and its bound, or neither"
        )
    if tol is not None:
        check_number("tol", tol, finite=True)
    edges = {key: value for member in members for key, value in member.program.edges.items()}
    return Phases(name, tuple(members), rounds, until, tol, state, edges)


def programs_of(program: Any) -> tuple[Any, ...]:
    """Return the programs in the first argument of `run`: one, several, or none in a loop."""
    if isinstance(program, Phases):
        return program.programs
    return (program,) if isinstance(program, (VertexProgram, EdgeProgram, WalkProgram)) else ()


def _named(members: list[Phase]) -> list[Phase]:
    """Return the phases, with numbers in their names if a program has several phases."""
    named, counts = [], dict[str, int]()
    for member in members:
        count = counts[member.program.name] = counts.get(member.program.name, 0) + 1
        name = member.program.name if count == 1 else f"{member.program.name} {count}"
        named.append(replace(member, name=name))
    return named


def _shared_state(members: list[Phase]) -> dict[str, State]:
    """Return the state fields of all programs; refuse a field with two types."""
    state: dict[str, State] = {}
    owners: dict[str, VertexProgram] = {}
    for member in members:
        for name, declared in member.program.state.items():
            first = state.setdefault(name, declared)
            owner = owners.setdefault(name, member.program)
            both_known = isinstance(first.type, ScalarType) and isinstance(
                declared.type, ScalarType
            )
            if (both_known and first.type != declared.type) or first.on_gpu != declared.on_gpu:
                raise ProgramError(
                    f"the state field `{name}` is {_shown_type(first)} in {owner.name} and "
                    f"{_shown_type(declared)} in {member.program.name}; phases share it: declare it alike, or "
                    "rename one"
                )
    return state


def _shown_type(declared: State) -> str:
    kind = repr(declared.type)
    return kind if declared.on_gpu is None else f"{kind} ({declared.on_gpu!r} on a GPU)"


def _parameters(program: VertexProgram) -> list[str]:
    """Return the names under which `run` takes a program's arguments."""
    names = list(program.parameters)
    for name, declared in program.constants.items():
        if isinstance(declared, (Jump, VertexNumber)):
            continue
        names.append(getattr(declared, "argument", None) or name)
        if isinstance(declared, VertexSet) and declared.alias is not None:
            names.append(declared.alias)
    return list(dict.fromkeys(names))

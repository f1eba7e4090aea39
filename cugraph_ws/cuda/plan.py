"""How a program's supersteps run on the CUDA engine, and how many are launched at a time."""

from __future__ import annotations

from cugraph_ws.binding import BoundProgram
from cugraph_ws.engines import Choice, Counts, Direction
from cugraph_ws.engines.cuda_push import why_not_pushed
from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cuda.layout import RECORDS
from cugraph_ws.plan import WantedDirection, gathers_from_all

__all__ = ["CudaPlan"]

FIRST_BATCH = 4  # supersteps before the host looks for the first time; then twice as many
MOST = RECORDS // 2
FIRST_PUSHES, MOST_PUSHES = 16, 1024  # supersteps of a launch, which has nobody to wait for


class CudaPlan:
    """Chooses the direction of a run, and how many supersteps are queued before the host looks.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.
    direction : {"auto", "push", "pull", "gather"}
        A direction to hold to.  "auto" is a gather or a pull.
    in_place : bool, optional
        Whether supersteps may write into the state that they read; by default where it does no
        harm: a single field whose messages may be applied one by one.
    fused : bool
        Whether a launch may push several supersteps.

    Attributes
    ----------
    ordered : bool
        False: priorities are not taken into account.
    pushes : bool
        Whether active vertices change their out-neighbours.
    frontier : bool
        Whether only active vertices are heard.
    in_place : bool
        Whether supersteps write into the state that they read.

    Raises
    ------
    InputError
        If the program cannot run in the direction.
    """

    ordered = False

    def __init__(
        self,
        bound: BoundProgram,
        *,
        direction: WantedDirection = "auto",
        in_place: bool | None = None,
        fused: bool = True,
    ) -> None:
        program = bound.program
        if direction not in ("auto", "push", "pull", "gather"):
            raise InputError(
                f"direction={direction!r} is not known; choose 'auto', 'push', 'pull' or 'gather'"
            )
        self.pushes = direction == "push"
        self._batch, self._most = FIRST_BATCH, MOST
        if self.pushes:
            if (why := why_not_pushed(bound)) is not None:
                raise InputError(
                    f"direction='push': {program.name} is not pushed on the GPU: {why}; use 'auto', or "
                    "engine='cpu'"
                )
            if in_place is False:
                raise InputError(
                    "in_place=False: a push on the GPU changes states where they are read; leave "
                    "direction= out"
                )
            self.frontier = self.in_place = True
            self._direction: Direction = "fused" if fused else "push"
            self._batch, self._most = (FIRST_PUSHES, MOST_PUSHES) if fused else (1, 1)
            return
        dense = gathers_from_all(bound)
        if dense and direction == "pull":
            raise InputError(
                f"direction='pull': {program.name} gathers from all in-neighbours in every superstep; "
                "use 'auto' or 'gather'"
            )
        may_gather = dense or program.combine in ("min", "max")
        if direction == "gather" and not may_gather:
            raise InputError(
                f"direction='gather': {program.name} counts the messages of active vertices only; use "
                "'auto' or 'pull'"
            )
        # A residual counts where a program gathers from all, and would end a search too early.
        free = bound.accumulates and may_gather and program.residual is None
        gathers = dense or direction == "gather" or free
        self.frontier = direction == "pull" or not gathers
        if in_place is None:
            in_place = program.in_place
        if in_place is None:
            in_place = not self.frontier and bound.accumulates and len(program.state) == 1
        self.in_place = bool(in_place) and not self.frontier
        self._direction = "pull" if self.frontier else "gather"

    def choose(self, counts: Counts, number: int, left: int) -> Choice:
        """Return what to run next.

        Parameters
        ----------
        counts : Counts
            What the last supersteps left.
        number : int
            Number of the next superstep, from 0.
        left : int
            How many supersteps are allowed still.

        Returns
        -------
        Choice
            The direction, and how many supersteps to queue.
        """
        batch, self._batch = self._batch, min(2 * self._batch, self._most)
        return Choice(self._direction, min(batch, left), number)

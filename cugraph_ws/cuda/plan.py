"""How a program's supersteps run on the CUDA engine, and how many are launched at a time."""

from __future__ import annotations

from cugraph_ws.binding import BoundProgram
from cugraph_ws.engines import Choice, Counts, Direction
from cugraph_ws.errors import InputError
from cugraph_ws.kernels.cuda.layout import RECORDS
from cugraph_ws.plan import WantedDirection, gathers_from_all

__all__ = ["CudaPlan"]

FIRST_BATCH = 4  # supersteps before the host looks for the first time; then twice as many
MOST = RECORDS // 2


class CudaPlan:
    """Chooses the direction of a run, and how many supersteps are queued before the host looks.

    Parameters
    ----------
    bound : BoundProgram
        The program and its traits.
    direction : {"auto", "pull", "gather"}
        A direction to hold to; a push is refused.
    in_place : bool, optional
        Whether supersteps may write into the state that they read; by default where it does no
        harm: a single field whose messages may be applied one by one.

    Attributes
    ----------
    ordered : bool
        False: priorities are not taken into account.
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
    ) -> None:
        program = bound.program
        if direction not in ("auto", "pull", "gather"):
            raise InputError(
                f"direction={direction!r}: on the GPU vertices read their in-neighbours; use 'auto', "
                "'pull' or 'gather', or engine='cpu'"
            )
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
        self._direction: Direction = "pull" if self.frontier else "gather"
        self._batch = FIRST_BATCH

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
        batch, self._batch = self._batch, min(2 * self._batch, MOST)
        return Choice(self._direction, min(batch, left), number)

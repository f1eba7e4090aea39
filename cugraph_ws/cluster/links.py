"""Links between GPUs that outlive a run: making them takes longer than most runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from cugraph_ws.cluster.nccl import NcclCrew, NcclLinks

__all__ = ["LinkPool"]


class LinkPool:
    """The links that one worker keeps; a run has some to itself.

    Parameters
    ----------
    make : callable, optional
        Makes links between the members of a crew, together.
    """

    def __init__(self, make: Callable[[Any], Any] = NcclLinks) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._held: dict[tuple[str, ...], dict[str, Any]] = {}  # by whom they are between, by name
        self._taken: set[str] = set()

    @contextmanager
    def lend(self, crew: Any, addresses: Sequence[str], run: str) -> Iterator[NcclCrew]:
        """Lend links to a run, together: those that all members have left, or new ones.

        Parameters
        ----------
        crew : DaskCrew
            The member on a slower way.
        addresses : sequence of str
            The workers of all members, in order.
        run : str
            Names the run, and links that are made for it.

        Yields
        ------
        NcclCrew
            The member, whose mail goes over them.
        """
        key = tuple(addresses)
        with self._lock:
            held = self._held.setdefault(key, {})
            broken = [held.pop(name) for name in list(held) if not held[name].alive]
            known = sorted(held)
            free = [name for name in known if name not in self._taken]
            self._taken.update(free)
        for one in broken:
            one.close()
        chosen = run
        try:
            shown = crew.allgather([free, known])
            everyone = set.intersection(*(set(theirs) for _, theirs in shown))
            common = set.intersection(*(set(theirs) for theirs, _ in shown))
            chosen = min(common, default=run)
            with self._lock:
                lost = [held.pop(name) for name in free if name not in everyone]
                self._taken.difference_update(name for name in free if name != chosen)
            for one in lost:  # which others have had to give up
                one.close()
            if chosen not in held:
                made = self._make(crew)
                with self._lock:
                    held[chosen] = made
                    self._taken.add(chosen)
            links = held[chosen]
            links.check = crew.check
            yield NcclCrew(crew, links)
        finally:
            with self._lock:
                self._taken.difference_update([*free, chosen])

    def close(self) -> None:
        """Give all links back."""
        with self._lock:
            held = [links for some in self._held.values() for links in some.values()]
            self._held.clear()
        for links in held:
            links.close()

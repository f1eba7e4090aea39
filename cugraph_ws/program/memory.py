"""What a program remembers of its former runs: a bounded number of results, by types and values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Memory"]

MOST = 512  # entries: a program is bound again for every value of its parameters
UNKNOWN = object()


class Memory(dict[Any, Any]):
    """Results by what they depend on, a tuple; the oldest are forgotten.  Those with a name are always kept."""

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, value)
        for oldest in tuple(self)[:-MOST]:
            if isinstance(oldest, tuple):
                self.pop(oldest, None)

    def recall(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return a result, which is made if it is not known; a thread beside may forget it meanwhile.

        Parameters
        ----------
        key : hashable
        make : callable
        """
        value = self.get(key, UNKNOWN)
        if value is UNKNOWN:
            value = self[key] = make()
        return value

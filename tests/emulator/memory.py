"""Arrays that check every access: bounds, what was never written, and races.

For each element is kept who last wrote it plainly, and who has since read it, or touched it by an
atomic or a racy access: enough to tell whether the next access comes after all that conflict with
it (Flanagan and Freund, FastTrack, PLDI 2009).  Atomics and declared racy accesses ("strong" ones)
never conflict with one another.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import numpy as np

from .clocks import Knowledge, knows
from .faults import NotOnDevice, OutOfBounds, Race, UninitialisedShared
from .scalars import INTEGERS, KINDS, scalar

__all__ = ["Array", "Shadow", "now", "place_of", "wrap"]

REMEMBERED = 3  # values of an element that a cache may still have
_frame = sys._getframe
_plus = int.__add__
_INDICES = frozenset((int, *INTEGERS))

Access = tuple[Any, int, Any, int]  # lane, its clock, code, instruction


class Now:
    """What runs at present; one launch at a time."""

    __slots__ = ("fuel", "idle", "lane", "machine")

    def __init__(self) -> None:
        self.lane: Any = None
        self.machine: Any = None
        self.fuel = 0  # accesses until the next switch
        self.idle = 0  # switches since anything has changed


now = Now()


def place_of(code: Any, instruction: int) -> str:
    """Return file and line of an instruction."""
    line = 0
    for start, end, number in code.co_lines():
        if start <= instruction < end and number is not None:
            line = number
    return f"{code.co_filename.rpartition('/')[2]}:{line}"


class Shadow:
    """What has been done to the elements of one piece of memory."""

    __slots__ = ("fresh", "heard", "reads", "stale", "strong", "writes")

    def __init__(self, size: int) -> None:
        self.writes: list[Access | None] = [None] * size  # the last plain write
        self.reads: list[Any] = [None] * size  # plain reads since: one, or a dict by lane
        self.strong: dict[int, dict[Any, Access]] = {}  # atomics and racy stores since
        self.fresh: dict[int, dict[Any, Access]] = {}  # racy loads since
        self.heard: dict[int, Knowledge] = {}  # what atomics have published there
        # The last values that atomics and racy stores have replaced, with the lane and its clock
        self.stale: dict[int, list[tuple[Any, Any, int]]] = {}

    def unordered(self, many: Any, lane: Any) -> Access | None:
        """Return an access by another lane that `lane` does not come after, if there is any."""
        if many is None:
            return None
        for access in (many,) if type(many) is tuple else many.values():
            if access[0] is not lane and not knows(lane, access[0], access[1]):
                return access  # type: ignore[no-any-return]
        return None


class Array:
    """One array as a kernel sees it: a bare pointer, whose bounds the emulator knows.

    Parameters
    ----------
    values : ndarray
        One-dimensional; written in place.
    name : str
        For messages.
    shadow : Shadow
        Of the memory that it lies in; the same for views of the same memory.
    offset : int
        Of the array's first element in the shadow.
    stride : int
        Elements of the shadow from one element to the next.
    shared : bool
        Whether it is a block's shared memory, which begins uninitialised.
    """

    __slots__ = ("cells", "kind", "make", "name", "offset", "shadow", "shared", "size", "stride")

    def __init__(
        self,
        values: Any,
        name: str,
        shadow: Shadow,
        offset: int = 0,
        stride: int = 1,
        shared: bool = False,
    ) -> None:
        self.kind = KINDS[values.dtype.name]
        if self.kind is bool:
            self.make: Any = bool
        elif issubclass(self.kind, float):
            self.make = partial(float.__new__, self.kind)
        else:
            self.make = self.kind.make
        self.cells: Any = memoryview(values)
        self.size = len(values)
        self.name = name
        self.shadow = shadow
        self.offset = offset
        self.stride = stride
        self.shared = shared

    # ------------------------------------------------------------------------ plain accesses

    def __getitem__(self, index: Any) -> Any:
        """Read an element; at some reads another thread goes first."""
        now.fuel -= 1
        if now.fuel < 0:
            now.machine.preempt()
        return self._read(index, _frame(1))

    def _read(self, index: Any, frame: Any) -> Any:
        if type(index) not in _INDICES or not 0 <= index < self.size:
            self._refuse(index)
        lane = now.lane
        shadow = self.shadow
        place = _plus(index, self.offset) if self.stride == 1 else self._place(index)
        write = shadow.writes[place]
        if write is None:
            if self.shared and place not in shadow.strong:
                raise UninitialisedShared(f"{self.name}[{int(index)}] was never written")
        elif write[0] is not lane and not knows(lane, write[0], write[1]):
            self._race("a plain read", index, "the plain write", write)
        if shadow.strong and place in shadow.strong:
            other = shadow.unordered(shadow.strong[place], lane)
            if other:
                self._race("a plain read", index, "the atomic or racy store", other)
        mine = (lane, lane.clock, frame.f_code, frame.f_lasti)
        reads = shadow.reads
        read = reads[place]
        if read is None:
            reads[place] = mine
        elif type(read) is dict:
            read[lane] = mine
        elif read[0] is lane or knows(lane, read[0], read[1]):
            reads[place] = mine
        else:
            reads[place] = {read[0]: read, lane: mine}
        return self.make(self.cells[index])

    def __setitem__(self, index: Any, value: Any) -> None:
        """Write an element; at some writes another thread goes first."""
        now.fuel -= 1
        if now.fuel < 0:
            now.machine.preempt()
        if type(index) not in _INDICES or not 0 <= index < self.size:
            self._refuse(index)
        kind = self.kind
        if type(value) is not kind:
            value = self.cast(value)
        lane = now.lane
        shadow = self.shadow
        place = _plus(index, self.offset) if self.stride == 1 else self._place(index)
        write = shadow.writes[place]
        if write is not None and write[0] is not lane and not knows(lane, write[0], write[1]):
            self._race("a plain write", index, "the plain write", write)
        read = shadow.reads[place]
        if read is not None:
            other = shadow.unordered(read, lane)
            if other:
                self._race("a plain write", index, "the plain read", other)
            shadow.reads[place] = None
        for known, what in (
            (shadow.strong, "the atomic or racy store"),
            (shadow.fresh, "the racy load"),
        ):
            if known and place in known:
                other = shadow.unordered(known[place], lane)
                if other:
                    self._race("a plain write", index, what, other)
                del known[place]
        frame = _frame(1)
        shadow.writes[place] = (lane, lane.clock, frame.f_code, frame.f_lasti)
        now.idle = 0
        self.cells[index] = value

    # ----------------------------------------------------------------------- strong accesses

    def load_once(self, index: Any, frame: Any) -> Any:
        """Read an element of global memory, plainly."""
        self._global_only("load_once")
        return self._read(index, frame)

    def load_fresh(self, index: Any, frame: Any) -> Any:
        """Read an element that others may be writing."""
        self._global_only("load_fresh")
        place = self._checked(index)
        self._after_write("a racy load", index, place)
        lane = now.lane
        mine = (lane, lane.clock, frame.f_code, frame.f_lasti)
        self.shadow.fresh.setdefault(place, {})[lane] = mine
        now.idle += 1
        return self.make(self.cells[index])

    def load_cached(self, index: Any, frame: Any) -> Any:
        """Read an element that others may be writing, as it is or as a cache may still have it.

        That is any value whose replacement the thread has not heard of by a barrier or a fence.
        """
        current = self.load_fresh(index, frame)
        lane = now.lane
        possible = [
            value
            for value, other, clock in self.shadow.stale.get(self._place(index), ())
            if other is not lane and not knows(lane, other, clock)
        ]
        return now.machine.random.choice([current, *possible]) if possible else current

    def store_fresh(self, index: Any, value: Any, frame: Any) -> None:
        """Write an element that others may be using."""
        self._global_only("store_fresh")
        place = self._checked(index)
        self._strong("a racy store", index, place, frame)
        self.shadow.heard.pop(place, None)
        now.idle = 0
        self._replace(index, place, self.cast(value))

    def _replace(self, index: Any, place: int, value: Any) -> None:
        """Write an element, and remember for a while what it was."""
        lane = now.lane
        stale = self.shadow.stale.setdefault(place, [])
        stale.append((self.make(self.cells[index]), lane, lane.clock))
        del stale[:-REMEMBERED]
        self.cells[index] = value

    def atomic(
        self, index: Any, change: Callable[[Any], Any], frame: Any, reads: bool = True
    ) -> Any:
        """Replace an element by what `change` makes of it, or leave it if that is None.

        What the thread published by its last fence can be heard there from now on; what others
        did, the thread hears at its next fence.
        """
        place = self._checked(index)
        shadow = self.shadow
        if reads and self.shared and shadow.writes[place] is None and place not in shadow.strong:
            raise UninitialisedShared(f"{self.name}[{int(index)}] was never written")
        self._strong("an atomic", index, place, frame)
        lane = now.lane
        old = self.make(self.cells[index])
        new = change(old)
        told = shadow.heard.get(place)
        if told is not None:
            lane.hear(told)
        if new is None:
            now.idle += 1
            return old
        if lane.published is not None:
            shadow.heard[place] = lane.published_with(told)
        now.idle = 0 if new != old else now.idle + 1
        if self.shared:
            self.cells[index] = new
        else:
            self._replace(index, place, new)
        return old

    def _strong(self, what: str, index: Any, place: int, frame: Any) -> None:
        self._after_write(what, index, place)
        lane = now.lane
        read = self.shadow.unordered(self.shadow.reads[place], lane)
        if read:
            self._race(what, index, "the plain read", read)
        mine = (lane, lane.clock, frame.f_code, frame.f_lasti)
        self.shadow.strong.setdefault(place, {})[lane] = mine

    def _after_write(self, what: str, index: Any, place: int) -> None:
        other = self.shadow.unordered(self.shadow.writes[place], now.lane)
        if other:
            self._race(what, index, "the plain write", other)

    # ------------------------------------------------------------------------------- details

    def cast(self, value: Any) -> Any:
        """Convert a value to the elements' type."""
        return self.kind(value)

    def _place(self, index: int) -> int:
        return int(index) * self.stride + self.offset

    def _checked(self, index: Any) -> int:
        if type(index) not in _INDICES or not 0 <= index < self.size:
            self._refuse(index)
        return self._place(index)

    def _refuse(self, index: Any) -> NoReturn:
        if isinstance(index, slice | tuple):
            raise NotOnDevice(f"{self.name}[{index}]: an array is a bare pointer")
        raise OutOfBounds(f"{self.name}[{index!r}] of {self.size} elements")

    def _race(self, one: str, index: Any, two: str, other: Access) -> NoReturn:
        lane, _, code, instruction = other
        raise Race(
            f"{one} of {self.name}[{int(index)}] is not ordered with {two} by block "
            f"{lane.block.index}, thread {lane.thread} at {place_of(code, instruction)}"
        )

    def _global_only(self, name: str) -> None:
        if self.shared:
            raise NotOnDevice(f"{name} of {self.name}, which is shared memory")

    def __len__(self) -> int:
        raise NotOnDevice(f"len({self.name}): an array is a bare pointer")

    def __iter__(self) -> Any:
        raise NotOnDevice(f"a loop over {self.name}: an array is a bare pointer")

    def __bool__(self) -> bool:
        raise NotOnDevice(f"the truth of {self.name}: an array is a bare pointer")

    def __getattr__(self, name: str) -> Any:
        raise NotOnDevice(f"{self.name}.{name}: an array is a bare pointer")


# ------------------------------------------------------------------------ arguments of a launch


def _span(values: Any) -> tuple[int, int]:
    low, high = np.lib.array_utils.byte_bounds(values)
    return int(low), int(high)


def wrap(arguments: dict[str, Any]) -> list[Any]:
    """Wrap the arrays of a launch's arguments; views of the same memory share a shadow.

    Parameters
    ----------
    arguments : dict
        By the parameter's name: arrays, numbers, and tuples of such.

    Returns
    -------
    list
        The arguments as the kernel gets them.

    Raises
    ------
    TypeError
        If an argument is none of these.
    ValueError
        If an array is not one-dimensional, or if overlapping views differ in item size.
    """
    arrays: list[tuple[int, int, Any]] = []
    _collect(tuple(arguments.values()), arrays)
    shadows: dict[int, tuple[Shadow, int]] = {}  # by address of an array's lowest byte
    arrays.sort(key=lambda one: one[0])
    start = 0
    while start < len(arrays):
        low, high, first = arrays[start]
        stop = start + 1
        while stop < len(arrays) and arrays[stop][0] < high:
            high = max(high, arrays[stop][1])
            if arrays[stop][2].itemsize != first.itemsize or (
                (arrays[stop][0] - low) % first.itemsize
            ):
                raise ValueError("overlapping views must have elements of one size, aligned")
            stop += 1
        shadow = Shadow((high - low) // first.itemsize)
        shadows.update({arrays[place][0]: (shadow, low) for place in range(start, stop)})
        start = stop
    return [_wrapped(value, name, shadows) for name, value in arguments.items()]


def _collect(value: Any, arrays: list[tuple[int, int, Any]]) -> None:
    if isinstance(value, tuple):
        for one in value:
            _collect(one, arrays)
    elif isinstance(value, np.ndarray):
        if value.ndim != 1:
            raise ValueError(f"an array of {value.ndim} dimensions; kernels take flat ones")
        if len(value):
            arrays.append((*_span(value), value))


def _wrapped(value: Any, name: str, shadows: dict[int, tuple[Shadow, int]]) -> Any:
    if isinstance(value, tuple):
        parts = [_wrapped(one, f"{name}[{i}]", shadows) for i, one in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if not isinstance(value, np.ndarray):
        return scalar(value)
    if value.dtype.name not in KINDS:
        raise TypeError(f"{name}: an array of {value.dtype}")
    if not len(value):
        return Array(value, name, Shadow(0))
    shadow, low = shadows[_span(value)[0]]
    offset = (value.ctypes.data - low) // value.itemsize
    return Array(value, name, shadow, offset, value.strides[0] // value.itemsize)

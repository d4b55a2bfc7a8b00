"""Three stages of a stream of work side by side: a source, a transformation and a sink."""

import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Taken = TypeVar("Taken")
Made = TypeVar("Made")
Item = TypeVar("Item")

WAITING = 2
"""Items between two stages."""


def overlapped(
    source: Iterable[Taken],
    transform: Callable[[Taken], Made],
    sink: Callable[[Made], None],
) -> None:
    """Give `transform(item)` for each item of `source`, in order, to `sink`.

    Source and sink run in a thread each, the transformation in the caller's; at most
    WAITING items lie between two stages. Whichever stage fails first stops the others, and its
    exception is raised when they have stopped.
    """
    taken: _Channel[Taken] = _Channel(WAITING)
    made: _Channel[Made] = _Channel(WAITING)

    def guarded(stage: Callable[[], None]) -> None:
        try:
            stage()
        except _Cancelled:
            pass
        except BaseException:
            taken.cancel()
            made.cancel()
            raise

    def take() -> None:
        for item in source:
            taken.put(item)
        taken.close()

    def make() -> None:
        for item in taken:
            made.put(transform(item))
        made.close()

    def give() -> None:
        for item in made:
            sink(item)

    with ThreadPoolExecutor(2) as pool:
        stages = [pool.submit(guarded, take), pool.submit(guarded, give)]
        guarded(make)
    for stage in stages:
        stage.result()


class _Cancelled(Exception):
    """Another stage has failed."""


class _Channel(Generic[Item]):
    """A bounded queue that can be closed at one end and cancelled from anywhere."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._items: deque[Item] = deque()
        self._changed = threading.Condition()
        self._closed = self._cancelled = False

    def put(self, item: Item) -> None:
        """Wait for room and leave `item`; raises _Cancelled."""
        with self._changed:
            self._changed.wait_for(lambda: self._cancelled or len(self._items) < self._size)
            self._check()
            self._items.append(item)
            self._changed.notify_all()

    def close(self) -> None:
        """Nothing more will come."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def cancel(self) -> None:
        """Wake all who wait; they and all who come later get _Cancelled."""
        with self._changed:
            self._cancelled = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Item]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._cancelled or self._closed or self._items)
                self._check()
                if not self._items:
                    return
                item = self._items.popleft()
                self._changed.notify_all()
            yield item

    def _check(self) -> None:
        if self._cancelled:
            raise _Cancelled

"""Many requests at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def at_once(count: int, work: Callable[[int], T]) -> list[T]:
    """What `work` answered to 0, 1, 2 …, all begun together."""
    start = threading.Barrier(count)

    def run(number: int) -> T:
        start.wait(30)
        return work(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))

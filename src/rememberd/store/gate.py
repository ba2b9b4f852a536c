"""Lets many readers of one database in together, or one task alone while no reader is inside.

A reader inside blocks the truncation of the write-ahead log, and with it the proof that deleted
bytes are gone (SQLite answers busy and does nothing).
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager


class Gate:
    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside = 0
        self._alone = False

    @contextmanager
    def shared(self) -> Generator[None]:
        with self._changed:
            while self._alone:
                self._changed.wait()
            self._inside += 1
        try:
            yield
        finally:
            with self._changed:
                self._inside -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Generator[None]:
        with self._changed:
            while self._alone:
                self._changed.wait()
            self._alone = True  # from now on nobody enters, so this ends
            while self._inside:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._alone = False
                self._changed.notify_all()

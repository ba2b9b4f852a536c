"""What the machine itself allows, measured beside ours: nothing here is rememberd.

A store cannot be acknowledged faster than the disk commits, nor any call be answered for less than
a server costs that answers the same bytes without thinking.
"""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw

from bench.serving import Process, free_port, running

_KEY = "00" * 32
_SCHEMA = "CREATE TABLE IF NOT EXISTS memory (seq INTEGER PRIMARY KEY, text TEXT NOT NULL)"
_TEXT = "x" * 250


@contextmanager
def bare(size: int) -> Generator[Process]:
    """A server that answers every POST to /mcp with that many bytes."""
    port = free_port()
    with running(["-m", "bench.bare", str(port), str(size)], port) as pid:
        yield Process(port, pid)


def commits_per_second(folder: Path, writers: int, seconds: float) -> float:
    """Rows that one SQLite file takes in a second, when `writers` share each commit.

    Encrypted and synchronised as a vault is, but one table without an index.
    """
    file = folder / "ceiling.db"
    connection: Any = apsw.Connection(str(file))  # its stubs are not complete
    with closing(connection):
        connection.execute(f"PRAGMA key = 'raw:{_KEY}'").fetchall()
        for name, value in (
            ("journal_mode", "wal"),
            ("synchronous", "full"),
            ("fullfsync", "on"),
            ("secure_delete", "on"),
        ):
            connection.pragma(name, value)
        connection.execute(_SCHEMA)
        return _commits(connection, writers, seconds)


def _commits(connection: Any, writers: int, seconds: float) -> float:
    rows = [(_TEXT,)] * writers
    done, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        connection.execute("BEGIN IMMEDIATE")
        connection.executemany("INSERT INTO memory (text) VALUES (?)", rows)
        connection.execute("COMMIT")
        done += writers
    return done / (time.perf_counter() - began)

"""One open database file: its connections, its writer thread, and how to reach them.

Reads run on a bounded set of threads, writes on the one thread the database is pinned to. Only this
module hands out connections, and never two users to one at a time.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

import apsw

from rememberd.errors import ForeignDatabase, StorageError
from rememberd.model import Mode
from rememberd.store import queries, sqlite
from rememberd.store.gate import Gate
from rememberd.store.migrate import migrate
from rememberd.store.place import sync_folder
from rememberd.store.transaction import Transaction
from rememberd.store.writer import Job, Writer, wait

T = TypeVar("T")
IDLE_READERS = 2


def create(path: Path, book: str, key: bytes | None, identity: str) -> None:
    """Make a new file that says whose it is. Blocks; runs on any thread.

    The file takes its name when it is whole, so a crash leaves none that cannot be opened.
    Raises StorageError when it exists.
    """
    if path.exists():
        raise StorageError(f"{path.name} exists already; it was left alone.")
    part = path.with_suffix(".part")
    for left_over in part.parent.glob(f"{part.name}*"):
        left_over.unlink()
    part.touch(mode=0o600)  # the log and the shared memory take their modes from it
    with sqlite.translated():
        connection = sqlite.connect(part, key, "rw", create=True)
        try:
            connection.pragma("application_id", sqlite.APPLICATION_ID)
            connection.pragma("journal_mode", "wal")
            migrate(connection, book)
            connection.execute("INSERT INTO meta VALUES ('identity', ?)", (identity,))
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            connection.close()
    part.rename(path)
    sync_folder(path.parent)


class Database:
    """Open with `Database.open`; every method may be called from any thread."""

    def __init__(
        self,
        path: Path,
        book: str,
        key: bytes | None,
        writer: Writer,
        readers: ThreadPoolExecutor,
    ) -> None:
        self.path = path
        self.title = path.name  #: what people call it; a vault's file is named by its id
        self.gate = Gate()
        self.closed = False
        self._book = book
        self._key = key
        self._queries = queries.load(book)
        self._writer = writer
        self._readers = readers
        self._idle: deque[apsw.Connection] = deque()
        self._writing: dict[str, apsw.Connection] = {}

    # -- opening and closing ---------------------------------------------------------------------

    def open(self, identity: str) -> None:
        """Check the file and bring its schema up to date. Blocks; runs on any thread, once.

        Raises one error each for a missing, truncated, foreign or corrupt file, a wrong key and a
        newer schema.
        """
        with sqlite.translated():
            sqlite.check(self.path, self._key)
            connection = sqlite.connect(self.path, self._key, "rw")
            try:
                connection.pragma("journal_mode", "wal")
                self._check_identity(connection, identity)
                migrate(connection, self._book)
            except BaseException:
                connection.close()
                raise
        self._writing["rw"] = connection

    def _check_identity(self, connection: apsw.Connection, identity: str) -> None:
        row = connection.execute("SELECT value FROM meta WHERE name = 'identity'").fetchone()
        if row is None or row[0] != identity:
            raise ForeignDatabase(f"{self.path.name} holds something else than its name says.")

    def close(self) -> None:
        """Wait for readers and close every connection. Runs on the writer thread."""
        with self.gate.alone():
            self.closed = True
            while self._idle:
                self._idle.pop().close()
            for connection in self._writing.values():
                connection.close()
            self._writing.clear()

    # -- reading -----------------------------------------------------------------------------------

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a read transaction of a connection that cannot write."""
        try:
            reading = self._readers.submit(self.read_here, work)
        except RuntimeError:  # how a pool says that it was shut down
            raise StorageError("The store is closed.") from None
        return await asyncio.wrap_future(reading)

    def read_here(self, work: Callable[[Transaction], T]) -> T:
        """The same on this thread, for short look-ups."""
        with self.gate.shared(), sqlite.translated():
            if self.closed:
                raise StorageError("The database was closed.")
            connection = self._take()
            try:
                connection.execute("BEGIN")
                return work(Transaction(connection, self._queries))
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._give_back(connection)

    def _take(self) -> apsw.Connection:
        try:
            return self._idle.pop()
        except IndexError:
            return sqlite.connect(self.path, self._key, "ro")

    def _give_back(self, connection: apsw.Connection) -> None:
        if len(self._idle) < IDLE_READERS:
            self._idle.append(connection)
        else:
            connection.close()

    # -- writing -----------------------------------------------------------------------------------

    async def write(self, work: Callable[[Transaction], T], mode: Mode = "rw") -> T:
        """Run `work` in a group commit; returns once it is on disk."""
        result: T = await wait(self.submit(work, mode))
        return result

    def submit(self, work: Callable[[Transaction], T], mode: Mode = "rw") -> Future[T]:
        return self._writer.submit(Job(self, mode, work))

    async def alone(self, work: Callable[[Database], T]) -> T:
        """Run `work` on the writer thread outside any transaction, between two commits."""
        result: T = await wait(self._writer.submit(Job(self, "rw", work, alone=True)))
        return result

    def begin(self, mode: str) -> Transaction:
        """The writing connection of `mode`. Only the writer thread calls this."""
        if self.closed:
            raise StorageError("The database was closed; nothing was stored.")
        connection = self._writing.get(mode)
        if connection is None:
            connection = sqlite.connect(
                self.path, self._key, "record" if mode == "record" else "rw"
            )
            self._writing[mode] = connection
        return Transaction(connection, self._queries)

    def truncate_log(self, drop_caches: Callable[[], None] | None = None) -> None:
        """Empty the write-ahead log, so that deleted bytes are gone. Runs on the writer thread.

        `drop_caches` runs while no reader is inside, so none can fill them again from the past.
        Raises StorageError when the log did not empty; then nothing may be called erased yet.
        """
        with self.gate.alone():
            if drop_caches is not None:
                drop_caches()
            connection = self.begin("rw").connection
            for _ in range(3):
                left, _moved = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                if left == 0:
                    return
        raise StorageError("The write-ahead log could not be emptied; try the deletion again.")

"""Opens all that lies below one data directory and hands out vaults: a handle per vault and mode.

There is one Store per process and data directory. It keeps a bounded number of vaults open, marks a
vault dirty before its first write, and lets one task have a vault to itself.
"""

from __future__ import annotations

import asyncio
import resource
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator, Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import TypeVar

from rememberd.clock import Clock
from rememberd.errors import (
    DatabaseMissing,
    NotFound,
    ReadOnly,
    StorageError,
    VaultUnavailable,
    WrongKey,
)
from rememberd.model import Mode, Vault, VaultStatus
from rememberd.store import control, memories, sqlite
from rememberd.store.cache import VaultCache
from rememberd.store.database import IDLE_READERS, Database, create
from rememberd.store.keyring import Keyring
from rememberd.store.place import DataDirectory
from rememberd.store.transaction import Transaction
from rememberd.store.writer import Writer, Writers

T = TypeVar("T")
_OTHER_FILES = 100  # sockets, logs, control, keys
_MOST_OPEN = 256


@dataclass(frozen=True, slots=True)
class StoreOptions:
    """What the store needs of the settings."""

    master_key: str | None = None
    writer_threads: int = 4
    reader_threads: int = 4
    open_vaults: int | None = None  #: None: from the limit on open files
    cache_bytes: int = 256 * 1024 * 1024


class VaultHandle:
    """The only object on which memory queries run: one vault, one mode."""

    def __init__(self, store: Store, vault_id: str, database: Database, mode: Mode) -> None:
        self._store = store
        self._vault_id = vault_id
        self._database = database
        self.mode: Mode = mode

    async def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a read transaction, on a connection that cannot write."""
        with _naming(self._database.title):
            return await self._database.read(work)

    async def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in a group commit; durable when this returns. Raises ReadOnly unless `rw`."""
        if self.mode != "rw":
            raise ReadOnly
        # Giving up waiting does not undo the write, so it must go on being counted.
        return await asyncio.shield(self._write(work))

    async def _write(self, work: Callable[[Transaction], T]) -> T:
        async with self._store.writing(self._vault_id):
            with _naming(self._database.title):
                return await self._database.write(work)

    async def record(self, work: Callable[[Transaction], T]) -> T:
        """Add rows to the ledger, and do nothing else. Raises ReadOnly on a `ro` handle."""
        if self.mode == "ro":
            raise ReadOnly
        with _naming(self._database.title):
            return await self._database.write(work, "record")

    async def scrub(self) -> None:
        """After a deletion: drop what is cached and empty the log, so that no byte is left.

        Raises StorageError when that did not succeed.
        """
        if self.mode != "rw":
            raise ReadOnly
        cache, vault_id = self._store.cache, self._vault_id
        await self._database.alone(
            lambda database: database.truncate_log(lambda: cache.drop(vault_id))
        )

    def ask_for_work(self) -> None:
        """Let the worker look after this vault, as after a write."""
        self._store.on_work(self._vault_id)

    def cached(self, make: Callable[[], T]) -> T:
        """What is kept in memory about this vault; see `VaultCache`."""
        return self._store.cache.get(self._vault_id, make)  # type: ignore[type-var]

    def trim_cache(self) -> None:
        self._store.cache.trim()


class Store:
    """Open with `Store.open`, close with `close`."""

    def __init__(
        self,
        directory: DataDirectory,
        options: StoreOptions,
        clock: Clock,
        control_database: Database,
        keyring: Keyring,
        readers: ThreadPoolExecutor,
        own_writers: tuple[Writer, ...],
    ) -> None:
        self.directory = directory
        self.clock = clock
        self.control = control_database
        self.keyring = keyring
        self.cache = VaultCache(options.cache_bytes)
        self.on_work: Callable[[str], None] = lambda vault_id: None
        self._readers = readers
        self._own_writers = own_writers
        self._writers = Writers(options.writer_threads)
        self._most_open = options.open_vaults or _room_for_vaults()
        self._open: OrderedDict[str, Database] = OrderedDict()
        self._users: Counter[str] = Counter()
        self._barred: set[str] = set()
        self._changed = asyncio.Event()
        self._opening = asyncio.Lock()
        #: Held while keys are exported or destroyed, so that a certificate names every export.
        self.key_changes = asyncio.Lock()
        self._dirty: set[str] = set()
        self._inflight: Counter[str] = Counter()
        self._writes: Counter[str] = Counter()

    @classmethod
    async def open(cls, directory: DataDirectory, options: StoreOptions, clock: Clock) -> Store:
        """Open control and key store, made at first start. The caller holds the directory's lock.

        Raises StorageError and its kinds.
        """
        sqlite.check_engine()
        directory.prepare()
        readers = ThreadPoolExecutor(options.reader_threads, thread_name_prefix="reader")
        writers = Writer("writer-control"), Writer("writer-keys")
        database = Database(directory.control, "control", None, writers[0], readers)
        try:
            _open_control(directory, database)
            started = database.read_here(lambda tx: tx.value("any_vault")) is not None
            keyring = Keyring.open(
                Database(directory.keys, "keys", None, writers[1], readers),
                options.master_key,
                directory.master_key,
                clock,
                may_create=not started,
            )
            store = cls(directory, options, clock, database, keyring, readers, writers)
            store._dirty.update(database.read_here(control.dirty_vaults))
        except BaseException:
            database.close()
            for writer in writers:
                writer.close()
            readers.shutdown()
            raise
        return store

    async def close(self) -> None:
        """Finish what is queued and close every file."""
        async with self._opening:
            for database in self._open.values():
                await database.alone(Database.close)
            self._open.clear()
        await self.control.alone(Database.close)
        await self.keyring.close()
        for writer in (self._writers, *self._own_writers):
            await asyncio.to_thread(writer.close)
        self._readers.shutdown()

    # -- vaults ------------------------------------------------------------------------------------

    @asynccontextmanager
    async def vault(self, vault_id: str, mode: Mode) -> AsyncGenerator[VaultHandle]:
        """A handle on one vault.

        Raises NotFound, VaultUnavailable, or what `Database.open` does.
        """
        await self._until(lambda: vault_id not in self._barred)
        self._users[vault_id] += 1  # from now on it is neither closed nor kept from us
        try:
            yield VaultHandle(self, vault_id, await self._opened(vault_id), mode)
        finally:
            self._leave(vault_id)

    def _leave(self, vault_id: str) -> None:
        self._users[vault_id] -= 1
        if self._users[vault_id] == 0:
            del self._users[vault_id]
            self._changed.set()

    async def _until(self, ready: Callable[[], bool]) -> None:
        """Wait for something that changes when a vault is left, closed or free for all again."""
        while not ready():
            self._changed.clear()
            await self._changed.wait()

    # -- opening and closing files -----------------------------------------------------------------

    async def _opened(self, vault_id: str) -> Database:
        """The open database, for a task that is counted as a user of it."""
        while vault_id not in self._open:
            await self._until(lambda: vault_id in self._open or self._has_room())
            # Shielded: a caller that goes away must not leave an open file that nobody knows of.
            await asyncio.shield(self._open_vault(vault_id))
        self._open.move_to_end(vault_id)
        return self._open[vault_id]

    def _has_room(self) -> bool:
        return len(self._open) < self._most_open or self._idle() is not None

    def _idle(self) -> str | None:
        """The least recently used of the open vaults that nobody uses now."""
        return next((name for name in self._open if not self._users[name]), None)

    async def _open_vault(self, vault_id: str) -> None:
        """Open one vault if there is still room when its turn has come."""
        async with self._opening:
            while len(self._open) >= self._most_open and (idle := self._idle()):
                await self._close_file(idle)
            if vault_id in self._open or len(self._open) >= self._most_open:
                return
            vault = await self.control.read(lambda tx: control.vault(tx, vault_id))
            database = await asyncio.get_running_loop().run_in_executor(
                self._readers, self._open_file, vault
            )
            try:
                with _naming(database.title):
                    await database.write(memories.reindex)
            except BaseException:
                await database.alone(Database.close)
                raise
            self._open[vault_id] = database
            self._changed.set()

    async def _close_file(self, vault_id: str) -> None:
        database = self._open.pop(vault_id, None)
        if database is not None:
            await database.alone(Database.close)
            self._changed.set()

    def _open_file(self, vault: Vault) -> Database:
        if vault.status is VaultStatus.ERASED:
            raise NotFound("There is no such vault.")
        if vault.status is not VaultStatus.READY:
            raise VaultUnavailable
        title = f"Vault {vault.name}"
        with _naming(title):
            database = self.file(vault.id, vault.generation, self._key(vault))
            database.open(vault.id)
        database.title = title
        return database

    def _key(self, vault: Vault) -> bytes:
        """Raises WrongKey when there is none."""
        key = self.keyring.get(vault.id, vault.generation)
        if key is None and self.keyring.is_destroyed((vault.id, vault.generation)):
            raise WrongKey(
                "This vault was erased or emptied after this backup of it was made. Its key is "
                "destroyed for good; `rememberd vault erase` removes what is left."
            )
        if key is None:
            raise WrongKey(
                "The key store holds no key for this vault. Take it in from an export with "
                "`rememberd keys import`."
            )
        return key

    def file(self, vault_id: str, generation: int, key: bytes) -> Database:
        """The database object of a vault's file, not opened yet."""
        path = self.directory.vault(vault_id, generation)
        return Database(path, "vault", key, self._writers.next(), self._readers)

    @asynccontextmanager
    async def alone(self, vault_id: str) -> AsyncGenerator[None]:
        """Keep everybody else out of a vault: wait for its users, let nobody in until the end."""
        await self._until(lambda: vault_id not in self._barred)
        self._barred.add(vault_id)
        try:
            await self._until(lambda: not self._users[vault_id])
            self._users[vault_id] += 1  # so that the file is not closed as idle
            try:
                yield
            finally:
                self._leave(vault_id)
        finally:
            self._barred.remove(vault_id)
            self._changed.set()

    async def open_alone(self, vault_id: str) -> Database:
        """The open database, for the task that has the vault to itself."""
        return await self._opened(vault_id)

    async def close_alone(self, vault_id: str) -> None:
        """Close the file and drop what is cached, for the task that has the vault to itself."""
        async with self._opening:  # one that began before the vault was barred ends first
            await self._close_file(vault_id)
        self.cache.drop(vault_id)
        self._dirty.discard(vault_id)

    # -- work for the worker -----------------------------------------------------------------------

    @asynccontextmanager
    async def writing(self, vault_id: str) -> AsyncGenerator[None]:
        """Around every write: the vault is marked dirty before, the worker is told after."""
        self._users[vault_id] += 1  # the one who asked may go away before the end
        self._inflight[vault_id] += 1
        try:
            await self._mark_dirty(vault_id)
            yield
        finally:
            self._inflight[vault_id] -= 1
            self._writes[vault_id] += 1
            self._leave(vault_id)
            self.on_work(vault_id)

    async def _mark_dirty(self, vault_id: str) -> None:
        """Note durably that this vault may hold work, so that a start never opens every file."""
        if vault_id not in self._dirty:
            await self.control.write(lambda tx: tx.run("set_dirty", id=vault_id, dirty=1))
            self._dirty.add(vault_id)

    def dirty(self) -> list[str]:
        return sorted(self._dirty)

    def writes(self, vault_id: str) -> int:
        """How many writes in this vault have ended since the start; compare in `settle`."""
        return self._writes[vault_id]

    async def settle(self, vault_id: str, writes: int) -> bool:
        """The worker found nothing left to do after `writes` writes.

        False, and the vault stays dirty, when another one ended since or goes on.
        """
        if self._inflight[vault_id] or self._writes[vault_id] != writes:
            return False
        self._dirty.discard(vault_id)
        # A write that comes now marks the vault dirty again, behind this one on the same thread.
        await self.control.write(lambda tx: tx.run("set_dirty", id=vault_id, dirty=0))
        return True


@contextmanager
def _naming(title: str) -> Generator[None]:
    """Let an error say which vault it is about: to people a file's name says nothing."""
    try:
        yield
    except StorageError as error:
        raise type(error)(f"{title}: {error.message}") from error


def _open_control(directory: DataDirectory, database: Database) -> None:
    """Made at the very first start only: anything else that is here has lost its control database.

    Raises DatabaseMissing.
    """
    if not directory.control.exists():
        if directory.keys.exists() or any(directory.vaults.iterdir()):
            raise DatabaseMissing(
                f"{directory.control} is missing, but keys or vaults are here. Restore it from the "
                "backup that they come from."
            )
        create(directory.control, "control", None, "control")
    database.open("control")


def _room_for_vaults() -> int:
    """Vaults that fit into the limit on open files: the file, its log and shared memory each."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    per_vault = 3 + 2 * (IDLE_READERS + 1)
    return max(4, min(_MOST_OPEN, (limit - _OTHER_FILES) // per_vault))

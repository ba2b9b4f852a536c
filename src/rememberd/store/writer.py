"""Threads that write: work for one database always runs on one thread, gathered into group commits.

Nothing is acknowledged before its COMMIT has returned; a COMMIT that fails fails everything in it.
Each operation stands in a SAVEPOINT of its own, so one that raises takes no other with it.
"""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Protocol

import apsw

from rememberd.errors import StorageError
from rememberd.store.sqlite import translated
from rememberd.store.transaction import Transaction

MOST_PER_COMMIT = 256


class Target(Protocol):
    """What the writer needs of a database."""

    def begin(self, mode: str) -> Transaction: ...


@dataclass(slots=True, eq=False)
class Job:
    """One operation waiting for its turn. `alone`: outside any transaction, nothing beside it."""

    target: Any
    mode: str
    work: Callable[[Any], Any]
    alone: bool = False
    future: Future[Any] = field(default_factory=Future[Any])
    result: Any = None
    error: BaseException | None = None

    def fail(self, error: BaseException) -> None:
        self.result, self.error = None, error


class Writers:
    """A fixed set of writer threads; a database is pinned to one when it is opened."""

    def __init__(self, count: int) -> None:
        self._writers = [Writer(f"writer-{number}") for number in range(count)]
        self._turn = itertools.cycle(self._writers)

    def next(self) -> Writer:
        return next(self._turn)

    def close(self) -> None:
        for writer in self._writers:
            writer.close()


class Writer:
    """One thread and its queue."""

    def __init__(self, name: str) -> None:
        self._queue: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._closing = threading.Lock()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def submit(self, job: Job) -> Future[Any]:
        # Under the lock, because nobody would ever answer a job that is queued behind the end.
        with self._closing:
            if self._closed:
                raise StorageError("The store is closed; nothing was stored.")
            self._queue.put(job)
        return job.future

    def close(self) -> None:
        """Finish what is queued, then stop."""
        with self._closing:
            self._closed = True
            self._queue.put(None)
        if threading.current_thread() is not self._thread:
            self._thread.join()

    def _run(self) -> None:
        while True:
            jobs, last = self._gather()
            for group in _groups(jobs):
                if group[0].alone:
                    _run_alone(group[0])
                else:
                    _commit(group)
                _deliver(group)
            if last:
                return

    def _gather(self) -> tuple[list[Job], bool]:
        """Everything that waits now; the commit before gave others time to queue up."""
        jobs: list[Job] = []
        item = self._queue.get()
        while item is not None:
            jobs.append(item)
            if len(jobs) == MOST_PER_COMMIT:
                return jobs, False
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True


def _groups(jobs: list[Job]) -> list[list[Job]]:
    """Jobs that can share a commit, in the order in which each database was asked."""
    groups: list[list[Job]] = []
    current: dict[int, list[Job]] = {}
    for job in jobs:
        open_group = current.get(id(job.target))
        if open_group and _can_share(open_group[0], job):
            open_group.append(job)
            continue
        group = [job]
        groups.append(group)
        current[id(job.target)] = group
    return groups


def _can_share(one: Job, other: Job) -> bool:
    return one.mode == other.mode and not one.alone and not other.alone


def _run_alone(job: Job) -> None:
    try:
        with translated():
            job.result = job.work(job.target)
    except BaseException as error:  # noqa: BLE001 - handed to the caller, who is waiting for it
        job.fail(error)


def _commit(group: list[Job]) -> None:
    """One transaction for the whole group."""
    try:
        with translated():
            transaction = group[0].target.begin(group[0].mode)
            connection = transaction.connection
            connection.execute("BEGIN IMMEDIATE")
            try:
                for job in group:
                    _run_in_savepoint(connection, transaction, job)
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
    except BaseException as error:  # noqa: BLE001 - handed to the callers, who are waiting for it
        for job in group:
            job.fail(error)


def _run_in_savepoint(connection: apsw.Connection, transaction: Transaction, job: Job) -> None:
    connection.execute("SAVEPOINT job")
    try:
        with translated():
            job.result = job.work(transaction)
    except BaseException as error:
        if not connection.in_transaction:
            raise  # the engine itself rolled back (disk full, I/O error): the whole group failed
        job.fail(error)
        connection.execute("ROLLBACK TO job")
    connection.execute("RELEASE job")


def _deliver(group: list[Job]) -> None:
    for job in group:
        if not job.future.set_running_or_notify_cancel():
            continue
        if job.error is None:
            job.future.set_result(job.result)
        else:
            job.future.set_exception(job.error)


async def wait(future: Future[Any]) -> Any:
    """Wait for a writer's answer. Giving up waiting does not undo the write."""
    return await asyncio.shield(asyncio.wrap_future(future))

"""Kills a process at every step of a life-cycle operation and tells what the next start finds.

Run as a program, because what is killed must not be the test run itself. One process that has
loaded everything forks a victim and a witness for every step; it never opens a database of its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from rememberd.errors import RememberdError
from rememberd.store import (
    control,
    database,
    key_exports,
    ledger,
    lifecycle,
    place,
    sqlite,
    writer,
)
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction
from tests.store.world import new_vault, opened, remember, texts

PASSPHRASE = "correct horse battery"
#: Whatever changes something that outlives the process.
STEPS: list[tuple[Any, str]] = [
    (writer, "_commit"),
    (writer, "_run_alone"),
    (sqlite, "connect"),
    (Path, "rename"),
    (Path, "unlink"),
    (lifecycle, "sync_folder"),
    (database, "sync_folder"),
]


class Fuse:
    """Ends the process before or after one step of those that follow `light`."""

    def __init__(self, step: int) -> None:
        self._left = step
        self._lit = False
        self._lock = threading.Lock()
        for owner, name in STEPS:
            self._watch(owner, name)

    def light(self) -> None:
        self._lit = True

    def _watch(self, owner: Any, name: str) -> None:
        real = getattr(owner, name)

        def watched(*args: Any, **kwargs: Any) -> Any:
            self._burn()
            result = real(*args, **kwargs)
            self._burn()
            return result

        setattr(owner, name, watched)

    def _burn(self) -> None:
        with self._lock:
            self._left -= self._lit
            if self._lit and self._left == 0:
                os.kill(os.getpid(), signal.SIGKILL)


async def prepare(root: Path) -> None:
    """Alice's vault with three memories, Bob's with one; Alice's key stands in an export."""
    async with opened(root) as store:
        alice, bob = await new_vault(store, "alice"), await new_vault(store, "bob")
        for number in range(3):
            await remember(store, alice, f"alice {number}")
        await remember(store, bob, "bob 0")

        def meter(tx: Transaction) -> None:
            ledger.meter(tx, 30, None, store.clock.now())
            ledger.record(
                tx, actor="k", action="deed", subject=alice, detail={}, now=store.clock.now()
            )

        async with store.vault(alice, "rw") as vault:
            await vault.write(meter)
        await key_exports.export_keys(store, PASSPHRASE)
        key = store.keyring._database  # pyright: ignore[reportPrivateUsage]
        wrapped = key.read_here(lambda tx: tx.value("wrapped_key", vault_id=alice, version=1))
    (root / "wrapped").write_bytes(wrapped)


async def create(store: Store, alice: str) -> None:
    await lifecycle.create(store, "carol")


async def forget(store: Store, alice: str) -> None:
    await lifecycle.forget_all(store, alice, "key_1")


async def erase(store: Store, alice: str) -> None:
    await lifecycle.erase(store, alice, "key_1")


OPERATIONS: dict[str, Callable[[Store, str], Awaitable[None]]] = {
    "create": create,
    "forget": forget,
    "erase": erase,
}


async def victim(root: Path, operation: str, fuse: Fuse) -> None:
    async with opened(root) as store:
        alice = await _named(store, "alice")
        fuse.light()
        await OPERATIONS[operation](store, alice)
        os._exit(0)


async def second_victim(root: Path, fuse: Fuse) -> None:
    """Dies while it takes up what the first one left."""
    fuse.light()
    async with opened(root):
        os._exit(0)


async def _named(store: Store, name: str) -> str:
    rows = await store.control.read(lambda tx: tx.all("vaults"))
    return next(row["id"] for row in rows if row["name"] == name)


async def witness(root: Path) -> dict[str, Any]:
    """Everything that the next start finds."""
    async with opened(root) as store:
        rows = await _rows(store, "SELECT id, name, status, generation, pending FROM vault")
        found = {
            row[1]: {
                "status": row[2],
                "generation": row[3],
                "pending": row[4],
                "keys": list(store.keyring.versions(row[0])),
                "files": sorted(file.name for file in (root / "vaults").glob(f"{row[0]}.*.db")),
                "texts": await _texts(store, row[0]),
                "usage": await _usage(store, row[0]),
            }
            for row in rows
        }
        for row in rows:
            if row[2] == "ready":
                await remember(store, row[0], "later")
        certificates = await _rows(store, "SELECT body FROM certificate")
        chain = await store.control.read(ledger.verify)
        unfinished = len(await store.control.read(control.unfinished))
    return {
        "vaults": found,
        "certificates": [json.loads(body) for (body,) in certificates],
        "chain": [chain.broken_at, chain.rows],
        "unfinished": unfinished,
        "parts": sorted(file.name for file in root.rglob("*.part*")),  # noqa: ASYNC240
        "old key": _holds(root, (root / "wrapped").read_bytes()),
    }


async def _rows(store: Store, sql: str) -> list[Any]:
    def look(tx: Transaction) -> list[Any]:
        return tx.connection.execute(sql).fetchall()

    return await store.control.read(look)


def _holds(root: Path, wrapped: bytes) -> bool:
    return any(wrapped in file.read_bytes() for file in root.glob("keys.db*"))


async def _texts(store: Store, vault_id: str) -> list[str] | str:
    try:
        return await texts(store, vault_id)
    except RememberdError as error:
        return type(error).__name__


async def _usage(store: Store, vault_id: str) -> int | None:
    try:
        async with store.vault(vault_id, "ro") as vault:
            return await vault.read(lambda tx: ledger.used_this_month(tx, store.clock.now()))
    except RememberdError:
        return None


def in_a_process(work: Callable[[], Awaitable[Any]], answer: Path | None = None) -> bool:
    """Run `work` in a fork; True when it ended by itself. Its result goes to `answer` as JSON."""
    child = os.fork()
    if child == 0:
        try:
            result = asyncio.run(work())  # pyright: ignore[reportArgumentType]
            if answer is not None:
                answer.write_text(json.dumps(result))
            os._exit(0)
        except BaseException:  # noqa: BLE001 - a fork must never return into its parent's code
            traceback.print_exc()
            os._exit(70)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return False
    if os.waitstatus_to_exitcode(status) != 0:
        raise SystemExit("a process failed for another reason than being killed")
    return True


def trial(root: Path, operation: str, step: int, again: int | None) -> dict[str, Any]:
    """Kill at `step`, and if `again` is given once more at that step of taking it up."""
    here = root / f"{step}.{again}"
    shutil.copytree(root / "template", here)
    ended = in_a_process(lambda: victim(here, operation, Fuse(step)))
    ended_again = True
    if again is not None:
        ended_again = in_a_process(lambda: second_victim(here, Fuse(again)))
    answer = root / "answer"
    in_a_process(lambda: witness(here), answer)
    shutil.rmtree(here)
    found = json.loads(answer.read_text())
    return found | {"step": step, "again": again, "ended": ended, "ended again": ended_again}


def main(operation: str, folder: str, stride: str, twice: str) -> None:
    """Every `stride`th step until the operation ends by itself.

    With `twice`, every step of taking it up again as well.
    """
    root = Path(folder)
    place.DataDirectory(root / "template").prepare()
    in_a_process(lambda: prepare(root / "template"))
    step, ended = 1, False
    while not ended:
        found = trial(root, operation, step, None)
        print(json.dumps(found), flush=True)  # noqa: T201 - what the test reads
        ended = found["ended"]
        again = 1
        while twice == "twice" and not ended:
            second = trial(root, operation, step, again)
            print(json.dumps(second), flush=True)  # noqa: T201
            if second["ended again"]:
                break
            again += 1
        step += int(stride)


if __name__ == "__main__":
    main(*sys.argv[1:5])

"""The background loop: vectors for what has none yet, usage into control, what ended swept out.

What people wait for is done at once; what costs a commit in control is gathered for a while.
Everything it does can be done again; it never holds up an acknowledged write and never stops for an
error.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from rememberd.auth.server import AuthorizationServer
from rememberd.engine.audit import anchor, anchor_control
from rememberd.engine.engine import Engine
from rememberd.engine.indexing import embed_pending
from rememberd.engine.usage import roll_up
from rememberd.errors import EmbedderUnavailable, NotFound, UpstreamBusy, VaultUnavailable

logger = logging.getLogger(__name__)
RETRY_SECONDS = 60.0
TIDY_SECONDS = 30.0
NOTE_USE_SECONDS = 30.0
EXPIRE_SECONDS = 600.0


class Worker:
    """`run` until cancelled, or `drain` once; `finish` at the end of either."""

    def __init__(self, engine: Engine, auth: AuthorizationServer) -> None:
        self._engine = engine
        self._auth = auth
        self._waiting: OrderedDict[str, None] = OrderedDict()
        self._due: set[str] = set()  # vaults to tidy when their turn comes
        self._resting: set[str] = set()  # vaults that are tried again later
        self._woken = asyncio.Event()
        engine.store.on_work = self.notify

    def notify(self, vault_id: str) -> None:
        """There may be work in this vault."""
        self._waiting[vault_id] = None
        self._woken.set()

    async def run(self) -> None:
        await self._tidy()
        await self._quietly(self._note_audit)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._tend_forever())
            tasks.create_task(self._forever(self._tidy, TIDY_SECONDS))
            tasks.create_task(self._forever(self._note_audit, TIDY_SECONDS))
            tasks.create_task(self._forever(self._auth.access.note_use, NOTE_USE_SECONDS))
            tasks.create_task(self._forever(self._auth.grants.expire, EXPIRE_SECONDS))

    async def drain(self) -> None:
        """Do what waits now, then return; for short-lived owners of a data directory."""
        self._resting.clear()
        for _ in range(2):  # to embed is to write; the second round finds that nothing is left
            await self._tidy()
            while self._waiting:
                vault_id, _ = self._waiting.popitem(last=False)
                await self._try_to_tend(vault_id)
        await self.finish()

    async def finish(self) -> None:
        """Write down what was only gathered; when the data directory is about to be left."""
        await self._auth.access.note_use()
        await self._quietly(self._note_audit)

    async def _tend_forever(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            while self._waiting:
                vault_id, _ = self._waiting.popitem(last=False)
                await self._try_to_tend(vault_id)

    async def _tidy(self) -> None:
        """Let every vault that is dirty be looked through once more, and then called clean."""
        for vault_id in set(self._engine.store.dirty()) - self._resting:
            self._due.add(vault_id)
            self.notify(vault_id)

    async def _forever(self, chore: Callable[[], Awaitable[None]], seconds: float) -> None:
        while True:
            await asyncio.sleep(seconds)
            await self._quietly(chore)

    async def _quietly(self, chore: Callable[[], Awaitable[None]]) -> None:
        try:
            await chore()
        except Exception as error:  # an edge: the next round tries again
            logger.warning("a chore failed", exc_info=error)

    async def _note_audit(self) -> None:
        await anchor_control(self._engine)

    async def _try_to_tend(self, vault_id: str) -> None:
        try:
            await self._tend(vault_id)
        except NotFound:
            return  # erased meanwhile
        except UpstreamBusy as busy:
            self._again(vault_id, busy.retry_after or RETRY_SECONDS)
        except (EmbedderUnavailable, VaultUnavailable):
            self._again(vault_id, RETRY_SECONDS)
        except Exception as error:  # an edge: one vault's trouble must not stop the others
            logger.warning("work failed", exc_info=error, extra={"data": {"vault": vault_id}})
            self._again(vault_id, RETRY_SECONDS)

    async def _tend(self, vault_id: str) -> None:
        writes = self._engine.store.writes(vault_id)
        embedded = self._engine.meaning.is_off or await embed_pending(self._engine, vault_id)
        if not embedded:
            self._again(vault_id, RETRY_SECONDS)  # no model now; the vault stays dirty
        if vault_id in self._due:
            self._due.remove(vault_id)
            await roll_up(self._engine, vault_id)
            await anchor(self._engine, vault_id)
            if embedded:
                await self._engine.store.settle(vault_id, writes)

    def _again(self, vault_id: str, seconds: float) -> None:
        self._resting.add(vault_id)
        asyncio.get_running_loop().call_later(seconds, self._wake, vault_id)

    def _wake(self, vault_id: str) -> None:
        self._resting.discard(vault_id)
        self.notify(vault_id)

"""How every command reaches a data directory: it owns it for a while, or asks whoever does.

One way for all: whoever gets the lock opens everything and answers on the local socket; everybody
else sends requests there. When an owner goes away, the next one who asks takes over.
It must never send a request twice that may have been executed, unless it only reads.
"""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar

from rememberd.cli import line, listeners, output
from rememberd.cli.exits import Refusal
from rememberd.errors import DataDirectoryBusy, OutcomeUnknown, OwnerUnreachable, RememberdError
from rememberd.settings import Settings
from rememberd.store.place import DataDirectory, Lock

if TYPE_CHECKING:
    import httpx2
    from starlette.types import ASGIApp

T = TypeVar("T")
_PAUSE_SECONDS = 0.05
_MOST_TRIES = 200  # counted, not timed: on a busy machine owners take longer, too


def ask_owner(
    settings: Settings, work: Callable[[Owner], Awaitable[T]], *, role: str = "command"
) -> T:
    """Run `work` with whoever owns the data directory: this process, if nobody else does.

    Raises what `work` raises, OwnerUnreachable, the kinds of StorageError, and KeyboardInterrupt.
    """
    try:
        return asyncio.run(_with_owner(settings, work, role))
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None


async def _with_owner(settings: Settings, work: Callable[[Owner], Awaitable[T]], role: str) -> T:
    if task := asyncio.current_task():
        # Left to itself, asyncio would cancel from within whatever an interrupt happens to meet.
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, task.cancel)
    async with asyncio.TaskGroup() as tasks:
        owner = Owner(settings, role, tasks)
        try:
            outcome = await work(owner)
        except RememberdError as error:
            outcome = error  # raised below, once this process has left in good order
        finally:
            await owner.leave()
    if isinstance(outcome, RememberdError):
        raise outcome
    return outcome


class Owner:
    """Whoever owns the data directory: this process, or another one behind the local socket."""

    def __init__(self, settings: Settings, role: str, tasks: asyncio.TaskGroup) -> None:
        self._settings = settings
        self._role = role
        self._tasks = tasks
        self._directory = DataDirectory(settings.data)
        self._client: httpx2.AsyncClient | None = None
        self._one_by_one = asyncio.Lock()
        self._leave = asyncio.Event()
        self._links = ExitStack()
        self._tries = 0

    # -- asking ------------------------------------------------------------------------------------

    async def get(self, path: str) -> Any:
        return await self.ask("GET", path, repeatable=True)

    async def post(self, path: str, body: Mapping[str, Any], *, repeatable: bool = False) -> Any:
        return await self.ask("POST", path, repeatable=repeatable, json=dict(body))

    async def delete(self, path: str) -> Any:
        return await self.ask("DELETE", path)

    async def ask(self, method: str, path: str, *, repeatable: bool = False, **request: Any) -> Any:
        """The JSON of the answer. Raises Refusal with its reason, and what `send` raises."""
        response = await self.send(method, path, repeatable=repeatable, **request)
        body: Any = response.json() if response.content else None
        if response.is_error:
            raise Refusal(body["error"], body["error_description"])
        return body

    async def send(
        self, method: str, path: str, *, repeatable: bool = False, **request: Any
    ) -> httpx2.Response:
        """One request, whatever becomes of the owner meanwhile.

        Raises OutcomeUnknown when it may have been executed and is not repeatable,
        OwnerUnreachable when somebody owns the data directory and does not take it within some
        ten seconds.
        """
        import httpx2  # noqa: PLC0415 - see `line.client_of`

        self._tries = 0
        while True:
            sent, delivery = False, line.Delivery()
            try:
                async with self._one_by_one:
                    client = await self._reach()
                    sent = True
                    watched = {"extensions": {"trace": delivery}}
                    return await client.request(method, path, **watched, **request)
            except httpx2.TransportError as error:
                if sent and not repeatable and not line.never_arrived(error, delivery):
                    raise OutcomeUnknown from None
                self._tries += 1
                if self._tries > _MOST_TRIES or isinstance(error, httpx2.TimeoutException):
                    raise self._unreachable() from None
            await self._disconnect()
            await asyncio.sleep(_PAUSE_SECONDS)

    def _unreachable(self) -> OwnerUnreachable:
        return OwnerUnreachable(
            f"The process that owns {self._directory.root} does not answer. If it hangs, end it: "
            "nothing that was acknowledged is lost."
        )

    # -- reaching ----------------------------------------------------------------------------------

    async def _reach(self) -> httpx2.AsyncClient:
        """The owner, which is this process when nobody else has the lock."""
        if self._client is None:
            try:
                self._check_lock()
                self._client = line.client_of(app=await self._become_owner())
            except DataDirectoryBusy:
                short = self._links.enter_context(listeners.reachable(self._directory.socket))
                self._client = line.client_of(socket=short)
                await line.greet(self._client)
        return self._client

    def _check_lock(self) -> None:
        """Raises DataDirectoryBusy early, before the whole server is imported to no avail."""
        self._directory.prepare()
        with Lock(self._directory.lock):
            self._tries = 0  # owners come and go: while they do, waiting is not in vain

    async def _become_owner(self) -> ASGIApp:
        reached = asyncio.get_running_loop().create_future()
        self._tasks.create_task(self._own(reached))
        return await reached

    async def _own(self, reached: asyncio.Future[ASGIApp]) -> None:
        """Own the data directory until told to leave, and answer others meanwhile."""
        # The whole server: a command beside a running one must not pay 0.4 s for it.
        from rememberd.cli import hosting  # noqa: PLC0415

        self._leave = leave = asyncio.Event()
        hurry = asyncio.Event()  # a server wants this place

        def make_room() -> None:
            hurry.set()
            leave.set()

        try:
            async with hosting.pass_by(self._settings, self._role, make_room) as app:
                if app.first_vault:
                    output.note(
                        f"Made a new data directory, {self._directory.root}. For another one say "
                        "--data DIR, or set REMEMBERD_DATA."
                    )
                stays = self._role == "stdio"  # for hours; a command works when it leaves
                async with hosting.working(app.worker) if stays else nullcontext():
                    reached.set_result(app.local)
                    await leave.wait()
                    async with self._one_by_one:  # a request of our own may still run
                        await self._disconnect()
                if not hurry.is_set():
                    await hosting.drain(app.worker)
        except RememberdError as error:
            if reached.done():
                raise
            reached.set_exception(error)

    async def leave(self) -> None:
        """An owner finishes what others asked of it and embeds what was stored; see `pass_by`."""
        self._leave.set()
        await self._disconnect()

    async def _disconnect(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()
        self._links.close()

"""What a process does once it owns a data directory: it runs the worker and answers on sockets.

Imported only then: a command that talks to a running server must not pay for the whole server.
"""

from __future__ import annotations

import asyncio
import resource
import signal
import socket
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager, suppress

import uvicorn
import uvloop
from starlette.types import ASGIApp

from rememberd.app import App, build_app
from rememberd.cli import line, listeners
from rememberd.errors import AddressUnavailable, DataDirectoryBusy
from rememberd.http.connection import Connection
from rememberd.settings import Settings
from rememberd.store.place import DataDirectory, Lock
from rememberd.worker import Worker

GRACE_SECONDS = 5  # for running requests to finish
DRAIN_SECONDS = 15.0  # for a passing owner to embed what was stored; the rest waits
_PAUSE_SECONDS = 0.1
_TICK_SECONDS = 0.1  # on_tick counts ten to the second
_MOST_TRIES = 200  # to open the data directory while somebody who passes by makes room
_KEEP_ALIVE_SECONDS = 65  # longer than proxies keep theirs, or they meet a closed connection
_MOST_FILES = 65_536

Served = tuple[ASGIApp, Sequence[socket.socket]]


# What is said at the start; the token of the set-up page until there is an account.
Greet = Callable[[App, str | None], None]


# --- a server ----------------------------------------------------------------------------------


def serve(settings: Settings, greet: Greet) -> None:
    """Serve until SIGINT or SIGTERM; `greet` is called once everything answers.

    Raises AddressUnavailable, DataDirectoryBusy, and the kinds of StorageError.
    """
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(settings, greet))


async def _serve(settings: Settings, greet: Greet) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    raise_file_limit()
    async with server(settings) as app:
        greet(app, await app.auth.accounts.setup_link())
        await stop.wait()


@asynccontextmanager
async def server(settings: Settings) -> AsyncGenerator[App]:
    """A whole server, on the network and on the local socket, until the end of the block."""
    directory = DataDirectory(settings.data)
    async with AsyncExitStack() as stack:
        ports = await _listen(settings, directory)
        for port in ports:
            stack.enter_context(closing(port))
        public_url = settings.url(ports[0].getsockname()[1])
        app = await _take_over(stack, settings, directory, public_url)
        local = listeners.unix(directory.socket)
        async with answering((app.public, ports), (app.local, [local])), working(app.worker):
            yield app


async def _listen(settings: Settings, directory: DataDirectory) -> list[socket.socket]:
    try:
        return listeners.tcp(settings.host, settings.port)
    except AddressUnavailable:
        directory.prepare()
        try:
            with Lock(directory.lock):
                raise
        except DataDirectoryBusy:  # if by a server, that says more than a port
            await line.ask_to_leave(directory.socket)
        raise


async def _take_over(
    stack: AsyncExitStack, settings: Settings, directory: DataDirectory, public_url: str
) -> App:
    """Open the data directory, once whoever only passes by has made room."""
    for _ in range(_MOST_TRIES):
        with suppress(DataDirectoryBusy):
            return await stack.enter_async_context(build_app(settings, public_url=public_url))
        await line.ask_to_leave(directory.socket)
        await asyncio.sleep(_PAUSE_SECONDS)
    raise DataDirectoryBusy(f"Who owns {directory.root} does not make room for a server.")


def raise_file_limit() -> None:
    """Use what the system allows: each open vault takes several files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, _MOST_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # macOS allows less than it says
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


# --- a command that passes by ------------------------------------------------------------------


@asynccontextmanager
async def pass_by(settings: Settings, role: str, leave: Callable[[], None]) -> AsyncGenerator[App]:
    """Own the data directory for a while, without a port; others reach it through the socket.

    `leave` is called when a server wants its place. Raises DataDirectoryBusy when another process
    owns it, and the kinds of StorageError.
    """
    directory = DataDirectory(settings.data)
    async with (
        build_app(settings, public_url=settings.url(), role=role, leave=leave) as app,
        answering((app.local, [listeners.unix(directory.socket)])),
    ):
        yield app


async def drain(worker: Worker) -> None:
    """Embed what was stored, within bounds: the rest waits in the vault for the next owner."""
    with suppress(TimeoutError):
        await asyncio.wait_for(worker.drain(), DRAIN_SECONDS)


# --- for both ----------------------------------------------------------------------------------


@asynccontextmanager
async def working(worker: Worker) -> AsyncGenerator[None]:
    """Run the worker until the end of the block; what it does not finish is taken up again."""
    async with asyncio.TaskGroup() as tasks:
        task = tasks.create_task(worker.run())
        yield
        task.cancel()


@asynccontextmanager
async def answering(*served: Served) -> AsyncGenerator[None]:
    """Answer each application's requests on its own sockets, until the end of the block.

    Each has a server of its own, so that nothing in a request from the network can lead to the
    owner's interface. Running requests get a few seconds to finish.
    """
    servers = [_Server(_config(app)) for app, _ in served]
    async with asyncio.TaskGroup() as tasks:
        for one, (_, sockets) in zip(servers, served, strict=True):
            tasks.create_task(one.serve(list(sockets)))
        yield
        for one in servers:
            one.leave()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._leaving = asyncio.Event()

    def leave(self) -> None:
        self.should_exit = True
        self._leaving.set()

    async def main_loop(self) -> None:
        """As uvicorn's, which looks ten times a second whether to end: a command need not wait."""
        ticks = 0
        while not await self.on_tick(ticks):
            ticks += 1
            with suppress(TimeoutError):
                await asyncio.wait_for(self._leaving.wait(), _TICK_SECONDS)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        """Signals are for the whole process, which has a store to close after its servers."""
        yield


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # forwarded addresses are never trusted
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )

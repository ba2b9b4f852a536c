"""The product itself on a loopback port, in a thread: real application, real worker, a key."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import AsyncGenerator, Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

import anyio
import uvicorn

from rememberd.app import App, build_app
from rememberd.clock import Clock
from rememberd.engine import vaults
from rememberd.settings import Settings, load
from tests.http.serving import Served


@dataclass(frozen=True)
class Running(Served):
    """`key` opens the vault `clients` with the scopes asked for."""

    key: str

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"


@contextlib.contextmanager
def running(
    data: Path, scopes: Sequence[str] = ("read", "write"), clock: Clock | None = None
) -> Generator[Running]:
    """Serve a data directory until the end of the block. Search is by words: no model is loaded."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = _Server(load({"data": data, "embedder": "off"}, {}), listener, scopes, clock)
        thread = threading.Thread(target=anyio.run, args=(server.run,), daemon=True)
        thread.start()
        try:
            assert server.ready.wait(30), "the server did not start"
            yield Running(listener.getsockname()[1], server.key)
        finally:
            server.stop()
            thread.join(timeout=20)
            assert not thread.is_alive(), "the server did not stop"


class _Server:
    def __init__(
        self,
        settings: Settings,
        listener: socket.socket,
        scopes: Sequence[str],
        clock: Clock | None,
    ) -> None:
        self.ready = threading.Event()
        self.key = ""
        self._settings = settings
        self._listener = listener
        self._scopes = scopes
        self._clock = clock
        self._uvicorn: uvicorn.Server | None = None

    async def run(self) -> None:
        url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        opened = build_app(self._settings, public_url=url, clock=self._clock)
        async with opened as app, _working(app):
            listed = await vaults.create_vault(app.engine, "clients")
            self.key = (await app.keys.create(listed.vault.id, scope_names=self._scopes)).secret
            config = uvicorn.Config(app.public, log_config=None, access_log=False)
            self._uvicorn = uvicorn.Server(config)
            self.ready.set()  # the listener already queues connections
            await self._uvicorn.serve(sockets=[self._listener])

    def stop(self) -> None:
        if self._uvicorn:
            self._uvicorn.should_exit = True


@contextlib.asynccontextmanager
async def _working(app: App) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(app.worker.run)
        yield
        tasks.cancel_scope.cancel()

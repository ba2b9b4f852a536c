"""A whole server in a thread, as `serve` runs it, with a clock and a network that a test can set.

Everything is asked over real HTTP at the public URL. `do` reaches into the server only for what has
no address: the first link, and people who are disabled or put into a project by hand.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Coroutine, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode

from rememberd.app import App, build_app
from rememberd.auth.fetch import Network
from rememberd.cli.hosting import answering, working
from rememberd.settings import load
from tests.http.serving import Headers, Reply, Served
from tests.store.world import StillClock

T = TypeVar("T")

# Nothing is limited unless a test is about limits: a clock that stands still forgets nothing.
UNLIMITED = {"strangers_per_minute": 1_000_000, "registrations_per_hour": 1_000_000}
FORM = ("Content-Type", "application/x-www-form-urlencoded")


class World:
    """`start` and `stop` as often as a test likes, always on the same port and data directory."""

    def __init__(
        self,
        data: Path,
        settings: Mapping[str, Any] | None = None,
        network: Network | None = None,
        public_url: str | None = None,
    ) -> None:
        self.data = data
        self.clock = StillClock()
        usual = {"data": data, "embedder": "off", **UNLIMITED}
        self._settings = load(usual | dict(settings or {}), {})
        self._network = network
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port: int = listener.getsockname()[1]
        self.url = public_url or f"http://localhost:{self.port}"
        self.mcp = f"{self.url}/mcp"
        self._loop: asyncio.AbstractEventLoop
        self._stopping: asyncio.Event
        self._app: App
        self._thread: threading.Thread

    # -- running -----------------------------------------------------------------------------------

    def start(self) -> None:
        ready = threading.Event()
        self._thread = threading.Thread(target=asyncio.run, args=(self._run(ready),), daemon=True)
        self._thread.start()
        while not ready.wait(0.1):
            assert self._thread.is_alive(), "the server did not start"

    async def _run(self, ready: threading.Event) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        opened = build_app(
            self._settings, public_url=self.url, clock=self.clock, network=self._network
        )
        with closing(socket.create_server(("127.0.0.1", self.port))) as listener:
            async with opened as app, answering((app.public, [listener])), working(app.worker):
                self._app = app
                ready.set()
                await self._stopping.wait()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(30)
        assert not self._thread.is_alive(), "the server did not stop"

    def restart(self) -> None:
        self.stop()
        self.start()

    @property
    def app(self) -> App:
        return self._app

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the server's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(30)

    # -- asking ------------------------------------------------------------------------------------

    @property
    def host(self) -> tuple[str, str]:
        return ("Host", self.url.partition("://")[2])

    def send(
        self, method: str, path: str, body: bytes | None = None, headers: Headers = ()
    ) -> Reply:
        """One request; Host is that of the public URL unless given."""
        given = {name.lower() for name, _ in headers}
        host = [] if "host" in given else [self.host]
        return Served(self.port).send(method, path, body, [*host, *headers])

    def get(self, path: str, *headers: tuple[str, str]) -> Reply:
        return self.send("GET", path, None, headers)

    def form(
        self,
        path: str,
        fields: Mapping[str, str | None] | Sequence[tuple[str, str]],
        *headers: tuple[str, str],
    ) -> Reply:
        """A form as clients post it; a field that is None is left out."""
        pairs = fields.items() if isinstance(fields, Mapping) else fields
        body = urlencode([(name, value) for name, value in pairs if value is not None])
        return self.send("POST", path, body.encode(), [FORM, *headers])


@contextmanager
def running(
    data: Path,
    settings: Mapping[str, Any] | None = None,
    network: Network | None = None,
    public_url: str | None = None,
) -> Generator[World]:
    world = World(data, settings, network, public_url)
    world.start()
    try:
        yield world
    finally:
        world.stop()


def expire_access_tokens(world: World) -> None:
    """For programs whose clock cannot be moved along with ours."""
    control = world.app.engine.store.control

    async def expire() -> None:
        sql = "UPDATE access_token SET expires_at = 0"
        await control.write(lambda tx: tx.connection.execute(sql))

    world.do(expire())

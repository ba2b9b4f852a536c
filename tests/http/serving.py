"""An application on a real loopback port, in a thread of the test process.

Requests are sent with `http.client`, which neither tidies headers nor follows redirects: what a
test writes is what the server gets.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import uvicorn
from starlette.types import ASGIApp

from rememberd.http.connection import Connection

Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]  #: names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Served:
    """Where an application listens. `url` has no trailing slash."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def send(
        self,
        method: str,
        path: str,
        body: bytes | Iterator[bytes] | None = None,
        headers: Headers = (),
        timeout: float = 30,
    ) -> Reply:
        """One request on its own connection. An iterator is sent chunked. Header order is kept."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        with contextlib.closing(connection):
            connection.putrequest(method, path, skip_host=_has(headers, "host"))
            for name, value in headers:
                connection.putheader(name, value)
            if isinstance(body, bytes):
                connection.putheader("Content-Length", str(len(body)))
            elif body is not None:
                connection.putheader("Transfer-Encoding", "chunked")
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.endheaders(body, encode_chunked=not isinstance(body, bytes))
            response = connection.getresponse()
            return Reply(
                response.status,
                {name.lower(): value for name, value in response.getheaders()},
                response.read(),
            )


def _has(headers: Headers, name: str) -> bool:
    return any(key.lower() == name for key, _ in headers)


@contextlib.contextmanager
def serving(build: Callable[[str], ASGIApp]) -> Generator[Served]:
    """Serve what `build` makes of its own URL, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        served = Served(listener.getsockname()[1])
        app = build(served.url)
        config = uvicorn.Config(
            app,
            http=Connection,
            log_config=None,
            lifespan="on",
            access_log=False,
            proxy_headers=False,
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield served  # the listener already queues connections: nothing to wait for
        finally:
            server.should_exit = True
            thread.join(timeout=10)
            assert not thread.is_alive(), "the server did not stop"

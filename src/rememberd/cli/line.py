"""HTTP to whoever owns the data directory: in this process, or through the local socket.

It must never hide whether a request can have been executed; `owner.py` decides what follows.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rememberd.cli import listeners
from rememberd.errors import DataDirectoryBusy

if TYPE_CHECKING:
    import httpx2
    from starlette.types import ASGIApp

PATIENCE_SECONDS = 10.0  # to reach an owner, while one leaves and the next one opens
ANSWER_SECONDS = 300.0  # longer than any call takes, a slow hosted embedder included


def client_of(*, app: ASGIApp | None = None, socket: str | None = None) -> httpx2.AsyncClient:
    """A client of the owner's interface: `app` when this process is the owner."""
    import httpx2  # noqa: PLC0415 - 0.2 s that the start of a server does not pay

    # No certificates are needed here, and to load all that a system trusts takes 50 ms.
    no_tls = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    transport = (
        httpx2.ASGITransport(app) if app else httpx2.AsyncHTTPTransport(uds=socket, verify=no_tls)
    )
    return httpx2.AsyncClient(
        transport=transport,
        base_url="http://rememberd",
        timeout=httpx2.Timeout(ANSWER_SECONDS, connect=PATIENCE_SECONDS),
        trust_env=False,
    )


async def greet(client: httpx2.AsyncClient) -> None:
    """Raises httpx2.TransportError unless an owner that does not hang is at the other end."""
    await client.get("/owner", timeout=PATIENCE_SECONDS)


class Delivery:
    """Watches a request being written, as its `trace`: httpcore hides that it was cut off, since a
    server may have answered before it stopped to read.
    """

    def __init__(self) -> None:
        self.is_cut_off = False

    async def __call__(self, event: str, _: Mapping[str, Any]) -> None:
        if event.endswith(("send_request_headers.failed", "send_request_body.failed")):
            self.is_cut_off = True


def never_arrived(error: BaseException, delivery: Delivery) -> bool:
    """True when the owner cannot have executed the request.

    On a local socket a reset means that the other side closed before it had read everything, and
    nothing is executed before its body is complete. A plain end of the stream proves nothing.
    """
    import httpx2  # noqa: PLC0415

    refused = isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout | httpx2.WriteError)
    if refused or delivery.is_cut_off:
        return True
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ConnectionResetError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


async def ask_to_leave(socket: Path) -> None:
    """Ask a passing owner to make room for a server.

    Raises DataDirectoryBusy if it is a server itself, or hangs.
    """
    import httpx2  # noqa: PLC0415

    with listeners.reachable(socket) as short:
        async with client_of(socket=short) as client:
            try:
                answer = await client.delete("/owner", timeout=PATIENCE_SECONDS)
            except httpx2.TimeoutException:
                text = f"The process that owns {socket.parent} does not answer. End it."
                raise DataDirectoryBusy(text) from None
            except httpx2.TransportError:
                return  # opening or leaving: the caller tries the lock again
    if answer.is_error:
        told: dict[str, Any] = answer.json()
        raise DataDirectoryBusy(told["error_description"])

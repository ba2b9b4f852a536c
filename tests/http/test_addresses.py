"""Which address a request is said to come from, by peer and header."""

from __future__ import annotations

import pytest
from starlette.types import Message, Receive, Scope, Send

from rememberd.http.addresses import ClientAddress


async def seen(peer: str, forwarded: str, *proxies: str) -> str:
    """The address that the application behind is told."""
    told: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        told.append(scope["client"][0])

    async def receive() -> Message:
        return {"type": "http.disconnect"}

    async def send(_: Message) -> None: ...

    scope: Scope = {
        "type": "http",
        "client": (peer, 1),
        "headers": [(b"x-forwarded-for", forwarded.encode())],
    }
    await ClientAddress(app, proxies=proxies)(scope, receive, send)
    return told[0]


@pytest.mark.parametrize(
    "peer, forwarded, proxies, address",
    [
        ("127.0.0.1", "203.0.113.9", ["127.0.0.1"], "203.0.113.9"),
        ("::ffff:127.0.0.1", "203.0.113.9", ["127.0.0.1"], "203.0.113.9"),  # a socket for both
        ("::1", "203.0.113.9", ["127.0.0.1"], "::1"),
        ("127.0.0.1", "203.0.113.9", [], "127.0.0.1"),
        ("127.0.0.1", "10.0.0.1, 203.0.113.9", ["127.0.0.1"], "203.0.113.9"),
        ("127.0.0.1", "203.0.113.9, 10.0.0.2", ["127.0.0.1", "10.0.0.0/8"], "203.0.113.9"),
        ("127.0.0.1", "nonsense", ["127.0.0.1"], "127.0.0.1"),
        ("127.0.0.1", "[2001:db8::1]:4711", ["127.0.0.1"], "2001:db8::1"),
    ],
)
async def test_only_named_proxies_are_believed(
    peer: str, forwarded: str, proxies: list[str], address: str
) -> None:
    assert await seen(peer, forwarded, *proxies) == address

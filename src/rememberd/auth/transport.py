"""One GET over TLS to an address that was chosen before: the wire under `fetch.py`.

It resolves no names, follows no redirects, knows no proxies, cookies or compression, and holds no
more of an answer than its caller allows. Loaded at first use, since few servers ever fetch.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Sequence

import h11

from rememberd.auth.answers import Answer
from rememberd.auth.https_url import Place

_MOST_OVERHEAD = 65_536  # bytes of head and framing beside the body
_MOST_HEAD = 32_768


async def get(
    place: Place, addresses: Sequence[str], context: ssl.SSLContext, *, limit: int, patience: float
) -> Answer:
    """The answer of the first address that takes the connection within `patience` seconds.

    Raises OSError when none does, its certificate is not for `place.host`, or it breaks off;
    ValueError for what is not HTTP or has more than `limit` bytes of body.
    """
    reader, writer = await _connect(place, addresses, context, patience)
    try:
        parser = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD)
        writer.write(parser.send(_request(place)) or b"")
        writer.write(parser.send(h11.EndOfMessage()) or b"")
        await writer.drain()
        return await _answer(parser, reader, limit)
    except h11.RemoteProtocolError:
        raise ValueError("not an HTTP answer") from None
    finally:
        writer.transport.abort()


async def _connect(
    place: Place, addresses: Sequence[str], context: ssl.SSLContext, patience: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """To the pinned address; name indication and certificate check are for the host's name."""
    failure = OSError("no address")
    for address in addresses:
        try:
            async with asyncio.timeout(patience):
                return await asyncio.open_connection(
                    address, place.port, ssl=context, server_hostname=place.host
                )
        except OSError as error:  # also TimeoutError and every error of ssl
            failure = error
    raise failure


def _request(place: Place) -> h11.Request:
    return h11.Request(
        method="GET",
        target=place.target,
        headers=[
            ("Host", place.authority),
            ("User-Agent", "rememberd"),
            ("Accept", "application/json"),
            ("Accept-Encoding", "identity"),
            ("Connection", "close"),
        ],
    )


async def _answer(parser: h11.Connection, reader: asyncio.StreamReader, limit: int) -> Answer:
    head: h11.Response | None = None
    body = bytearray()
    received = 0
    while True:
        event = parser.next_event()
        if event is h11.NEED_DATA:
            data = await reader.read(8_192)
            received += len(data)
            parser.receive_data(data)
        elif isinstance(event, h11.Response):
            head = event
        elif isinstance(event, h11.Data):
            body += event.data
        elif isinstance(event, h11.EndOfMessage) and head is not None:
            return Answer(head.status_code, _joined(head), bytes(body))
        elif not isinstance(event, h11.InformationalResponse):
            raise ValueError("not an HTTP answer")
        if len(body) > limit or received > limit + _MOST_OVERHEAD:
            raise ValueError(f"longer than {limit} bytes")


def _joined(head: h11.Response) -> dict[str, str]:
    headers: dict[str, str] = {}
    for raw_name, raw_value in head.headers:
        name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers

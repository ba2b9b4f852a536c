"""uvicorn's HTTP on one connection, with bounds on what comes before anybody can look at it.

A head of a request must neither fill the memory, nor may a request that is never finished hold a
connection open. Bodies have their limit in `middleware.py`.
"""

from __future__ import annotations

import asyncio
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from rememberd.http.problems import refuse

#: Request line and headers; nginx and Apache take 8 KiB for each of them.
MAX_HEAD_BYTES = 65_536
#: For a whole request to arrive, from its first byte, or from when the connection was made.
REQUEST_SECONDS = 60.0


class Connection(HttpToolsProtocol):
    """Given to uvicorn as its `http`; overrides callbacks of asyncio and of httptools."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._head = 0  # bytes of it so far
        self._is_in_head = True
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # type: ignore[override]
        super().connection_made(cast(asyncio.Transport, transport))
        self._expect_request()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        super().data_received(data)
        if self._is_in_head:
            self._head += len(data)
            if self._head > MAX_HEAD_BYTES:
                self._refuse_head()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._head, self._is_in_head = 0, True
        self._expect_request()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        self._stop_waiting()
        super().on_message_complete()

    # -- bounds ------------------------------------------------------------------------------------

    def _expect_request(self) -> None:
        self._stop_waiting()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _refuse_head(self) -> None:
        answer = refuse("head_too_large", f"The head may have {MAX_HEAD_BYTES:,} bytes.")
        lines = [
            b"HTTP/1.1 431 Request Header Fields Too Large",
            *(name + b": " + value for name, value in answer.raw_headers),
            b"connection: close",
        ]
        self.transport.write(b"\r\n".join([*lines, b"", bytes(answer.body)]))
        self.transport.close()

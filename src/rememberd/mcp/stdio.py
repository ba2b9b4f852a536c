"""MCP over standard input and output: one JSON message a line, answered in order.

Nothing but answers may be written to standard output, and a line never ends the loop, however bad.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import BinaryIO

import anyio.to_thread

Exchange = Callable[[bytes], Awaitable[bytes | None]]


async def serve_lines(exchange: Exchange, source: BinaryIO, sink: BinaryIO) -> None:
    """Until `source` ends. `exchange` answers one body; None (a notification) writes nothing.

    Lines are read in a thread: standard input may be a file, which no event loop can wait for.
    """
    while line := await anyio.to_thread.run_sync(source.readline, abandon_on_cancel=True):
        if not line.strip():
            continue
        answer = await exchange(line)
        if answer is not None:
            await anyio.to_thread.run_sync(_write, sink, answer)


def _write(sink: BinaryIO, answer: bytes) -> None:
    sink.write(answer + b"\n")
    sink.flush()

"""A web server of somebody else's (see tests/auth/origin.py) in a thread of its own, with TLS."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.auth.origin import Origin, origin


@contextmanager
def site_running(folder: Path) -> Generator[Origin]:
    """Serve until the end of the block; `folder` takes the certificate."""
    loop = asyncio.new_event_loop()
    ready, stop = threading.Event(), asyncio.Event()
    made: list[Origin] = []

    async def serve() -> None:
        async with origin(folder) as site:
            made.append(site)
            ready.set()
            await stop.wait()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(serve())

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    assert ready.wait(30), "the site did not start"
    try:
        yield made[0]
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(30)

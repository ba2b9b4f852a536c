"""What one bearer check costs without the HTTP around it: run by `auth.py` in a process of its own.

A check has no address of its own, so this opens the data directory as the server does.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from rememberd.app import build_app
from rememberd.settings import load

CHECKS = 20_000


async def _milliseconds(data: Path, public_url: str, token: str) -> float:
    """CPU of one check, a good one."""
    settings = load({"data": data, "embedder": "off"}, {})
    async with build_app(settings, public_url=public_url) as app:
        verify, resource = app.auth.access.verify, f"{public_url}/mcp"
        if await verify(token, resource) is None:
            raise RuntimeError("the token is worth nothing")
        before = time.process_time()
        for _ in range(CHECKS):
            await verify(token, resource)
        return 1000 * (time.process_time() - before) / CHECKS


if __name__ == "__main__":
    print(asyncio.run(_milliseconds(Path(sys.argv[1]), *sys.argv[2:])))

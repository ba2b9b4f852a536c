"""`/health`: the process answers. `/ready`: what it needs to serve answers too.

Both are open to anyone, so they must say no more than names and yes or no.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from starlette.requests import Request
from starlette.responses import JSONResponse

from rememberd.clock import Clock, isoformat

logger = logging.getLogger(__name__)

Check = Callable[[], Awaitable[object]]  # raises when what it checks is not ready


class Health:
    """The two probes. `checks` are run one after another at each call of `/ready`."""

    def __init__(self, clock: Clock, checks: Mapping[str, Check]) -> None:
        self._clock = clock
        self._checks = dict(checks)

    async def health(self, _: Request) -> JSONResponse:
        """Two families of clients look here, each for its own words; this is their union."""
        now = isoformat(self._clock.now())
        return JSONResponse(
            {"status": "healthy", "timestamp": now, "ok": True, "service": "rememberd"}
        )

    async def ready(self, _: Request) -> JSONResponse:
        """200, or 503 when a check fails."""
        checks = {name: await _passes(name, check) for name, check in self._checks.items()}
        ready = all(checks.values())
        return JSONResponse({"ready": ready, "checks": checks}, 200 if ready else 503)


async def _passes(name: str, check: Check) -> bool:
    try:
        await check()
    except Exception as error:  # an edge: whatever is wrong, the answer is "not ready"
        logger.warning("not ready", exc_info=error, extra={"data": {"check": name}})
        return False
    return True

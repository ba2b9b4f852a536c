"""The least a server can do: take a POST, answer the same bytes. Starlette on uvicorn, as ours.

What rememberd costs beyond this is what it does; see `ceilings.py`.
"""

from __future__ import annotations

import sys

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route


def build(answer: bytes) -> Starlette:
    async def post(request: Request) -> Response:
        await request.body()
        return Response(answer, media_type="application/json")

    async def health(_: Request) -> Response:
        return Response()

    return Starlette(routes=[Route("/mcp", post, methods=["POST"]), Route("/health", health)])


if __name__ == "__main__":
    uvicorn.run(
        build(b"x" * int(sys.argv[2])),
        port=int(sys.argv[1]),
        loop="uvloop",
        http="httptools",
        log_config=None,
        access_log=False,
    )

"""A hosted embedding model that thinks of nothing: it answers at once, with vectors drawn by lot.

Ten thousand memories cost minutes of a real model. Where only the number of vectors matters and not
what they mean, this stands in for it; tables say where.
"""

from __future__ import annotations

import json
import random
import sys
import zlib
from collections.abc import Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.serving import free_port, running

DIMENSION = 384
_DIFFERENT = 512


@contextmanager
def fake_model() -> Generator[dict[str, str]]:
    """The settings of a server that is to use it."""
    port = free_port()
    with running(["-m", "bench.fake_model", str(port)], port):
        yield {
            "embedder": "openai",
            "embedder_url": f"http://127.0.0.1:{port}/v1",
            "embedder_model": "fake",
        }


def build() -> Starlette:
    draw = random.Random(1)
    drawn = [
        json.dumps([round(draw.gauss(0, 1), 4) for _ in range(DIMENSION)])
        for _ in range(_DIFFERENT)
    ]

    async def embeddings(request: Request) -> Response:
        texts: list[str] = (await request.json())["input"]
        rows = (
            f'{{"index":{number},"embedding":{drawn[zlib.crc32(text.encode()) % _DIFFERENT]}}}'
            for number, text in enumerate(texts)
        )
        return Response(f'{{"data":[{",".join(rows)}]}}', media_type="application/json")

    async def health(_: Request) -> Response:
        return Response()

    return Starlette(
        routes=[
            Route("/v1/embeddings", embeddings, methods=["POST"]),
            Route("/health", health),
        ]
    )


if __name__ == "__main__":
    uvicorn.run(build(), port=int(sys.argv[1]), log_config=None, access_log=False)

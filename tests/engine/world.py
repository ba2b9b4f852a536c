"""The application on a directory of its own, with models that can be loaded, missing or broken."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rememberd.app import App, build_app
from rememberd.engine import meaning
from rememberd.engine.store import store_memory
from rememberd.errors import EmbedderUnavailable, RememberdError
from rememberd.inference.embed import Embedder, Kind
from rememberd.model import SCOPES, Draft, Memory, Principal
from rememberd.settings import Settings
from rememberd.store import lifecycle
from tests.fakes import WordHashEmbedder
from tests.store.world import StillClock

URL = "http://localhost:8420"


class Models:
    """Which embedders can be loaded, by kind. `bundled` is there unless it is taken away.

    `error` is raised instead when it is set.
    """

    def __init__(self) -> None:
        self.by_kind: dict[str, Embedder] = {"bundled": WordHashEmbedder()}
        self.error: RememberdError | None = None

    async def open(self, kind: Kind, **options: Any) -> Embedder | None:
        if self.error is not None:
            raise self.error
        if kind == "off":
            return None
        if kind not in self.by_kind:
            raise EmbedderUnavailable(f"{kind} is not here")
        return self.by_kind[kind]


class World:
    """What a test holds on to: the application's parts, and a few things that people do."""

    def __init__(self, app: App, clock: StillClock) -> None:
        self.app = app
        self.engine = app.engine
        self.store = app.engine.store
        self.worker = app.worker
        self.clock = clock

    async def vault(self, name: str) -> Principal:
        """A new vault, as somebody with every scope sees it."""
        return principal((await lifecycle.create(self.store, name)).id)

    async def keep(self, who: Principal, text: str, **more: Any) -> Memory:
        return await store_memory(self.engine, who, Draft(text=text, **more))

    async def settled(self) -> None:
        """The worker has done what waits: everything has its vector."""
        await self.worker.drain()


def principal(vault_id: str, *scopes: str) -> Principal:
    return Principal(
        vault_id=vault_id, scopes=frozenset(scopes or SCOPES), client="key_1", client_name="app"
    )


@asynccontextmanager
async def world_on(
    root: Path, models: Models | None = None, clock: StillClock | None = None, **settings: Any
) -> AsyncGenerator[World]:
    """The whole application, but for the models. Its worker runs when a test tells it to."""
    time = clock or StillClock()
    chosen = {"embedder": "bundled", "writer_threads": 2, "reader_threads": 2} | settings
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(meaning, "open_embedder", (models or Models()).open)
        async with build_app(
            Settings.model_validate({"data": root} | chosen), public_url=URL, clock=time
        ) as app:
            yield World(app, time)

"""The embedding model in use: loaded at first use, once, and given up gracefully.

A model that cannot be loaded never stops a store or a search; it is tried again after a while.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from rememberd.clock import Clock
from rememberd.errors import EmbedderUnavailable, InvalidInput, UpstreamBusy
from rememberd.inference.embed import Embedder, Kind, open_embedder

RETRY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class EmbedderOptions:
    """What the settings say about the embedder."""

    kind: Kind = "bundled"
    url: str | None = None
    model: str | None = None
    api_key: str | None = None
    dimension: int | None = None
    timeout: float = 30.0

    @property
    def host(self) -> str | None:
        """Where texts will be sent; None when they stay on this machine."""
        if self.kind != "openai" or self.url is None:
            return None
        return urlsplit(self.url).netloc.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class MeaningState:
    """For status and doctor. `host` is where texts are sent, None when they stay here."""

    state: Literal["off", "not loaded", "ready", "unavailable"]
    kind: str
    host: str | None = None
    reason: str | None = None


class Meaning:
    """Gives the current embedder, or the one that made a vault's older vectors."""

    def __init__(self, options: EmbedderOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._lock = asyncio.Lock()
        self._current: Embedder | None = None
        self._failed: tuple[float, str] | None = None
        self._older: dict[str, Embedder | None] = {}

    @property
    def is_off(self) -> bool:
        return self._options.kind == "off"

    @property
    def is_loaded(self) -> bool:
        return self._current is not None

    def state(self) -> MeaningState:
        kind, host = self._options.kind, self._options.host
        if self.is_off:
            return MeaningState("off", kind)
        if self._current is not None:
            failure = self._current.failure
            return MeaningState(
                "unavailable" if failure else "ready", kind, self._current.host, failure
            )
        if self._failed is not None:
            return MeaningState("unavailable", kind, host, self._failed[1])
        return MeaningState("not loaded", kind, host)

    async def current(self) -> Embedder | None:
        """The embedder of the settings; None when it is off or cannot be loaded now."""
        if self._current is not None or self.is_off:
            return self._current
        async with self._lock:
            if self._current is None and not self._resting():
                await self._load()
        return self._current

    def _resting(self) -> bool:
        if self._failed is None:
            return False
        return self._clock.now().timestamp() - self._failed[0] < RETRY_SECONDS

    async def _load(self) -> None:
        options = self._options
        try:
            self._current = await open_embedder(
                options.kind,
                url=options.url,
                model=options.model,
                api_key=options.api_key,
                dimension=options.dimension,
                timeout=options.timeout,
            )
            self._failed = None
        except (EmbedderUnavailable, InvalidInput, UpstreamBusy) as error:
            self._failed = (self._clock.now().timestamp(), error.message)

    async def of(self, identity: str) -> Embedder | None:
        """The embedder that makes vectors of this identity; None when it cannot be had here."""
        current = await self.current()
        if current is not None and current.identity == identity:
            return current
        if identity not in self._older:
            async with self._lock:
                self._older[identity] = await self._find(identity)
        return self._older[identity]

    async def _find(self, identity: str) -> Embedder | None:
        """Only models on this machine are looked through: an old endpoint is not called again."""
        kinds: tuple[Kind, ...] = ("bundled", "static")
        for kind in kinds:
            if kind == self._options.kind:
                continue
            try:
                found = await open_embedder(kind)
            except EmbedderUnavailable:
                continue
            if found is not None and found.identity == identity:
                return found
            if found is not None:
                await found.close()
        return None

    async def close(self) -> None:
        for embedder in (self._current, *self._older.values()):
            if embedder is not None:
                await embedder.close()

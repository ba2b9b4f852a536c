"""Stand-ins for what tests must not wait for: models. Clocks are `rememberd.clock.Clock` objects.

Nothing else is faked: tests use real SQLite and real HTTP.
"""

import asyncio
import hashlib
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from rememberd.inference.texts import Purpose

WINDOW = 40  # words of a passage
WORD = re.compile(r"\w+")


class WordHashEmbedder:
    """Same words, same direction: each word of a text adds one fixed random vector.

    `calls` records what was asked. While `gate` is cleared every `embed` waits for it; `error` is
    raised instead of answering when it is set.
    """

    host: str | None = None
    failure: str | None = None
    likeness = (0.2, 0.9)

    def __init__(self, dimension: int = 32, name: str = "fake") -> None:
        self.dimension = dimension
        self.identity = f"{name}:{dimension}"
        self.calls: list[tuple[Purpose, tuple[str, ...]]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.error: Exception | None = None
        self.closed = False

    def passages(self, text: str) -> list[str]:
        words = text.split()
        if len(words) <= WINDOW:
            return [text]
        step = WINDOW // 2
        return [" ".join(words[at : at + WINDOW]) for at in range(0, len(words) - step, step)]

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        self.calls.append((purpose, tuple(texts)))
        await self.gate.wait()
        self.failure = str(self.error) if self.error else None
        if self.error is not None:
            raise self.error
        return np.array([self._vector(text) for text in texts], dtype=np.float32).reshape(
            len(texts), self.dimension
        )

    async def close(self) -> None:
        self.closed = True

    def _vector(self, text: str) -> NDArray[np.float32]:
        total = np.zeros(self.dimension, dtype=np.float32)
        for word in WORD.findall(text.casefold()):
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:8], "big")
            total += np.random.default_rng(seed).standard_normal(self.dimension, dtype=np.float32)
        length = float(np.linalg.norm(total))
        return total / length if length else total

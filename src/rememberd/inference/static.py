"""The fallback model: WordLlama's table of token vectors, averaged. Small, fast and weaker.

Only the package's data is read; the package itself is never imported: importing it sets up logging
for the whole process, and its loader looks for the tokenizer it ships on the network.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from anyio.to_thread import run_sync
from numpy.typing import NDArray
from safetensors.numpy import load
from tokenizers import Tokenizer

from rememberd.errors import EmbedderUnavailable
from rememberd.inference.texts import Purpose, by_bytes, printable

PACKAGE = "wordllama"
WEIGHTS = "weights/l2_supercat_256.safetensors"
TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"

Vectors = NDArray[np.float32]


class StaticEmbedder:
    """Mean of the vectors of a text's tokens. Any version of the data works: it names itself."""

    host = None
    failure = None
    likeness = (0.15, 0.55)  # measured: docs/decisions/embedder.md

    def __init__(self, table: NDArray[np.float16], tokenizer: Tokenizer, digest: str) -> None:
        self._table = table
        self._tokenizer = tokenizer
        self.dimension = table.shape[1]
        self.identity = f"wordllama-{self.dimension}:{digest[:16]}"

    @classmethod
    async def open(cls) -> StaticEmbedder:
        """Load the table: 16 MB, off the event loop."""
        return await run_sync(_load)

    def passages(self, text: str) -> list[str]:
        """Any length would fit, but the mean of a long text says nothing."""
        return by_bytes(text)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        return await run_sync(self._embed, texts)

    async def close(self) -> None:
        """Nothing is held open."""

    def _embed(self, texts: Sequence[str]) -> Vectors:
        encoded = self._tokenizer.encode_batch(
            [printable(text) for text in texts], add_special_tokens=False
        )
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, tokens in enumerate(encoded):
            if tokens.ids:
                vectors[row] = self._table[tokens.ids].mean(axis=0, dtype=np.float32)
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.maximum(length, 1e-12)).astype(np.float32)


def _load() -> StaticEmbedder:
    spec = find_spec(PACKAGE)
    folder = spec.submodule_search_locations if spec else None
    if not folder:
        raise EmbedderUnavailable("The static model needs the extra: pip install rememberd[static]")
    try:
        weights, tokenizer = (
            (Path(folder[0]) / name).read_bytes() for name in (WEIGHTS, TOKENIZER)
        )
    except OSError as error:
        raise EmbedderUnavailable("The package wordllama holds no model that we know.") from error
    [table] = load(weights).values()
    digest = hashlib.sha256(weights + tokenizer + b"mean").hexdigest()
    words = Tokenizer.from_str(tokenizer.decode())
    words.no_truncation()
    words.no_padding()
    return StaticEmbedder(table, words, digest)

"""What an embedder is, and how one is opened by name.

Importing this module loads no model and none of numpy, onnxruntime, tokenizers or the HTTP client:
that happens in `open_embedder`, at first use. Texts are never logged and never part of an error.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from rememberd.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Purpose = Literal["query", "memory"]
Kind = Literal["bundled", "static", "openai", "off"]


class Embedder(Protocol):
    """A model that is loaded and ready. Safe to use from many tasks of one event loop."""

    @property
    def identity(self) -> str:
        """Changes whenever vectors would: weights, tokenizer, pooling, prefix, dimension."""
        ...

    @property
    def dimension(self) -> int: ...

    @property
    def host(self) -> str | None:
        """The host that texts are sent to; None when they stay on this machine."""
        ...

    @property
    def likeness(self) -> tuple[float, float]:
        """Cosines at which two texts have nothing in common, and say the same thing."""
        ...

    def passages(self, text: str) -> list[str]:
        """Overlapping passages of whole words that each fit the model; [text] when it fits."""
        ...

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Unit vectors, float32, shape (len(texts), dimension); a text without words may be zero.

        Raises EmbedderUnavailable or UpstreamBusy (hosted only).
        """
        ...

    async def close(self) -> None: ...


async def open_embedder(
    kind: Kind,
    *,
    url: str | None = None,
    model: str | None = None,
    api_key: str | None = None,
    dimension: int | None = None,
    timeout: float = 30.0,
) -> Embedder | None:
    """Load an embedder; None for `off`. Takes half a second for `bundled`: call it at first use.

    `url`, `model`, `api_key`, `dimension` (found out when None) and `timeout` (seconds) are for
    `openai`, which is sent one probe. Raises EmbedderUnavailable when the model cannot be loaded or
    reached (it may be there later), UpstreamBusy, InvalidInput for a missing url or model.
    """
    raise InvalidInput(f"unknown embedder {kind}", field="embedder")

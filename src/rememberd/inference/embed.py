"""What an embedder is, and how one is opened by name.

Importing this module loads no model and none of numpy, onnxruntime, tokenizers or the HTTP client:
that happens in `open_embedder`, at first use. Texts are never logged and never part of an error.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from rememberd.errors import EmbedderUnavailable, InvalidInput
from rememberd.inference.texts import Purpose

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

Kind = Literal["bundled", "static", "openai", "off"]

QUERIES_KEPT = 1_024


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

    @property
    def failure(self) -> str | None:
        """Why the last request to the host failed; None when it did not, or there is none."""
        ...

    def passages(self, text: str) -> list[str]:
        """Overlapping passages of whole words that each fit the model; [text] when it fits."""
        ...

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        """Unit vectors, float32, shape (len(texts), dimension); zeros for a text without tokens.

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
    timeout: float = 30.0,  # noqa: ASYNC109 - of each request to a hosted model, not of this call
) -> Embedder | None:
    """Load an embedder; None for `off`. Takes half a second for `bundled`: call it at first use.

    `url`, `model`, `api_key`, `dimension` (found out when None) and `timeout` (seconds) are for
    `openai`, which is sent one request. Raises EmbedderUnavailable when the model cannot be loaded
    or reached (it may be there later), UpstreamBusy, InvalidInput for a missing url or model.
    """
    if kind == "off":
        return None
    if kind == "openai":
        opened = await _openai(url, model, api_key, dimension, timeout)
    else:
        opened = await _local(kind)
    return QueryCache(opened)


async def _openai(
    url: str | None, model: str | None, api_key: str | None, dimension: int | None, seconds: float
) -> Embedder:
    from rememberd.inference.hosted import HostedEmbedder  # noqa: PLC0415 - loads the HTTP client

    if not url:
        raise InvalidInput("Setting embedder_url is needed for openai.", field="embedder_url")
    if not model:
        raise InvalidInput("Setting embedder_model is needed for openai.", field="embedder_model")
    return await HostedEmbedder.open(
        url, model, api_key=api_key, dimension=dimension, timeout=seconds
    )


async def _local(kind: Literal["bundled", "static"]) -> Embedder:
    try:
        if kind == "bundled":
            from rememberd.inference.bundled import BundledEmbedder  # noqa: PLC0415 - onnxruntime

            return await BundledEmbedder.open()
        from rememberd.inference.static import StaticEmbedder  # noqa: PLC0415 - tokenizers
    except ImportError as error:
        raise EmbedderUnavailable(
            f"The {kind} model needs the package {error.name}, which is not installed."
        ) from error
    return await StaticEmbedder.open()


class QueryCache:
    """An embedder that remembers the vectors of the last queries; memories pass straight through.

    People and agents page through and repeat a query; the model is most of what a search costs.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._kept: OrderedDict[str, Any] = OrderedDict()
        self.identity = embedder.identity
        self.dimension = embedder.dimension
        self.host = embedder.host
        self.likeness = embedder.likeness
        self.passages = embedder.passages
        self.close = embedder.close

    @property
    def failure(self) -> str | None:
        return self._embedder.failure

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        if purpose != "query" or len(texts) != 1:
            return await self._embedder.embed(texts, purpose)
        [text] = texts
        vectors = self._kept.get(text)
        if vectors is None:
            vectors = await self._embedder.embed(texts, purpose)
            self._kept[text] = vectors
        self._kept.move_to_end(text)
        if len(self._kept) > QUERIES_KEPT:
            self._kept.popitem(last=False)
        return vectors

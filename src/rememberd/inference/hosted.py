"""Any OpenAI-compatible `/embeddings` endpoint: Ollama, vLLM, a hosted provider.

Off unless chosen: memory text leaves this machine. Requests and answers are never logged, nor is
any of their content part of an error.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Any, cast

import httpx2
import numpy as np
from numpy.typing import NDArray

from rememberd.clock import Clock, SystemClock
from rememberd.errors import EmbedderUnavailable, InvalidInput, UpstreamBusy
from rememberd.inference.texts import Purpose, by_bytes, printable

#: Texts a request. Servers limit requests to 300,000 tokens or less; 32 passages are 16,000.
BATCH = 32
TRIES = 3
_LOOPBACK = ("localhost", "127.0.0.1", "::1")

#: Statements and questions that each answer one: what this model calls alike, and what not.
_PROBE = (
    ("The release phrase of the demo project is ORCHID", "What is the demo project's phrase?"),
    ("I prefer aisle seats when flying", "Window or aisle seat?"),
    ("Anna is allergic to peanuts", "What food must Anna avoid?"),
    ("We deploy on Fridays", "When do deployments happen?"),
    ("My dog's name is Rex", "What is the name of the dog?"),
    ("The quarterly report is due on 5 May", "When is the report due?"),
    ("He moved to Berlin last year", "Which city does he live in?"),
    ("The limit is 100 requests per minute", "How many requests are allowed?"),
)

Vectors = NDArray[np.float32]


class HostedEmbedder:
    """Asks for vectors over HTTP; retries what may pass, says plainly what will not."""

    def __init__(self, client: httpx2.AsyncClient, model: str, backoff: float) -> None:
        self._client = client
        self._model = model
        self._backoff = backoff
        self.host = client.base_url.netloc.decode()
        self.dimension = 0
        self.likeness = (0.0, 1.0)
        self.failure: str | None = None

    @property
    def identity(self) -> str:
        return f"openai:{self.host}/{self._model}/{self.dimension}"

    @classmethod
    async def open(
        cls,
        url: str,
        model: str,
        *,
        api_key: str | None = None,
        dimension: int | None = None,
        timeout: float = 30.0,  # noqa: ASYNC109 - of each request
        backoff: float = 0.5,
    ) -> HostedEmbedder:
        """One request of sixteen short made-up texts shows the dimension and what is alike.

        `timeout` and `backoff` (before the second try, doubled before the third) in seconds.
        """
        embedder = cls(_client(url, api_key, timeout), model, backoff)
        try:
            await embedder._probe(dimension)
        except BaseException:
            await embedder.close()
            raise
        return embedder

    def passages(self, text: str) -> list[str]:
        return by_bytes(text)

    async def embed(self, texts: Sequence[str], purpose: Purpose) -> Vectors:
        try:
            found = [
                await self._batch(texts[start : start + BATCH])
                for start in range(0, len(texts), BATCH)
            ]
        except (EmbedderUnavailable, UpstreamBusy) as error:
            self.failure = error.message
            raise
        self.failure = None
        return np.concatenate([np.zeros((0, self.dimension), np.float32), *found])

    async def close(self) -> None:
        await self._client.aclose()

    async def _probe(self, expected: int | None) -> None:
        vectors = await self._batch([text for pair in _PROBE for text in pair])
        self.dimension = vectors.shape[1]
        if expected is not None and self.dimension != expected:
            raise EmbedderUnavailable(
                f"{self.host} answers with {self.dimension} dimensions, but embedder_dimension "
                f"is {expected}."
            )
        alike = vectors[0::2] @ vectors[1::2].T
        others = alike[~np.eye(len(alike), dtype=bool)]
        unrelated = float(others.mean() + 2 * others.std())
        self.likeness = (unrelated, max(float(alike.diagonal().mean()), unrelated + 0.05))

    async def _batch(self, texts: Sequence[str]) -> Vectors:
        body = {"model": self._model, "input": [printable(text) for text in texts]}
        response = await self._post({**body, "encoding_format": "float"})
        vectors = self._vectors(response, len(texts))
        if self.dimension and vectors.shape[1] != self.dimension:
            raise EmbedderUnavailable(
                f"{self.host} now answers with {vectors.shape[1]} dimensions instead of "
                f"{self.dimension}: its model has changed."
            )
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.maximum(length, 1e-12)).astype(np.float32)

    async def _post(self, body: dict[str, Any]) -> httpx2.Response:
        """The first answer that is neither a failure of the host nor of the network."""
        reason = ""
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(self._backoff * 2 ** (attempt - 1))
            try:
                response = await self._client.post("embeddings", json=body)
            except httpx2.TransportError as error:
                reason = f"cannot be reached ({type(error).__name__})"
                continue
            if response.status_code < 500:
                self._accept(response)
                return response
            reason = f"answers with HTTP {response.status_code}"
        raise EmbedderUnavailable(f"The embedder at {self.host} {reason}.")

    def _accept(self, response: httpx2.Response) -> None:
        status = response.status_code
        if status == 429:
            wait = _retry_after(response.headers.get("retry-after"), SystemClock())
            # How long to wait, if the host says it, is told by whoever passes this on.
            later = "" if wait is not None else " Try again in a while."
            raise UpstreamBusy(
                f"The embedder at {self.host} gets too many requests (HTTP 429).{later}",
                retry_after=wait,
            )
        if status != 200:
            hint = {401: "embedder_api_key", 403: "embedder_api_key", 404: "embedder_model"}
            raise EmbedderUnavailable(
                f"The embedder at {self.host} refuses (HTTP {status}); check the setting "
                f"{hint.get(status, 'embedder_url')}."
            )

    def _vectors(self, response: httpx2.Response, count: int) -> Vectors:
        """The vectors in the order of the texts. Raises EmbedderUnavailable for anything else."""
        try:
            rows = cast("list[dict[str, Any]]", response.json()["data"])
            rows = sorted(rows, key=lambda row: int(row["index"]))
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float32)
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderUnavailable(
                f"The embedder at {self.host} does not answer with embeddings."
            ) from error
        if vectors.ndim != 2 or len(vectors) != count or not np.isfinite(vectors).all():
            raise EmbedderUnavailable(
                f"The embedder at {self.host} does not give a vector of numbers for each text."
            )
        return vectors


def _client(url: str, api_key: str | None, seconds: float) -> httpx2.AsyncClient:
    try:
        base = httpx2.URL(url)
    except httpx2.InvalidURL:
        base = httpx2.URL()
    if base.scheme not in ("http", "https") or not base.host:
        raise InvalidInput(
            "Setting embedder_url must be an http or https URL, such as http://localhost:11434/v1.",
            field="embedder_url",
        )
    return httpx2.AsyncClient(
        base_url=base,
        headers={"Authorization": f"Bearer {api_key}"} if api_key else {},
        timeout=seconds,
        trust_env=base.host not in _LOOPBACK,  # a proxy does not lead back to this machine
    )


def _retry_after(value: str | None, clock: Clock) -> float | None:
    """Seconds from now, of either form of Retry-After (RFC 9110 section 10.2.3)."""
    if value is None:
        return None
    if value.strip().isdigit():
        return float(value)
    try:
        then = parsedate_to_datetime(value)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0.0, (then - clock.now()).total_seconds())

"""The hosted embedder against a small endpoint of the OpenAI shape, over real HTTP."""

import json
import logging
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import numpy as np
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rememberd.errors import EmbedderUnavailable, UpstreamBusy
from rememberd.inference.embed import QueryCache
from rememberd.inference.hosted import BATCH, HostedEmbedder
from tests.fakes import WordHashEmbedder
from tests.http.serving import serving

SECRET = "sk-made-up"
TEXT = "the release phrase is ORCHID-7419"


Rows = list[Any]
Change = Callable[[Rows], Rows]


@dataclass
class Endpoint:
    """Answers `/v1/embeddings`; what it does next can be set."""

    url: str = ""
    dimension: int = 16
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    keys: list[str | None] = field(default_factory=list[str | None])
    next: list[Response] = field(default_factory=list[Response])  #: sent first, in this order
    change: Change | None = None  #: of the regular answer's rows

    async def embeddings(self, request: Request) -> Response:
        body = await request.json()
        self.asked.append(body)
        self.keys.append(request.headers.get("authorization"))
        if self.next:
            return self.next.pop(0)
        vectors = await WordHashEmbedder(self.dimension).embed(body["input"], "memory")
        rows: Rows = [
            {"object": "embedding", "index": index, "embedding": (vector * 3).tolist()}
            for index, vector in enumerate(vectors)
        ]
        if self.change:
            rows = self.change(rows)
        # Python's JSON says NaN like some servers do.
        return Response(json.dumps({"data": rows[::-1]}), media_type="application/json")


@pytest.fixture
def endpoint() -> Generator[Endpoint]:
    made = Endpoint()
    routes = [Route("/v1/embeddings", made.embeddings, methods=["POST"])]
    with serving(lambda _: Starlette(routes=routes)) as served:
        made.url = f"{served.url}/v1"
        yield made


@asynccontextmanager
async def opened(endpoint: Endpoint, **options: Any) -> AsyncGenerator[HostedEmbedder]:
    embedder = await HostedEmbedder.open(endpoint.url, "tiny", backoff=0, **options)
    try:
        yield embedder
    finally:
        await embedder.close()


async def test_it_asks_with_model_and_key_and_gets_unit_vectors_in_order(
    endpoint: Endpoint,
) -> None:
    async with opened(endpoint, api_key=SECRET) as embedder:
        vectors = await embedder.embed([TEXT, "tea"], "memory")
        expected = await WordHashEmbedder(16).embed([TEXT, "tea"], "memory")
    assert vectors == pytest.approx(expected, abs=1e-5)
    assert endpoint.asked[-1] == {
        "model": "tiny",
        "input": [TEXT, "tea"],
        "encoding_format": "float",
    }
    assert set(endpoint.keys) == {f"Bearer {SECRET}"}


async def test_without_a_key_none_is_sent(endpoint: Endpoint) -> None:
    async with opened(endpoint):
        assert endpoint.keys == [None]


async def test_it_finds_out_dimension_and_likeness_and_names_its_host(endpoint: Endpoint) -> None:
    async with opened(endpoint) as embedder:
        assert embedder.dimension == 16
        host = endpoint.url.removeprefix("http://").removesuffix("/v1")
        assert embedder.host == host
        assert embedder.identity == f"openai:{host}/tiny/16"
        unrelated, same = embedder.likeness
        assert -1 < unrelated < same <= 1
    assert len(endpoint.asked) == 1


async def test_another_dimension_than_the_setting_says_is_refused(endpoint: Endpoint) -> None:
    with pytest.raises(EmbedderUnavailable, match="16 dimensions, but embedder_dimension is 32"):
        async with opened(endpoint, dimension=32):
            pass


async def test_many_texts_go_in_several_requests(endpoint: Endpoint) -> None:
    async with opened(endpoint) as embedder:
        vectors = await embedder.embed([f"memory {n}" for n in range(2 * BATCH + 1)], "memory")
        assert vectors.shape == (2 * BATCH + 1, 16)
        assert (await embedder.embed([], "memory")).shape == (0, 16)
    assert [len(body["input"]) for body in endpoint.asked[1:]] == [BATCH, BATCH, 1]


async def test_a_long_text_is_cut_into_passages_that_any_model_takes(endpoint: Endpoint) -> None:
    async with opened(endpoint) as embedder:
        found = embedder.passages("word " * 2000)
        assert max(map(len, found)) <= 1500
        assert embedder.passages(TEXT) == [TEXT]


async def test_a_lone_surrogate_is_sent_as_a_question_mark(endpoint: Endpoint) -> None:
    async with opened(endpoint) as embedder:
        await embedder.embed(["a\ud800b"], "memory")
    assert endpoint.asked[-1]["input"] == ["a?b"]


async def test_a_passing_failure_is_tried_again(endpoint: Endpoint) -> None:
    async with opened(endpoint) as embedder:
        endpoint.next = [Response(status_code=503), Response(status_code=500)]
        assert (await embedder.embed([TEXT], "query")).shape == (1, 16)
        endpoint.next = [Response(status_code=502) for _ in range(3)]
        with pytest.raises(EmbedderUnavailable, match="HTTP 502"):
            await embedder.embed([TEXT], "query")


async def test_the_last_failure_is_kept_until_a_request_succeeds(endpoint: Endpoint) -> None:
    async with opened(endpoint) as embedder:
        cached = QueryCache(embedder)
        await cached.embed([TEXT], "query")
        for status in (502, 502, 502), (429,), (404,):
            endpoint.next = [Response(status_code=code) for code in status]
            with pytest.raises((EmbedderUnavailable, UpstreamBusy)) as caught:
                await cached.embed([TEXT], "memory")
            assert cached.failure == caught.value.message
        await cached.embed([TEXT], "query")  # from the cache: that says nothing of the host
        assert cached.failure
        await cached.embed([TEXT], "memory")
        assert cached.failure is None


@pytest.mark.parametrize("form", ["seconds", "date"])
async def test_too_many_requests_says_how_long_to_wait_and_is_not_tried_again(
    endpoint: Endpoint, form: str
) -> None:
    later = datetime(2100, 1, 1, tzinfo=UTC) if form == "date" else None
    header = format_datetime(later, usegmt=True) if later else "17"
    async with opened(endpoint) as embedder:
        asked = len(endpoint.asked)
        endpoint.next = [JSONResponse({"error": TEXT}, 429, headers={"Retry-After": header})]
        with pytest.raises(UpstreamBusy) as caught:
            await embedder.embed([TEXT], "query")
        assert len(endpoint.asked) == asked + 1
    wait = caught.value.retry_after
    assert wait is not None
    assert wait == 17 or timedelta(seconds=wait) > timedelta(days=365)
    assert "17" not in caught.value.message  # told by whoever passes it on, not twice


@pytest.mark.parametrize("header", [None, "soon"])
async def test_too_many_requests_without_a_time_is_still_told(
    endpoint: Endpoint, header: str | None
) -> None:
    headers = {"Retry-After": header} if header else {}
    async with opened(endpoint) as embedder:
        endpoint.next = [Response(status_code=429, headers=headers)]
        with pytest.raises(UpstreamBusy) as caught:
            await embedder.embed([TEXT], "query")
    assert caught.value.retry_after is None
    assert caught.value.message.endswith("Try again in a while.")


@pytest.mark.parametrize(
    "status, setting",
    [
        (401, "embedder_api_key"),
        (403, "embedder_api_key"),
        (404, "embedder_model"),
        (400, "embedder_url"),
        (302, "embedder_url"),
    ],
)
async def test_a_refusal_names_the_setting_and_no_content(
    endpoint: Endpoint, status: int, setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    async with opened(endpoint, api_key=SECRET) as embedder:
        endpoint.next = [JSONResponse({"error": f"bad {SECRET} {TEXT}"}, status)]
        with pytest.raises(EmbedderUnavailable, match=setting) as caught:
            await embedder.embed([TEXT], "query")
    for told in (str(caught.value), caplog.text):
        assert SECRET not in told
        assert "ORCHID" not in told


def _nan(rows: Rows) -> Rows:
    rows[0]["embedding"][3] = float("nan")
    return rows


def _ragged(rows: Rows) -> Rows:
    rows[0]["embedding"] = [1.0]
    return rows


def _short(rows: Rows) -> Rows:
    return rows[1:]


def _empty(rows: Rows) -> Rows:
    return rows[:0]


def _base64(rows: Rows) -> Rows:
    return [{**row, "embedding": "AAAA"} for row in rows]


def _numbers(rows: Rows) -> Rows:
    return [1 for _ in rows]


def _zeros(rows: Rows) -> Rows:
    return [{**row, "embedding": [0.0] * 16} for row in rows]


@pytest.mark.parametrize("change", [_nan, _ragged, _short, _empty, _base64, _numbers])
async def test_an_answer_that_is_no_vector_per_text_is_refused(
    endpoint: Endpoint, change: Change
) -> None:
    async with opened(endpoint) as embedder:
        endpoint.change = change
        with pytest.raises(EmbedderUnavailable, match="does not"):
            await embedder.embed([TEXT, "tea"], "memory")


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b'{"data": null}', b'{"object": "list"}'])
async def test_an_answer_of_another_kind_is_refused(endpoint: Endpoint, body: bytes) -> None:
    async with opened(endpoint) as embedder:
        endpoint.next = [Response(body)]
        with pytest.raises(EmbedderUnavailable, match="does not answer with embeddings"):
            await embedder.embed([TEXT], "memory")


async def test_a_model_that_changes_its_dimension_is_noticed(endpoint: Endpoint) -> None:
    async with opened(endpoint) as embedder:
        endpoint.dimension = 24
        with pytest.raises(EmbedderUnavailable, match="its model has changed"):
            await embedder.embed([TEXT], "memory")


async def test_nobody_there_is_told_after_three_tries() -> None:
    with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
        await HostedEmbedder.open("http://127.0.0.1:9/v1", "tiny", backoff=0)


async def test_an_endpoint_on_this_machine_is_not_looked_for_behind_a_proxy(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with opened(endpoint) as embedder:
        assert embedder.dimension == 16


async def test_a_zero_vector_gives_no_nan(endpoint: Endpoint) -> None:
    async with opened(endpoint) as embedder:
        endpoint.change = _zeros
        assert not np.isnan(await embedder.embed([TEXT], "memory")).any()

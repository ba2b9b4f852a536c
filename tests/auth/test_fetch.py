"""Fetching what strangers name: it reaches only what it should, and takes only what is small."""

from __future__ import annotations

import asyncio
import json
import ssl
from typing import Any

import anyio
import pytest

from rememberd.auth import answers
from rememberd.auth.answers import Fetched, Outcome, Unfetched
from rememberd.auth.fetch import Fetcher
from tests.auth.origin import HOST, Origin, answer
from tests.store.world import StillClock

LIMIT = 5 * 1024
DOCUMENT = {"client_id": "x"}


@pytest.fixture
def fetcher(clock: StillClock, site: Origin) -> Fetcher:
    site.answers["/ok"] = answer(DOCUMENT)
    return Fetcher(clock, site.network())


async def get(fetcher: Fetcher, url: str, requester: str = "alice") -> Outcome:
    return await fetcher.get(url, requester=requester, limit=LIMIT)


async def reason(fetcher: Fetcher, url: str) -> str:
    outcome = await get(fetcher, url)
    assert isinstance(outcome, Unfetched)
    return outcome.reason


async def test_a_document_is_fetched(fetcher: Fetcher, site: Origin) -> None:
    assert await get(fetcher, site.url("/ok")) == Fetched(DOCUMENT, answers.SHORTEST)


async def test_the_request_names_the_host_and_nothing_about_us(
    fetcher: Fetcher, site: Origin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    await get(fetcher, site.url("/ok?x=%20y"))
    assert site.names == [HOST]
    assert site.requests[0].split("\r\n") == [
        "GET /ok?x=%20y HTTP/1.1",
        f"Host: {HOST}:{site.port}",
        "User-Agent: rememberd",
        "Accept: application/json",
        "Accept-Encoding: identity",
        "Connection: close",
        "",
        "",
    ]


# --- where it goes -----------------------------------------------------------------------------


@pytest.mark.threat(number=14)
@pytest.mark.parametrize(
    "url",
    [
        "http://client.example/ok",
        "HTTPS://client.example/ok",
        "ftp://client.example/ok",
        "file:///etc/passwd",
        "https://user@client.example/ok",
        "https://user:pw@client.example/ok",
        "https://client.example/ok#part",
        "https://client.example/a/../ok",
        "https://client.example/%2e%2E/ok",
        "https://client.example\\@evil.example/ok",
        "https://client.example%2f@evil.example/ok",
        "https://127.0.0.1/ok",
        "https://[::1]/ok",
        "https://localhost/ok",
        "https://2130706433/ok",
        "https://0x7f000001/ok",
        "https://127.1/ok",
        "https://client.example./ok",
        "https://clıent.example/ok",
        "https://client.example/\tok",
        "https://client.example:0/ok",
        "https://client.example:99999/ok",
        "https://client.example:22/ok",
        "https:///ok",
        "",
    ],
)
async def test_an_address_of_another_shape_is_never_asked(
    clock: StillClock, site: Origin, url: str
) -> None:
    asked: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.1"]

    fetcher = Fetcher(clock, site.network(resolve=resolve))
    outcome = await get(fetcher, url)
    assert isinstance(outcome, Unfetched)
    assert not outcome.passing
    assert asked == site.requests == []


@pytest.mark.threat(number=14)
@pytest.mark.parametrize(
    "addresses",
    [
        ["10.0.0.1"],
        ["169.254.169.254"],
        ["100.64.0.1"],
        ["::1"],
        ["fe80::1"],
        ["fc00::1"],
        ["::ffff:10.0.0.1"],
        ["64:ff9b::a00:1"],
        ["2002:a00:1::"],
        ["127.0.0.1", "10.0.0.1"],
        ["10.0.0.1", "127.0.0.1"],
        [],
    ],
    ids=" and ".join,
)
async def test_a_host_with_any_address_inside_is_never_connected_to(
    clock: StillClock, site: Origin, addresses: list[str]
) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return addresses

    fetcher = Fetcher(clock, site.network(resolve=resolve))
    assert await reason(fetcher, site.url("/ok")) == "the host has no public address"
    assert site.names == []


async def test_a_name_that_does_not_exist_answers_like_one_that_is_private(
    clock: StillClock, site: Origin
) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        raise OSError("no such name")

    fetcher = Fetcher(clock, site.network(resolve=resolve))
    assert await reason(fetcher, site.url("/ok")) == "the host has no public address"


@pytest.mark.threat(number=14)
async def test_a_name_that_changes_its_address_is_looked_up_once_and_pinned(
    clock: StillClock, site: Origin
) -> None:
    """DNS rebinding: what was checked is what is connected to."""
    given = iter([["127.0.0.1"], ["10.0.0.1"]])

    async def resolve(host: str, port: int) -> list[str]:
        return next(given)

    site.answers["/ok"] = answer(DOCUMENT)
    fetcher = Fetcher(clock, site.network(resolve=resolve))
    assert isinstance(await get(fetcher, site.url("/ok")), Fetched)
    assert await reason(fetcher, site.url("/ok")) == "the host has no public address"
    assert len(site.requests) == 1


async def test_the_next_address_is_tried_when_one_does_not_take_the_connection(
    clock: StillClock, site: Origin, unused_address: str
) -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return [unused_address, "127.0.0.1"]

    site.answers["/ok"] = answer(DOCUMENT)
    network = site.network(resolve=resolve, is_public=bool)
    assert isinstance(await get(Fetcher(clock, network), site.url("/ok")), Fetched)


@pytest.fixture
def unused_address() -> str:
    """Loopback too, but nobody listens there."""
    return "::1"


async def test_a_certificate_for_another_name_is_not_accepted(
    fetcher: Fetcher, site: Origin
) -> None:
    url = site.url("/ok", host="evil.example")
    assert await reason(fetcher, url) == "the host could not be reached over https"
    assert site.requests == []


async def test_a_certificate_of_an_unknown_authority_is_not_accepted(
    clock: StillClock, site: Origin
) -> None:
    fetcher = Fetcher(clock, site.network(make_context=ssl.create_default_context))
    assert await reason(fetcher, site.url("/ok")) == "the host could not be reached over https"
    assert site.requests == []


@pytest.mark.threat(number=14)
@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 T", "308 P"])
async def test_a_redirect_is_not_followed(fetcher: Fetcher, site: Origin, status: str) -> None:
    site.answers["/moved"] = answer({}, f"Location: {site.url('/ok')}", status=status)
    assert status[:3] in await reason(fetcher, site.url("/moved"))
    assert site.paths == ["/moved"]


# --- what it takes -----------------------------------------------------------------------------

PAD = LIMIT - len(json.dumps({"pad": ""}))


async def test_a_document_as_long_as_allowed_is_taken(fetcher: Fetcher, site: Origin) -> None:
    site.answers["/long"] = answer({"pad": "x" * PAD})
    assert isinstance(await get(fetcher, site.url("/long")), Fetched)


@pytest.mark.threat(number=14)
@pytest.mark.parametrize("more", [1, 1024, 1_000_000])
async def test_a_longer_one_is_not(fetcher: Fetcher, site: Origin, more: int) -> None:
    site.answers["/long"] = answer({"pad": "x" * (PAD + more)})
    assert await reason(fetcher, site.url("/long")) == "the answer is longer than 5120 bytes"


async def test_a_longer_one_in_chunks_is_not_either(fetcher: Fetcher, site: Origin) -> None:
    async def forever(writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            writer.write(b"400\r\n" + b" " * 1024 + b"\r\n")
            await writer.drain()

    site.answers["/endless"] = forever
    assert await reason(fetcher, site.url("/endless")) == "the answer is longer than 5120 bytes"


async def test_a_document_in_chunks_is_taken(fetcher: Fetcher, site: Origin) -> None:
    site.answers["/chunked"] = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n"
        b'5\r\n{"a":\r\n3\r\n 1}\r\n0\r\n\r\n'
    )
    assert await get(fetcher, site.url("/chunked")) == Fetched({"a": 1}, answers.SHORTEST)


@pytest.mark.parametrize(
    "start",
    [b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"],
    ids=["headers", "early hints"],
)
async def test_an_endless_head_is_cut_off(fetcher: Fetcher, site: Origin, start: bytes) -> None:
    async def forever(writer: asyncio.StreamWriter) -> None:
        writer.write(start)
        while True:
            writer.write(b"X-More: x\r\n" if start.startswith(b"HTTP/1.1 200") else start)
            await writer.drain()

    site.answers["/endless"] = forever
    assert (await reason(fetcher, site.url("/endless"))).startswith("the answer is ")


@pytest.mark.threat(number=14)
async def test_a_bomb_is_not_unpacked(fetcher: Fetcher, site: Origin) -> None:
    site.answers["/bomb"] = answer({}, "Content-Encoding: gzip")
    assert "compressed" in await reason(fetcher, site.url("/bomb"))


@pytest.mark.parametrize(
    "sent",
    [b"", b"\r\n\r\n", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n"],
)
async def test_what_is_not_http_is_no_answer(fetcher: Fetcher, site: Origin, sent: bytes) -> None:
    site.answers["/odd"] = sent
    assert await reason(fetcher, site.url("/odd")) == "the answer is not an HTTP answer"


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        "application/cimd+json",
    ],
)
async def test_json_of_any_kind_is_taken(fetcher: Fetcher, site: Origin, content_type: str) -> None:
    site.answers["/typed"] = answer(DOCUMENT, content_type=content_type)
    assert isinstance(await get(fetcher, site.url("/typed")), Fetched)


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "text/html",
        "text/json",
        "application/jsonp",
        "application/json+x",
        "x/application/json",
    ],
)
async def test_another_type_is_not(
    fetcher: Fetcher, site: Origin, content_type: str | None
) -> None:
    site.answers["/typed"] = answer(DOCUMENT, content_type=content_type)
    assert "not of type" in await reason(fetcher, site.url("/typed"))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b'"text"',
        b"{",
        b"{} {}",
        b'{"a": NaN}',
        b'{"a": 1e999}',
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 2}}',
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        b'{"a":' + b"[" * 2400 + b"]" * 2400 + b"}",
        b'{"a":' + b"9" * 4999 + b"}",
    ],
    ids=range(15),
)
async def test_what_is_not_one_plain_object_is_refused(
    fetcher: Fetcher, site: Origin, body: bytes
) -> None:
    site.answers["/odd"] = answer(body)
    assert (await reason(fetcher, site.url("/odd"))).startswith("the answer is not")


@pytest.mark.parametrize(
    "status, passing",
    [
        ("404 Not Found", False),
        ("401 Unauthorized", False),
        ("204 No Content", False),
        ("206 Partial Content", False),
        ("500 Error", True),
        ("503 Busy", True),
        ("429 Slow", True),
    ],
)
async def test_only_a_plain_200_counts(
    fetcher: Fetcher, site: Origin, status: str, passing: bool
) -> None:
    body = b"" if status.startswith("204") else DOCUMENT
    site.answers["/odd"] = answer(body, status=status)
    outcome = await get(fetcher, site.url("/odd"))
    assert isinstance(outcome, Unfetched)
    assert status[:3] in outcome.reason
    assert outcome.passing == passing


# --- how long, how often -----------------------------------------------------------------------


@pytest.mark.threat(number=14)
async def test_a_host_that_dawdles_is_given_up(clock: StillClock, site: Origin) -> None:
    async def dawdle(writer: asyncio.StreamWriter) -> None:
        for byte in answer(DOCUMENT):
            writer.write(bytes([byte]))
            await asyncio.sleep(0.05)

    site.answers["/slow"] = dawdle
    fetcher = Fetcher(clock, site.network(total=0.3))
    assert await reason(fetcher, site.url("/slow")) == "the host took too long to answer"


async def test_a_resolver_that_dawdles_is_given_up(clock: StillClock, site: Origin) -> None:
    async def dawdle(host: str, port: int) -> list[str]:
        return await asyncio.get_running_loop().create_future()

    fetcher = Fetcher(clock, site.network(resolve=dawdle, total=0.1))
    assert await reason(fetcher, site.url("/ok")) == "the host took too long to answer"


class Held:
    """An answer that waits until it is let go."""

    def __init__(self, body: dict[str, Any]) -> None:
        self.asked = asyncio.Event()
        self.go = asyncio.Event()
        self._body = body

    async def __call__(self, writer: asyncio.StreamWriter) -> None:
        self.asked.set()
        await self.go.wait()
        writer.write(answer(self._body))
        await writer.drain()


async def test_those_who_ask_for_the_same_at_once_share_one_request(
    fetcher: Fetcher, site: Origin
) -> None:
    held = site.answers["/held"] = Held(DOCUMENT)
    outcomes: list[Outcome] = []

    async def ask() -> None:
        outcomes.append(await get(fetcher, site.url("/held")))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await held.asked.wait()
        for _ in range(9):
            tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        held.go.set()
    assert outcomes == [Fetched(DOCUMENT, answers.SHORTEST)] * 10
    assert len(site.requests) == 1


async def test_whoever_waits_along_learns_that_the_first_one_gave_up(
    fetcher: Fetcher, site: Origin
) -> None:
    held = site.answers["/held"] = Held(DOCUMENT)
    outcomes: list[Outcome] = []

    async def ask() -> None:
        outcomes.append(await get(fetcher, site.url("/held")))

    first = anyio.CancelScope()

    async def ask_and_give_up() -> None:
        with first:
            await get(fetcher, site.url("/held"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask_and_give_up)
        await held.asked.wait()
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        first.cancel()
    [outcome] = outcomes
    assert isinstance(outcome, Unfetched)
    assert outcome.passing
    held.go.set()
    assert isinstance(await get(fetcher, site.url("/held")), Fetched)


async def test_failures_are_not_kept(fetcher: Fetcher, site: Origin) -> None:
    assert "404" in await reason(fetcher, site.url("/later"))
    site.answers["/later"] = answer(DOCUMENT)
    assert isinstance(await get(fetcher, site.url("/later")), Fetched)


async def asked_until_refused(fetcher: Fetcher, urls: list[tuple[str, str]]) -> int:
    for count, (url, requester) in enumerate(urls):
        outcome = await get(fetcher, url, requester)
        if isinstance(outcome, Unfetched) and "too often" in outcome.reason:
            assert outcome.passing
            return count
    raise AssertionError("never refused")


@pytest.mark.threat(number=15)
async def test_one_requester_cannot_have_many_hosts_asked(
    fetcher: Fetcher, site: Origin, clock: StillClock
) -> None:
    urls = [(site.url("/ok", host=f"h{n}.example"), "mallory") for n in range(100)]
    assert await asked_until_refused(fetcher, urls) <= 20
    clock.move(seconds=61)
    assert isinstance(await get(fetcher, site.url("/ok"), "mallory"), Fetched)


@pytest.mark.threat(number=15)
async def test_many_requesters_cannot_have_one_host_flooded(
    fetcher: Fetcher, site: Origin, clock: StillClock
) -> None:
    urls = [(site.url(f"/ok?{n}"), f"mallory {n}") for n in range(100)]
    assert await asked_until_refused(fetcher, urls) <= 20
    assert len(site.requests) <= 20
    clock.move(seconds=61)
    assert isinstance(await get(fetcher, site.url("/ok")), Fetched)


@pytest.mark.threat(number=15)
async def test_many_names_cannot_have_one_address_flooded(fetcher: Fetcher, site: Origin) -> None:
    urls = [(site.url("/ok", host=f"h{n}.example"), f"mallory {n}") for n in range(100)]
    assert await asked_until_refused(fetcher, urls) <= 20
    assert len(site.names) <= 20


# --- how long a document may be used -----------------------------------------------------------


@pytest.mark.parametrize(
    "headers, minutes",
    [
        ({}, 5),
        ({"cache-control": "max-age=3600"}, 60),
        ({"cache-control": 'public, Max-Age="3600"'}, 60),
        ({"cache-control": "max-age=3600", "age": "600"}, 50),
        ({"cache-control": "max-age=3600", "age": "99999"}, 5),
        ({"cache-control": "max-age=3600", "age": "x"}, 60),
        ({"cache-control": "max-age=0"}, 5),
        ({"cache-control": "max-age=999999999"}, 24 * 60),
        ({"cache-control": "max-age=3600, no-cache"}, 5),
        ({"cache-control": "no-store, max-age=3600"}, 5),
        ({"cache-control": "s-maxage=3600"}, 5),
        ({"cache-control": "max-age=-1"}, 5),
        ({"cache-control": "max-age"}, 5),
    ],
)
def test_caching_is_as_http_says_within_bounds(headers: dict[str, str], minutes: int) -> None:
    assert answers.freshness(headers).total_seconds() == minutes * 60

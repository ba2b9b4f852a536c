"""The official Python client, from nothing but the URL: it finds its way by what we answer."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from mcp_types import CallToolResult
from pydantic import AnyUrl

from tests.oauth.person import Person
from tests.oauth.program import ALL, CALLBACK, DELETE, READ, REFLECT, WRITE, query_of
from tests.oauth.world import World, running

PROMPT = "The release phrase is ORCHID-7419."


class Memory(TokenStorage):
    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.info: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.info

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.info = client_info


class StepUp(httpx2.AsyncHTTPTransport):
    """What a host does that takes the challenge in a tool's result for one: the client's own
    machinery answers to a 403.
    """

    challenges: list[str]

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        response = await super().handle_async_request(request)
        if request.method != "POST" or request.url.path != "/mcp" or response.status_code != 200:
            return response
        body: dict[str, Any] = json.loads(await response.aread())
        for challenge in body.get("result", {}).get("_meta", {}).get("mcp/www_authenticate", []):
            self.challenges.append(challenge)
            return httpx2.Response(403, headers={"WWW-Authenticate": challenge})
        return response


class App:
    """The client, its storage, and the person who is asked; `grants` is what she ticks next."""

    def __init__(self, world: World, person: Person) -> None:
        self.world = world
        self.person = person
        self.grants: list[str] = [READ, WRITE]
        self.links: list[str] = []
        self.storage = Memory()
        self.steps = StepUp(verify=False)  # there is no TLS here, and a context takes its time
        self.steps.challenges = []
        self._answer = ""
        self.provider = OAuthClientProvider(
            server_url=world.mcp,
            client_metadata=OAuthClientMetadata(
                client_name="Python client",
                redirect_uris=[AnyUrl(CALLBACK)],
                grant_types=["authorization_code", "refresh_token"],
                response_types=["code"],
                token_endpoint_auth_method="none",
            ),
            storage=self.storage,
            redirect_handler=self._send,
            callback_handler=self._receive,
        )

    async def _send(self, url: str) -> None:
        self.links.append(url)
        self._answer = self.person.consent(url, scopes=self.grants)

    async def _receive(self) -> AuthorizationCodeResult:
        said = query_of(self._answer)
        return AuthorizationCodeResult(
            code=said["code"][0], state=said["state"][0], iss=said["iss"][0]
        )

    @asynccontextmanager
    async def connected(self, mode: str = "auto") -> AsyncGenerator[Client]:
        http = httpx2.AsyncClient(auth=self.provider, transport=self.steps, timeout=30)
        async with (
            http,
            Client(streamable_http_client(self.world.mcp, http_client=http), mode=mode) as client,
        ):
            yield client

    def asked(self) -> set[str]:
        """The scopes of the last link."""
        return set(query_of(self.links[-1])["scope"][0].split()) - {"offline_access"}

    def expire(self) -> None:
        """The client's clock and ours move on together."""
        self.world.clock.move(hours=1)
        self.provider.context.token_expiry_time = time.time() - 1


@pytest.fixture
def world(data: Path) -> Iterator[World]:
    with running(data) as world:
        yield world


@pytest.fixture
def app(world: World) -> App:
    return App(world, Person(world, "alice@example.com").set_up())


def texts(result: CallToolResult) -> list[str]:
    assert result.structured_content is not None
    return [memory["text"] for memory in result.structured_content["memories"]]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_it_comes_in_stores_finds_and_refreshes(app: App, mode: str) -> None:
    async with app.connected(mode) as client:
        assert len((await client.list_tools()).tools) == 10
        assert app.asked() == {READ}
        assert not (await client.call_tool("store_memory", {"content": PROMPT})).is_error
        assert texts(await client.call_tool("search_memories", {"query": "phrase"})) == [PROMPT]
        before = app.storage.tokens
        app.expire()
        assert texts(await client.call_tool("search_memories", {"query": "phrase"})) == [PROMPT]
    after = app.storage.tokens
    assert before
    assert after
    assert before.access_token != after.access_token
    assert before.refresh_token != after.refresh_token
    assert len(app.links) == 1  # nobody was asked again


async def test_it_steps_up_by_the_challenge_in_a_result(app: App) -> None:
    async with app.connected() as client:
        app.grants = [READ, WRITE]
        await client.call_tool("store_memory", {"content": PROMPT})
        app.grants = [READ, WRITE, DELETE]
        deleted = await client.call_tool(
            "delete_memories", {"memory_ids": ["mem_unknown"], "confirmation": "DELETE"}
        )
        (challenge,) = app.steps.challenges
        assert f'scope="{READ} {WRITE} {DELETE}"' in challenge
        assert app.asked() == {READ, WRITE, DELETE}
        assert not deleted.is_error
        assert texts(await client.call_tool("search_memories", {"query": "phrase"})) == [PROMPT]
    assert len(app.links) == 2


async def test_it_steps_up_by_the_403_of_a_resource(app: App) -> None:
    app.grants = [WRITE]
    async with app.connected() as client:
        await client.call_tool("store_memory", {"content": PROMPT})
        app.grants = [READ, WRITE]
        recent = await client.read_resource("memory://vault/recent")
        assert PROMPT in str(recent.contents[0])
    assert app.asked() == {READ, WRITE}
    assert len(app.links) == 2


async def test_it_is_widened_without_its_doing(app: App) -> None:
    async with app.connected() as client:
        await client.call_tool("store_memory", {"content": PROMPT})
        (grant,) = app.person.connections()
        app.person.change(grant, f"allow {REFLECT}")
        batch = await client.call_tool("consolidate_memories", {})
        assert not batch.is_error
        assert texts(batch) == [PROMPT]
    assert len(app.links) == 1


async def test_it_signs_in_again_once_it_was_shown_out(app: App) -> None:
    async with app.connected() as client:
        await client.call_tool("store_memory", {"content": PROMPT})
        (grant,) = app.person.connections()
        app.person.change(grant, "revoke")
        app.grants = list(ALL)
        assert texts(await client.call_tool("search_memories", {"query": "phrase"})) == [PROMPT]
    assert len(app.links) == 2


async def test_it_keeps_its_registration_and_tokens_over_a_restart_of_both(app: App) -> None:
    async with app.connected() as client:
        await client.call_tool("store_memory", {"content": PROMPT})
    app.world.restart()
    again = App(app.world, app.person)
    again.storage = app.storage
    again.provider.context.storage = app.storage
    async with again.connected() as client:
        assert texts(await client.call_tool("search_memories", {"query": "phrase"})) == [PROMPT]
    assert again.links == []

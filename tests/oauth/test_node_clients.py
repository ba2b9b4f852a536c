"""Clients written in JavaScript by others, from nothing but the URL: the official ones of both
ages, and a strict stranger.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rememberd.clock import SystemClock
from tests.clients.node import Node, node
from tests.oauth.dialogue import Question, converse
from tests.oauth.person import Person
from tests.oauth.program import ALL, DELETE, READ, WRITE, query_of
from tests.oauth.world import World, expire_access_tokens, running

pytestmark = pytest.mark.slow

MEMORY = "The release phrase is ORCHID-7419."


@pytest.fixture(scope="session")
def node22() -> Node:
    return node()


@pytest.fixture
def world(data: Path) -> Iterator[World]:
    with running(data) as world:
        world.clock.at = SystemClock().now()  # assertions are signed by the programs' clocks
        yield world


@pytest.fixture
def alice(world: World) -> Person:
    return Person(world, "alice@example.com").set_up()


def answering(alice: Person) -> Any:
    """Alice ticks what is asked for, and read and write. Buttons are pressed on the newest app."""

    def answer(question: Question) -> object:
        match question:
            case {"authorize": url}:
                asked = set(query_of(url)["scope"][0].split()) & set(ALL)
                return alice.consent(url, scopes=asked | {READ, WRITE})
            case {"expire": True}:
                expire_access_tokens(alice.world)
            case {"press": action}:
                alice.change(alice.connections()[0], action)
            case _:
                raise AssertionError(question)
        return True

    return answer


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_typescript_client_comes_in_refreshes_and_steps_up(
    world: World, alice: Person, node22: Node, mode: str
) -> None:
    found = converse(node22, "typescript.mjs", world.mcp, mode, MEMORY, answer=answering(alice))
    asked = [set(link.split()) - {"offline_access"} for link in found.pop("asked")]
    assert asked == [{READ}, {READ, WRITE, DELETE}, {READ, WRITE, DELETE}]
    assert MEMORY in found.pop("recent")
    assert found == {
        "tools": 10,
        "first": [MEMORY],
        "refreshed": [MEMORY],
        "rotated": True,
        "refused": True,
        "deleted": False,
        "forbidden": 403,
        "unable": True,
        "batch": [MEMORY],
    }


def test_the_typescript_client_of_before_the_revision_does_too(
    world: World, alice: Person, node22: Node
) -> None:
    found = converse(node22, "older_typescript.mjs", world.mcp, MEMORY, answer=answering(alice))
    asked = [set(link.split()) - {"offline_access"} for link in found.pop("asked")]
    assert asked == [{READ}, {READ, WRITE, DELETE}]
    assert found == {
        "tools": 10,
        "first": [MEMORY],
        "refreshed": [MEMORY],
        "rotated": True,
        "refused": True,
        "deleted": False,
        "unable": True,
        "batch": [MEMORY],
    }


@pytest.mark.parametrize(
    "method", ["none", "client_secret_post", "client_secret_basic", "private_key_jwt"]
)
def test_a_strict_stranger_finds_nothing_wrong(
    world: World, alice: Person, node22: Node, method: str
) -> None:
    """Discovery, registration, PKCE, issuer, refresh, challenges and revocation, by oauth4webapi:
    it refuses whatever a specification does not allow.
    """
    found = converse(node22, "stranger.mjs", world.mcp, method, answer=answering(alice))
    assert "A stranger was here." in found.pop("recent")
    assert found == {
        "challenged": "invalid_token",
        "same": True,
        "scope": f"{READ} {WRITE}",
        "stored": "queued",
        "expired": "invalid_token",
        "rotated": True,
        "texts": ["A stranger was here."],
        "lacking": "insufficient_scope",
        "needed": f"{READ} {WRITE}",
        "revoked": "invalid_token",
    }

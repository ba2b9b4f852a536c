"""Registrations that nobody uses are few and short-lived; used ones stay: apps keep their id."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rememberd.auth import registration
from rememberd.auth.clients import Clients
from rememberd.auth.errors import OAuthError
from rememberd.store.store import Store
from tests.store.world import StillClock


@pytest.fixture
def clients(store: Store, clock: StillClock) -> Clients:
    return Clients.assemble(store, clock, "https://memory.example")


async def register(clients: Clients) -> dict[str, Any]:
    body = json.dumps({"redirect_uris": ["https://app.example/cb"]}).encode()
    return await clients.register(body, "application/json")


async def use(store: Store, made: dict[str, Any]) -> None:
    """What consent does."""
    await store.control.write(lambda tx: tx.run("touch_client", id=made["client_id"], at=1))


async def is_known(clients: Clients, made: dict[str, Any]) -> bool:
    try:
        await clients.resolve(made["client_id"], "alice")
    except OAuthError:
        return False
    return True


@pytest.mark.threat(number=16)
@pytest.mark.quirk(number=28)
async def test_what_nobody_used_within_a_day_is_forgotten_and_what_somebody_did_is_not(
    clients: Clients, store: Store, clock: StillClock
) -> None:
    unused, used = [await register(clients) for _ in range(2)]
    await use(store, used)
    clock.move(hours=23, minutes=59)
    await register(clients)
    assert await is_known(clients, unused)
    clock.move(minutes=2)
    await register(clients)
    assert not await is_known(clients, unused)
    clock.move(days=365)
    await register(clients)
    assert await is_known(clients, used)


@pytest.mark.threat(number=16)
@pytest.mark.quirk(number=28)
async def test_a_flood_pushes_out_the_oldest_that_nobody_used(
    clients: Clients, store: Store, clock: StillClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registration, "MOST_NEVER_USED", 3)
    used = await register(clients)
    await use(store, used)
    made: list[dict[str, Any]] = []
    for _ in range(5):
        clock.move(seconds=1)
        made.append(await register(clients))
    assert [await is_known(clients, one) for one in made] == [False, False, True, True, True]
    assert await is_known(clients, used)

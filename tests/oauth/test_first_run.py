"""The first account: for whoever has the link that the server printed, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oauth.at_once import at_once
from tests.oauth.person import Person
from tests.oauth.world import World, running


@pytest.fixture
def world(data: Path) -> Iterator[World]:
    with running(data) as world:
        yield world


def link(world: World) -> str:
    token = world.do(world.app.auth.accounts.setup_link())
    assert token
    return f"/setup?token={token}"


@pytest.mark.threat(number=26)
def test_of_ten_who_set_up_at_once_one_gets_in(world: World) -> None:
    address = link(world)
    people = [Person(world, f"person{number}@example.com") for number in range(10)]
    pages = [person.open(address) for person in people]

    def take(number: int) -> int:
        person, page = people[number], pages[number]
        typed = (("email", person.email), ("password", person.password))
        return person.submit(page, page.form(having="password"), *typed).status

    assert Counter(at_once(10, take)) == {200: 1, 404: 9}
    signed_in = [person for person in people if person.open("/account").url.endswith("/account")]
    assert len(signed_in) == 1


def test_a_newer_link_replaces_the_one_before(world: World) -> None:
    first, second = link(world), link(world)
    person = Person(world, "alice@example.com")
    assert person.open(first).status == 404
    assert person.open(second).status == 200


@pytest.mark.threat(number=26)
def test_afterwards_there_is_no_link_and_no_page(world: World) -> None:
    address = link(world)
    Person(world, "alice@example.com").set_up()
    assert world.do(world.app.auth.accounts.setup_link()) is None
    stranger = Person(world, "stranger@example.com")
    for path in (address, "/setup", "/setup?token=", "/setup?token=mil_wrong"):
        assert stranger.open(path).status == 404


@pytest.mark.threat(number=26)
def test_a_link_is_good_for_a_day(world: World) -> None:
    address = link(world)
    world.clock.move(hours=24)
    assert Person(world, "alice@example.com").open(address).status == 404


def test_nobody_can_sign_in_before(world: World) -> None:
    person = Person(world, "alice@example.com")
    assert person.sign_in().status == 403

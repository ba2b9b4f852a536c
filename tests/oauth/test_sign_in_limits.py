"""Guessing passwords gets slower and slower, and the owner comes in all the same."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oauth.at_once import at_once
from tests.oauth.person import Person
from tests.oauth.program import Program, works
from tests.oauth.world import World, running


@pytest.fixture
def world(data: Path) -> Iterator[World]:
    """Behind a proxy on this machine, which says who asks."""
    with running(data, {"trusted_proxies": ["127.0.0.1"]}) as world:
        yield world


@pytest.fixture
def alice(world: World) -> Person:
    """Signed in once from where she lives."""
    alice = Person(world, "alice@example.com", address="198.51.100.1").set_up()
    alice.sign_out()
    alice.sign_in()
    return alice


def stranger(world: World, number: int = 1) -> Person:
    return Person(
        world, "alice@example.com", password="wrong guess here", address=f"203.0.113.{number}"
    )


@pytest.mark.threat(number=21)
def test_each_wrong_password_makes_the_next_wait_longer_but_never_for_good(
    world: World, alice: Person
) -> None:
    guesser = stranger(world)
    assert [guesser.sign_in().status for _ in range(5)] == [403] * 5
    waits: list[int] = []
    for _ in range(12):
        refused = guesser.sign_in()
        assert refused.status == 429
        waits.append(int(refused.reply.headers["retry-after"]))
        world.clock.move(seconds=waits[-1])
        assert guesser.sign_in().status == 403
    assert waits == sorted(waits)
    assert waits[-1] <= 300
    world.clock.move(seconds=300)
    guesser.password = alice.password
    assert guesser.sign_in().url == f"{world.url}/connections"


@pytest.mark.threat(number=21)
def test_guesses_at_once_are_not_more_guesses(world: World, alice: Person) -> None:
    guessers = [stranger(world, number) for number in range(40)]
    pages = [guesser.open("/sign-in") for guesser in guessers]
    answers = at_once(40, lambda n: guessers[n].sign_in_at(pages[n]).status)
    assert Counter(answers) == {403: 5, 429: 35}


@pytest.mark.threat(number=21)
def test_guesses_at_many_accounts_are_counted_by_address(world: World) -> None:
    Person(world, "alice@example.com").set_up()
    statuses: list[int] = []
    for number in range(35):
        guesser = stranger(world)
        guesser.email = f"person{number}@example.com"
        statuses.append(guesser.sign_in().status)
        world.clock.move(seconds=4)
    assert statuses[:30] == [403] * 30
    assert statuses[30:] == [429] * 5


@pytest.mark.threat(number=21)
def test_whoever_guesses_does_not_keep_the_owner_out(world: World, alice: Person) -> None:
    """Neither where the owner signed in before, nor anywhere with a recovery code."""
    for number in range(8):
        stranger(world, number).sign_in()
    assert stranger(world, 9).sign_in().status == 429
    at_home = Person(world, alice.email, address=alice.address)
    assert at_home.sign_in().url == f"{world.url}/connections"
    away = Person(world, alice.email, address="192.0.2.77")
    assert away.sign_in().status == 429
    page = away.open("/sign-in/recovery")
    typed = (("email", away.email), ("code", alice.recovery_codes[0]))
    page = away.submit(page, page.form(having="code"), *typed, ("password", "another good phrase"))
    assert page.status == 200
    assert "You are back in" in page.text


@pytest.mark.threat(number=21)
def test_while_passwords_are_checked_others_are_answered(world: World, alice: Person) -> None:
    tokens = Program.registered(world).connect(alice)
    guessers = [stranger(world, number) for number in range(20)]
    for number, guesser in enumerate(guessers):
        guesser.email = f"person{number}@example.com"
    pages = [guesser.open("/sign-in") for guesser in guessers]
    order: list[str] = []

    def work(number: int) -> None:
        if number == 20:
            assert works(world, tokens.access)
            order.append("call")
        else:
            guessers[number].sign_in_at(pages[number])
            order.append("guess")

    at_once(21, work)
    assert order.index("call") < 20, "the call waited for every password check"

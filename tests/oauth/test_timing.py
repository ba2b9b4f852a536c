"""Time must not tell what an answer does not: whether a token was ever good, or an email is known.

Medians of many tries, compared generously: this finds a missing check, not a nanosecond.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import pytest

from rememberd.auth import tokens
from rememberd.errors import Denied
from tests.oauth.person import Person
from tests.oauth.program import Program, ask
from tests.oauth.world import World


def medians(tries: int, *works: Callable[[], object]) -> list[float]:
    """Seconds each takes, tried in turn so that whatever else happens befalls all alike."""
    taken: list[list[float]] = [[] for _ in works]
    for _ in range(tries):
        for work, times in zip(works, taken, strict=True):
            began = time.perf_counter()
            work()
            times.append(time.perf_counter() - began)
    return [statistics.median(times) for times in taken]


@pytest.mark.threat(number=13)
def test_a_token_that_was_revoked_takes_as_long_as_one_that_never_was(
    world: World, alice: Person
) -> None:
    app = Program.registered(world)
    revoked = app.connect(alice)
    alice.change(alice.connections()[0], "revoke")
    never = tokens.mint("mat_")
    assert ask(world, revoked.access, "ping").body == ask(world, never, "ping").body
    one, other = medians(
        60, lambda: ask(world, revoked.access, "ping"), lambda: ask(world, never, "ping")
    )
    assert 0.5 < one / other < 2


@pytest.mark.threat(number=13)
@pytest.mark.parametrize("kind", ["unknown", "without a password"])
def test_an_email_that_nobody_has_takes_as_long_as_a_wrong_password(
    world: World, alice: Person, kind: str
) -> None:
    accounts = world.app.auth.accounts
    if kind == "without a password":
        world.do(_take_password(world, alice))

    def attempt(email: str) -> Callable[[], object]:
        async def sign_in() -> None:
            with pytest.raises(Denied, match=r"^Email or password is wrong[.]$"):
                await accounts.sign_in(email, "wrong guess here", f"10.0.0.{next(numbers)}")

        def after_any_wait() -> None:
            world.clock.move(minutes=10)
            world.do(sign_in())

        return after_any_wait

    numbers = iter(range(10_000))
    one, other = medians(5, attempt(alice.email), attempt("nobody@example.com"))
    assert 1 / 3 < one / other < 3


@pytest.mark.threat(number=13)
def test_a_recovery_code_takes_as_long_for_an_email_that_nobody_has(
    world: World, alice: Person
) -> None:
    accounts, numbers = world.app.auth.accounts, iter(range(10_000))

    def attempt(email: str) -> Callable[[], object]:
        async def recover() -> None:
            with pytest.raises(Denied):
                await accounts.recover(email, "aaaa-bbbb-cccc-dddd", f"10.1.{next(numbers)}.1")

        return lambda: world.do(recover())

    one, other = medians(30, attempt(alice.email), attempt("nobody@example.com"))
    assert 0.6 < one / other < 1.7


async def _take_password(world: World, alice: Person) -> None:
    sql = "UPDATE account SET password = NULL WHERE email = ?"
    control = world.app.engine.store.control
    await control.write(lambda tx: tx.connection.execute(sql, (alice.email,)))

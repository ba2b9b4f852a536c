"""What was checked must still hold where it is written: two things that meet, many times over."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable

from argon2 import PasswordHasher

from rememberd.errors import Denied, InvalidInput
from rememberd.model import Account
from tests.console.people import account_of, home, vaults_of
from tests.oauth.person import Person
from tests.oauth.program import READ, Program
from tests.oauth.world import World

ADDRESSES = (f"10.2.0.{number}" for number in itertools.count(1))


async def outcome(work: Awaitable[object]) -> bool:
    """Whether it was done; the only other answer is a refusal."""
    try:
        await work
    except (Denied, InvalidInput):
        return False
    return True


def weaken(world: World, account: Account, password: str) -> None:
    """As if the account were from a time of weaker hashes."""
    weak = PasswordHasher(memory_cost=8 * 1024, time_cost=1, parallelism=1).hash(password)
    control, sql = world.app.engine.store.control, "UPDATE account SET password = ? WHERE id = ?"
    world.do(control.write(lambda tx: tx.connection.execute(sql, (weak, account.id))))


def test_an_old_password_does_not_come_back_with_a_stronger_hash(
    world: World, alice: Person
) -> None:
    person = Person(world, "changing@example.com").join(alice.invite("reader"))
    accounts, account = world.app.auth.accounts, account_of(world, person)
    old = person.password

    async def both(new: str) -> tuple[bool, bool]:
        signed_in, changed = await asyncio.gather(
            outcome(accounts.sign_in(account.email, old, next(ADDRESSES))),
            outcome(accounts.change_password(account, old, new)),
        )
        return signed_in, changed

    for number in range(8):
        weaken(world, account, old)
        new = f"another horse battery {number}"
        _, changed = world.do(both(new))
        now = new if changed else old  # the hash was renewed first, so the old one was refused
        assert world.do(outcome(accounts.sign_in(account.email, now, next(ADDRESSES))))
        other = old if changed else new
        assert not world.do(outcome(accounts.sign_in(account.email, other, next(ADDRESSES))))
        old = now
        world.clock.move(minutes=10)


def test_of_two_changes_of_a_password_at_once_one_is_done(world: World, alice: Person) -> None:
    person = Person(world, "twice@example.com").join(alice.invite("reader"))
    accounts, account = world.app.auth.accounts, account_of(world, person)

    async def both(*new: str) -> list[bool]:
        changes = [accounts.change_password(account, old, one) for one in new]
        return await asyncio.gather(*map(outcome, changes))

    old = person.password
    for number in range(4):
        passwords = [f"first of two {number}", f"second of two {number}"]
        done = world.do(both(*passwords))
        assert sorted(done) == [False, True]
        old = passwords[done.index(True)]
        assert world.do(outcome(accounts.sign_in(account.email, old, next(ADDRESSES))))
        world.clock.move(minutes=10)


def test_no_grant_is_made_for_somebody_who_just_left(world: World, alice: Person) -> None:
    alice.new_vault("left", home(world, alice))
    shared, organization = vaults_of(world, alice)["left"].id, home(world, alice)
    auth, owner, app = world.app.auth, account_of(world, alice), Program.registered(world)

    async def both(token: str, account: Account, request: str) -> None:
        browser = await auth.sessions.find(token)
        assert browser
        agreed = auth.consents.approve(browser, account, request, shared, frozenset({READ}))
        left = auth.members.remove(owner, organization, account.id)
        assert (await asyncio.gather(outcome(agreed), outcome(left)))[1]

    for number in range(8):
        person = Person(world, f"leaving{number}@example.com").join(alice.invite("reader"))
        page, account = person.ask_consent(app.link(READ).url), account_of(world, person)
        (token,) = person.cookies.values()
        world.do(both(token, account, page.url.partition("request=")[2]))
        grants = world.do(auth.grants.of_account(account.id))
        assert all(grant.revoked_at for grant in grants)

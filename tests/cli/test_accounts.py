"""account: who can sign in, and a way back in for somebody who lost every other."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from tests.cli.program import Done, Place, Server, serving
from tests.oauth.person import PASSWORD, Page, Person
from tests.oauth.world import World

ALICE = "alice@example.com"
BOB = "bob@example.com"
NEW = "an entirely different password"


def set_up(place: Place) -> list[str]:
    """Alice's account; her recovery codes."""
    done = place.ok(
        *("setup", "--email", ALICE, "--name", "Alice", "--password-stdin", "--json"),
        stdin=f"{PASSWORD}\n",
    )
    return done.json["recovery_codes"]


def visitor(server: Server, email: str, password: str = PASSWORD) -> Person:
    """Somebody with a browser, at a server that runs in a process of its own."""
    world = World(Path("elsewhere"), public_url=server.url)
    world.port = server.port
    return Person(world, email, password)


def use(server: Server, code: str, email: str = ALICE, page: str = "/sign-in/recovery") -> Page:
    """A recovery code and a new password, on the page for that."""
    person = visitor(server, email)
    shown = person.open(f"{page}?next=%2Faccount")
    typed = (("email", email), ("code", code), ("password", NEW))
    return person.submit(shown, shown.form(having="code"), *typed)


def codes_in(done: Done) -> list[str]:
    return done.out.split()


@contextmanager
def control(place: Place) -> Generator[apsw.Connection]:
    """The database behind the program, while none runs."""
    with closing(apsw.Connection(str(place.data / "control.db"))) as connection:
        yield connection


def records(place: Place) -> list[tuple[Any, ...]]:
    with control(place) as connection:
        return list(connection.execute("SELECT actor, action, subject, detail FROM audit"))


# --- who is there ------------------------------------------------------------------------------


def test_accounts_are_listed_with_the_ways_in_that_they_have_left(place: Place) -> None:
    assert place.json("account", "list") == {"accounts": []}
    code, *_ = set_up(place)
    with control(place) as connection:
        connection.execute(
            "INSERT INTO passkey SELECT 'pky_1', id, x'01', x'02', 0, 'phone', 1, NULL FROM account"
        )
    with serving(place) as server:
        use(server, code)
        beside = place.json("account", "list")
    assert place.json("account", "list") == beside
    (alice,) = beside["accounts"]
    assert (alice.pop("id")[:4], alice.pop("created_at")[:2]) == ("acc_", "20")
    assert alice == {
        "email": ALICE,
        "name": "Alice",
        "disabled": False,
        "password": True,
        "passkeys": 1,
        "recovery_codes": 9,
    }


def test_a_person_reads_one_line_for_each_account(place: Place) -> None:
    set_up(place)
    email, name, since, *ways = place.ok("account", "list").out.rstrip("\n").split("\t")
    assert (email, name, since[:2], ways) == (ALICE, "Alice", "20", ["yes", "0", "10", ""])
    with control(place) as connection:
        connection.execute("UPDATE account SET disabled_at = 1, password = NULL")
    assert place.ok("account", "list").out.rstrip("\n").split("\t")[3:] == [
        *("no", "0", "10", "disabled")
    ]


# --- a way back in -----------------------------------------------------------------------------


def test_a_new_code_lets_in_and_sets_a_password_and_the_old_ones_do_not(place: Place) -> None:
    old = set_up(place)
    with serving(place) as server:
        signed_in = visitor(server, ALICE)
        assert signed_in.sign_in().status == 200
        done = place.ok("account", "recover", ALICE)
        new = codes_in(done)
        assert len(new) == len(set(new) - set(old)) == 10
        page = done.err.split()[-1]
        assert page == f"{server.url}/sign-in/recovery"
        assert visitor(server, ALICE).sign_in().status == 200  # nothing else was taken away
        assert [use(server, code).status for code in old] == [403] * 10
        back_in = use(server, new[0], page=page)
        assert back_in.status == 200
        assert "You are back in" in back_in.text
        assert "9 unused codes left" in back_in.text
        assert use(server, new[0]).status == 403  # each is good once
        assert visitor(server, ALICE, NEW).sign_in().status == 200
        assert visitor(server, ALICE, PASSWORD).sign_in().status == 403
        assert signed_in.open("/account").url.startswith(f"{server.url}/sign-in")


def test_an_account_that_never_had_a_password_gets_one(place: Place) -> None:
    set_up(place)
    with serving(place) as server:
        alice = visitor(server, ALICE)
        alice.sign_in()
        bob = visitor(server, BOB)
        page = bob.open(alice.invite("reader"))
        welcome = bob.submit(
            page, page.form(having="password"), ("email", BOB), ("action", "passkey")
        )
        assert welcome.status == 200
        listed = place.json("account", "list")["accounts"]
        assert {row["email"]: row["password"] for row in listed} == {ALICE: True, BOB: False}
        code, *_ = codes_in(place.ok("account", "recover", BOB))
        assert use(server, code, BOB).status == 200
        assert visitor(server, BOB, NEW).sign_in().status == 200
        assert visitor(server, ALICE).sign_in().status == 200  # hers is as it was


def test_it_works_while_no_server_runs(place: Place) -> None:
    set_up(place)
    made = place.json("account", "recover", " Alice@Example.com")
    assert (made["email"], len(made["recovery_codes"])) == (ALICE, 10)
    assert made["recovery_page"].endswith("/sign-in/recovery")
    with serving(place) as server:
        assert use(server, made["recovery_codes"][9]).status == 200


def test_it_is_on_record_as_done_from_the_command_line(place: Place) -> None:
    set_up(place)
    made = place.json("account", "recover", ALICE)
    (alice,) = place.json("account", "list")["accounts"]
    assert records(place)[-1] == (*("command line", "recovery_codes.replaced", alice["id"], "{}"),)
    assert place.run("audit", "verify").code == 0
    stored = b"".join(file.read_bytes() for file in place.data.glob("control.db*"))
    assert ALICE.encode() in stored  # so it would be found
    assert not any(code.encode() in stored for code in made["recovery_codes"])


def test_an_unknown_email_is_told_and_changes_nothing(place: Place) -> None:
    code, *_ = set_up(place)
    done = place.run("account", "recover", "alcie@example.com")
    assert (done.code, done.out) == (3, "")
    assert "alcie@example.com" in done.err
    assert f"`rememberd account list --data {place.data}`" in done.err
    assert [action for _, action, *_ in records(place)].count("recovery_codes.replaced") == 0
    with serving(place) as server:
        assert use(server, code).status == 200


def test_a_disabled_account_is_not_let_back_in(place: Place) -> None:
    set_up(place)
    with control(place) as connection:
        connection.execute("UPDATE account SET disabled_at = 1")
    done = place.run("account", "recover", ALICE)
    assert (done.code, done.out) == (8, "")
    assert "disabled" in done.err


@pytest.mark.parametrize("typed", ["", "\n", "short\n"])
def test_an_account_is_not_set_up_without_a_good_password(place: Place, typed: str) -> None:
    done = place.run("setup", "--email", ALICE, "--password-stdin", stdin=typed)
    assert (done.code, done.out) == (2, "")
    assert place.json("account", "list") == {"accounts": []}

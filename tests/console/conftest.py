"""A server that Alice owns and Bob may read in; Charlie has an account and belongs to nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.console.people import account_of, home
from tests.oauth.person import Person
from tests.oauth.world import World, running


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory.mktemp("console") / "data") as world:
        yield world


@pytest.fixture(scope="module")
def alice(world: World) -> Person:
    return Person(world, "alice@example.com").set_up()


@pytest.fixture(scope="module")
def bob(world: World, alice: Person) -> Person:
    return Person(world, "bob@example.com").join(alice.invite("reader"))


@pytest.fixture(scope="module")
def charlie(world: World, alice: Person) -> Person:
    charlie = Person(world, "charlie@example.com").join(alice.invite("reader"))
    owner, gone = account_of(world, alice), account_of(world, charlie)
    world.do(world.app.auth.members.remove(owner, home(world, alice), gone.id))
    return charlie


@pytest.fixture
def moving(tmp_path: Path) -> Iterator[World]:
    """A server of a test's own, whose clock may move further than the sign-ins of others last."""
    with running(tmp_path / "data") as world:
        yield world

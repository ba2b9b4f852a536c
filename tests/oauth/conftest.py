"""One server for the tests of a file, set up by Alice. Each test connects apps of its own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.oauth.person import Person
from tests.oauth.world import World, running


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with running(tmp_path_factory.mktemp("oauth") / "data") as world:
        yield world


@pytest.fixture(scope="module")
def alice(world: World) -> Person:
    """The owner of the server, signed in."""
    return Person(world, "alice@example.com").set_up()


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """For a test with a server of its own."""
    return tmp_path / "data"


@pytest.fixture
def moving(data: Path) -> Iterator[World]:
    """A server of a test's own, whose clock may move further than the sign-ins of others last."""
    with running(data) as world:
        yield world

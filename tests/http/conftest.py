"""One server for all tests of a file: none of them changes what another sees."""

from collections.abc import Iterator

import pytest

from tests.http.serving import Served, serving
from tests.http.world import World


@pytest.fixture(scope="module")
def world() -> World:
    return World()


@pytest.fixture(scope="module")
def served(world: World) -> Iterator[Served]:
    with serving(world.app) as served:
        yield served

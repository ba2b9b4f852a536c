"""One running product for the real clients; each test stores a text of its own."""

from collections.abc import Iterator

import pytest

from tests.clients.node import Node, node
from tests.clients.production import Running, running


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The product with a key that may read and write, and neither delete nor reflect."""
    with running(tmp_path_factory.mktemp("clients") / "data") as running_server:
        yield running_server


@pytest.fixture(scope="session")
def node22() -> Node:
    return node()

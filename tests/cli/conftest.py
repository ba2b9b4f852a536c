"""Machines for these tests: a new one for one test, or one to share, alone and with a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.cli.program import Place, Server, serving

# Most of these tests are about commands, not about meaning: no model is loaded.
WORDS_ONLY = {"REMEMBERD_EMBEDDER": "off"}


@pytest.fixture
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A machine where rememberd never ran."""
    return Place(tmp_path_factory.mktemp("home"), WORDS_ONLY)


@pytest.fixture(
    scope="module", params=[pytest.param("alone", marks=pytest.mark.slow), "beside a server"]
)
def shared_place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    """One machine for a whole module, with and without a running server.

    Tests that use it work in vaults of their own.
    """
    place = Place(tmp_path_factory.mktemp("home"), WORDS_ONLY)
    if request.param == "alone":
        yield place
        return
    with serving(place):
        yield place


@pytest.fixture
def server(place: Place) -> Iterator[Server]:
    """A server on `place`."""
    with serving(place) as running:
        yield running


@pytest.fixture
def vault(shared_place: Place, request: pytest.FixtureRequest) -> str:
    """A new vault on the shared machine, named after the test."""
    name = request.node.originalname.removeprefix("test_")[:50]
    shared_place.ok("vault", "create", name)
    return name

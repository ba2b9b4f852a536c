"""The official conformance suite, as far as it is about signing in and about web pages."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.clients.node import Node, environment, node
from tests.clients.proxy import injecting_proxy
from tests.oauth.browser import Browser
from tests.oauth.person import Person
from tests.oauth.program import READ, Program
from tests.oauth.world import World, running

pytestmark = pytest.mark.slow

SUITE = "@modelcontextprotocol/conformance/dist/index.js"


@pytest.fixture(scope="session")
def node22() -> Node:
    return node()


@pytest.fixture
def world(data: Path) -> Iterator[World]:
    with running(data) as world:
        yield world


@pytest.fixture
def alice(world: World) -> Person:
    return Person(world, "alice@example.com").set_up()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


def test_the_authorization_scenarios_pass(
    world: World, alice: Person, node22: Node, tmp_path: Path
) -> None:
    """Without a client the suite skips the second one and is content, so its words are read. With a
    secret it uses none, since `none` is among our methods too.
    """
    port = free_port()
    app = Program.registered(world, redirect_uris=[f"http://127.0.0.1:{port}/callback"])
    command = [
        *(str(node22.binary), str(node22.folder / "node_modules" / SUITE), "authorization"),
        *("--url", world.url, "--resource", world.mcp, "-p", str(port)),
        *("--client-id", app.client_id, "-o", str(tmp_path / "results")),
    ]
    screen = Browser(tmp_path / "browser", alice, ticks=[READ])
    said = ""
    suite = subprocess.Popen(
        command,
        env=environment(node22.binary),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    watch = threading.Timer(90, suite.kill)
    watch.start()
    with suite:
        assert suite.stdout
        for line in suite.stdout:
            said += line
            if link := re.search(r"https?://\S+/authorize\?\S+", line):
                screen.visit(link[0])
    watch.cancel()
    assert suite.returncode == 0, said
    assert re.search(r"authorization-server-metadata-endpoint: \d+ passed, 0 failed", said), said
    assert re.search(r"authorization-code-grant: 1 passed, 0 failed", said), said
    assert "WARNING" not in said, said


@pytest.mark.threat(number=11)
def test_a_page_that_rebinds_its_name_is_refused_also_with_a_token(
    world: World, alice: Person, node22: Node
) -> None:
    """The suite cannot sign in: a proxy adds the token and leaves Host and Origin alone."""
    tokens = Program.registered(world).connect(alice)
    with injecting_proxy(world.port, tokens.access) as port:
        url = f"http://localhost:{port}/mcp"
        done = node22.run(SUITE, "server", "--url", url, "--scenario", "dns-rebinding-protection")
    assert done.returncode == 0, done.stdout
    assert "Passed: 2/2, 0 failed, 0 warnings" in done.stdout, done.stdout

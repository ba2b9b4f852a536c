"""Coding agents by their own command lines, as far as they go without their clouds: they find out
that they have to sign in, sign in, refresh, and notice that they were shown out.
"""

from __future__ import annotations

import contextlib
import json
import os
import pty
import subprocess
import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rememberd.auth.fetch import Network
from rememberd.clock import SystemClock
from rememberd.engine import vaults
from tests.clients.node import AGENTS, Node, environment, node
from tests.oauth.browser import Browser, browser
from tests.oauth.person import Person
from tests.oauth.program import DELETE, READ, WRITE, query_of
from tests.oauth.world import World, expire_access_tokens, running

pytestmark = pytest.mark.slow


@pytest.fixture(scope="session")
def agents() -> Node:
    return node(AGENTS)


@pytest.fixture
def world(data: Path) -> Iterator[World]:
    """Without documents: theirs are on hosts that cannot be reached from here."""
    with running(data, {"client_documents": False}) as world:
        world.clock.at = SystemClock().now()
        yield world


@pytest.fixture
def alice(world: World) -> Person:
    return Person(world, "alice@example.com").set_up()


@pytest.fixture
def screen(alice: Person, tmp_path: Path) -> Generator[Browser]:
    with browser(tmp_path, alice) as screen:
        yield screen


@dataclass
class Agent:
    """One program with a home and a browser of its own."""

    node: Node
    script: str
    home: Path
    browser: Path
    more: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def command(self) -> list[str]:
        return [str(self.node.binary), str(self.node.folder / "node_modules" / self.script)]

    @property
    def environment(self) -> dict[str, str]:
        """Programs that look for `xdg-open` find the browser too."""
        opener = self.browser.with_name("xdg-open")
        if not opener.exists():
            opener.symlink_to(self.browser)
        usual = environment(self.node.binary)
        path = f"{opener.parent}{os.pathsep}{usual['PATH']}"
        homely = {"HOME": str(self.home), "BROWSER": str(self.browser), "PATH": path}
        return usual | homely | self.more

    def run(self, *arguments: str) -> str:
        """What it says."""
        done = subprocess.run(
            [*self.command, *arguments],
            cwd=self.home,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=60,
            check=False,
        )
        return done.stdout

    def run_in_terminal(self, *arguments: str) -> str:
        """For what asks for one."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [*self.command, *arguments],
            cwd=self.home,
            env=self.environment,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        watch = threading.Timer(60, process.kill)
        watch.start()
        said = b""
        with process, contextlib.suppress(OSError):  # which is how a terminal ends
            while piece := os.read(ours, 4096):
                said += piece
        watch.cancel()
        os.close(ours)
        return said.decode(errors="replace")


def new_key(world: World) -> str:
    vault = world.do(vaults.create_vault(world.app.engine, "keys")).vault
    return world.do(world.app.keys.create(vault.id)).secret


def line_of(said: str, name: str) -> str:
    return next((line for line in said.splitlines() if f"{name}:" in line), said)


# --- Claude Code ---------------------------------------------------------------------------------


def test_claude_code_signs_in_refreshes_and_is_shown_out(
    world: World, alice: Person, agents: Node, screen: Browser, tmp_path: Path
) -> None:
    script = "@anthropic-ai/claude-code/cli-wrapper.cjs"
    quiet = {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    claude = Agent(agents, script, tmp_path, screen.command, quiet)
    claude.run("mcp", "add", "--transport", "http", "rememberd", world.mcp)
    header = f"Authorization: Bearer {new_key(world)}"
    claude.run("mcp", "add", "--transport", "http", "keyed", world.mcp, "--header", header)
    listed = claude.run("mcp", "list")
    assert "Needs authentication" in line_of(listed, "rememberd")
    assert "Connected" in line_of(listed, "keyed")

    assert "Authenticated" in claude.run_in_terminal("mcp", "login", "rememberd")
    assert "Connected" in line_of(claude.run("mcp", "list"), "rememberd")
    expire_access_tokens(world)
    assert "Connected" in line_of(claude.run("mcp", "list"), "rememberd")
    assert len(screen.opened) == 1

    alice.change(alice.connections()[0], "revoke")
    assert "Needs authentication" in line_of(claude.run("mcp", "list"), "rememberd")


# --- Codex ---------------------------------------------------------------------------------------

CODEX = "@openai/codex/bin/codex.js"


def codex_of(agents: Node, screen: Browser, home: Path) -> Agent:
    (home / "codex").mkdir()
    return Agent(agents, CODEX, home, screen.command, {"CODEX_HOME": str(home / "codex")})


def statuses(codex: Agent) -> dict[str, str]:
    said = codex.run("mcp", "list", "--json")
    listed = json.loads(said[said.index("[\n") :])
    return {server["name"]: server["auth_status"] for server in listed}


def test_codex_signs_in_and_asks_for_more(
    world: World, alice: Person, agents: Node, screen: Browser, tmp_path: Path
) -> None:
    codex = codex_of(agents, screen, tmp_path)
    codex.run("mcp", "add", "keyed", "--url", world.mcp, "--bearer-token-env-var", "KEY")
    said = codex.run("mcp", "add", "rememberd", "--url", world.mcp)
    assert "Successfully logged in" in said
    assert statuses(codex) == {"keyed": "bearer_token", "rememberd": "o_auth"}
    scopes = ",".join((READ, WRITE, DELETE))
    assert "Successfully logged in" in codex.run("mcp", "login", "rememberd", "--scopes", scopes)
    asked = [set(query_of(link)["scope"][0].split()) for link in screen.opened]
    assert asked == [{READ, "offline_access"}, {READ, WRITE, DELETE, "offline_access"}]
    assert len(alice.connections()) == 2  # a second sign-in ends nothing


def test_codex_names_its_document_where_documents_are_taken(
    data: Path, agents: Node, tmp_path: Path
) -> None:
    async def nowhere(host: str, port: int) -> list[str]:
        raise OSError

    with running(data, network=Network(resolve=nowhere)) as world:
        alice = Person(world, "alice@example.com").set_up()
        opener = tmp_path / "browser"
        screen = Browser(opener, alice)
        opener.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> "{screen.addresses}"\n')
        opener.chmod(0o755)
        codex = codex_of(agents, screen, tmp_path)
        login = subprocess.Popen(
            [*codex.command, "mcp", "add", "rememberd", "--url", world.mcp],
            env=codex.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert login.stdout
        link = next(line.strip() for line in login.stdout if "/authorize?" in line)
        login.kill()
        login.communicate()
        (client_id,) = query_of(link)["client_id"]
        assert client_id == "https://chatgpt.com/oauth/codex/client.json"
        page = alice.open(link)
        assert (page.status, page.location) == (400, None)
        assert "could not be looked up" in page.text
        assert "client_documents" in page.text  # what a server without internet access can do


# --- Gemini CLI ----------------------------------------------------------------------------------


def test_gemini_cli_knows_a_door_that_is_shut_from_one_that_is_open(
    world: World, alice: Person, agents: Node, screen: Browser, tmp_path: Path
) -> None:
    (tmp_path / ".gemini").mkdir()
    trusted = json.dumps({str(tmp_path): "TRUST_FOLDER"})
    (tmp_path / ".gemini" / "trustedFolders.json").write_text(trusted)
    gemini = Agent(agents, "@google/gemini-cli/bundle/gemini.js", tmp_path, screen.command)
    add = ("mcp", "add", "--scope", "user", "--transport", "http")
    gemini.run(*add, "rememberd", world.mcp)
    gemini.run(*add, "--header", f"Authorization: Bearer {new_key(world)}", "keyed", world.mcp)
    listed = gemini.run("mcp", "list")
    assert "Connected" in line_of(listed, "keyed")
    assert "Disconnected" in line_of(listed, "rememberd")

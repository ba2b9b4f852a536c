"""Two vaults, two keys: whatever Bob sends, nothing of Alice's comes back, not even that it exists.

What belongs to Alice answers Bob as what does not exist at all, byte for byte.
"""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import anyio
import pytest
import uvicorn

from rememberd.app import App, build_app
from rememberd.engine import vaults
from rememberd.model import SCOPES
from rememberd.settings import Settings
from tests.acceptance.talking import Client

SECRET = "Xenophon"
UNKNOWN = "mem_0123456789abcdef0123456789abcdef"


@contextmanager
def two_people(data: Path, **settings: Any) -> Generator[tuple[Client, Client]]:
    """Alice and Bob, each with every scope on a vault of their own, beside one server."""
    chosen = {"data": data, "embedder": "off", "writer_threads": 1, "reader_threads": 2}
    secrets: dict[str, str] = {}
    ready = threading.Event()
    server: list[uvicorn.Server] = []

    async def serve(listener: socket.socket) -> None:
        async with build_app(
            Settings.model_validate(chosen | settings), public_url="http://localhost:1"
        ) as app:
            for name in ("alice", "bob"):
                secrets[name] = await key(app, name)
            config = uvicorn.Config(app.public, log_config=None, access_log=False)
            server.append(uvicorn.Server(config))
            ready.set()
            await server[0].serve(sockets=[listener])

    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        thread = threading.Thread(target=anyio.run, args=(serve, listener), daemon=True)
        thread.start()
        assert ready.wait(60)
        try:
            yield Client(port, secrets["alice"]), Client(port, secrets["bob"])
        finally:
            server[0].should_exit = True
            thread.join(30)


async def key(app: App, name: str) -> str:
    vault = (await vaults.create_vault(app.engine, name)).vault
    return (await app.keys.create(vault.id, scope_names=SCOPES)).secret


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Client, Client]]:
    with two_people(tmp_path_factory.mktemp("isolation") / "data") as both:
        yield both


class Held:
    """What Alice's vault holds, as she sees it: ids, a batch, cursors."""

    def __init__(self, alice: Client) -> None:
        for number in range(12):
            alice.ok(
                "store_memory",
                content=f"{SECRET} fact {number} " + "word " * 300,
                tags=[SECRET],
                source_context=SECRET,
            )
        found = alice.ok("search_memories", query=SECRET, limit=50)["memories"]
        self.ids = [row["id"] for row in found]
        assert len(self.ids) == 12
        self.batch = alice.ok("consolidate_memories")["batch_id"]
        page = {"from": "2000-01-01", "max_tokens": 1_000}
        self.place = alice.ok("date_search_memories", **page)["next_from"]
        self.shown = alice.ok("date_search_memories", **page, query=SECRET)["next_from"]


@pytest.fixture(scope="module")
def held(people: tuple[Client, Client]) -> Held:
    alice, bob = people
    bob.ok("store_memory", content="Bob's own fact")
    return Held(alice)


def answers(who: Client, held: Held) -> dict[str, bytes]:
    """Everything that somebody can read or try, with every id of Alice's that there is."""
    tries: list[tuple[str, dict[str, Any]]] = [
        ("memory_status", {}),
        ("search_memories", {"query": SECRET, "limit": 250}),
        ("search_memories", {"query": SECRET, "tiers": [1]}),
        ("search", {"query": f"{SECRET} fact"}),
        ("date_search_memories", {"from": "2000-01-01"}),
        ("date_search_memories", {"from": "2000-01-01", "query": SECRET}),
        ("date_search_memories", {"from": held.place}),
        ("date_search_memories", {"from": held.shown, "query": SECRET}),
        ("consolidate_memories", {"tier": 2}),
    ]
    found = {
        json.dumps(one): who.post("tools/call", {"name": one[0], "arguments": one[1]})
        for one in tries
    }
    for uri in ("memory://vault/stats", "memory://vault/recent"):
        found[uri] = who.post("resources/read", {"uri": uri})
    return found


def test_nothing_of_alices_comes_back_to_bob(people: tuple[Client, Client], held: Held) -> None:
    alice, bob = people
    assert sum(SECRET.encode() in body for body in answers(alice, held).values()) >= 7
    for asked, body in answers(bob, held).items():
        assert SECRET.encode() not in body, asked
        assert not any(memory_id.encode() in body for memory_id in held.ids), asked
    assert bob.ok("memory_status")["totalMemories"] == 1


@pytest.mark.parametrize(
    "tool, arguments",
    [
        ("inspect_memory", {"memory_id": "?"}),
        ("delete_memories", {"memory_ids": ["?"], "confirmation": "DELETE"}),
    ],
)
def test_a_foreign_id_answers_as_one_that_never_was(
    people: tuple[Client, Client], held: Held, tool: str, arguments: dict[str, Any]
) -> None:
    _, bob = people

    def asked(memory_id: str) -> bytes:
        filled = json.loads(json.dumps(arguments).replace("?", memory_id))
        body = bob.post("tools/call", {"name": tool, "arguments": filled})
        return body.replace(memory_id.encode(), b"THE ID")

    assert asked(held.ids[0]) == asked(UNKNOWN)


def test_a_foreign_batch_answers_as_one_that_never_was(
    people: tuple[Client, Client], held: Held
) -> None:
    _, bob = people
    entries = [{"text": f"planted {number}", "importance": 5} for number in range(5)]

    def asked(batch_id: str) -> bytes:
        arguments = {"batch_id": batch_id, "entries": entries}
        body = bob.post("tools/call", {"name": "commit_reflections", "arguments": arguments})
        return body.replace(batch_id.encode(), b"THE ID")

    assert asked(held.batch) == asked("bat_0123456789abcdef0123456789abcdef")


def test_foreign_sources_are_refused_in_a_batch_of_ones_own(
    people: tuple[Client, Client], held: Held
) -> None:
    _, bob = people
    batch = bob.ok("consolidate_memories", tier=1)

    def asked(memory_id: str) -> bytes:
        entries = [{"text": "planted", "importance": 5, "source_ids": [memory_id]}]
        arguments = {"batch_id": batch["batch_id"], "entries": entries}
        body = bob.post("tools/call", {"name": "commit_reflections", "arguments": arguments})
        return body.replace(memory_id.encode(), b"THE ID")

    assert asked(held.ids[0]) == asked(UNKNOWN)
    assert b'isError":true' in asked(held.ids[0]).replace(b" ", b"")


def test_deleting_and_forgetting_reach_only_ones_own_vault(tmp_path: Path) -> None:
    with two_people(tmp_path / "data") as (alice, bob):
        held = Held(alice)
        done = bob.ok("delete_memories", memory_ids=held.ids, confirmation="DELETE")
        assert done["deleted"] == 0
        bob.ok("forget_all_memories", confirmation="DELETE ALL MEMORIES")
        assert alice.ok("memory_status")["totalMemories"] == 12
        assert len(alice.ok("search_memories", query=SECRET, limit=50)["memories"]) == 12


def test_the_cache_of_one_vault_never_answers_for_another(tmp_path: Path) -> None:
    """One vault may be open and next to nothing cached: each search evicts what the other used."""
    with two_people(tmp_path / "data", open_vaults=1, cache_bytes=1) as (alice, bob):
        alice.ok("store_memory", content=f"{SECRET} alone")
        bob.ok("store_memory", content="Bob alone")
        for _ in range(5):
            for who, own in ((alice, f"{SECRET} alone"), (bob, "Bob alone")):
                found = who.ok("search_memories", query="alone")["memories"]
                assert [row["text"] for row in found] == [own]


def test_many_who_ask_at_once_each_see_their_own(tmp_path: Path) -> None:
    with two_people(tmp_path / "data", open_vaults=1) as people:
        wrong: list[object] = []

        def work(who: Client, own: str, other: str) -> None:
            for number in range(8):
                who.ok("store_memory", content=f"{own} says {number}")
                body = who.post(
                    "tools/call", {"name": "search_memories", "arguments": {"query": "says"}}
                )
                if other.encode() in body or own.encode() not in body:
                    wrong.append(body)

        names = ("Alicesword", "Bobsword")
        threads = [
            threading.Thread(target=work, args=(people[i % 2], names[i % 2], names[1 - i % 2]))
            for i in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_after_forgetting_all_nothing_of_before_is_found_by_any_way(tmp_path: Path) -> None:
    """The cache and the cursors of the generation before say nothing about the new one."""
    with two_people(tmp_path / "data") as (alice, _):
        held = Held(alice)
        alice.ok("forget_all_memories", confirmation="DELETE ALL MEMORIES")
        alice.ok("store_memory", content="a new beginning")
        for asked, body in answers(alice, held).items():
            assert SECRET.encode() not in body, asked
        again = {"from": held.shown, "query": SECRET}
        assert alice.ok("date_search_memories", **again)["memories"] == []
        for memory_id in held.ids:
            assert alice.call("inspect_memory", memory_id=memory_id)["isError"]
        entries = [{"text": f"planted {number}", "importance": 5} for number in range(5)]
        assert alice.call("commit_reflections", batch_id=held.batch, entries=entries)["isError"]


def test_a_deleted_memory_is_found_by_no_way(tmp_path: Path) -> None:
    with two_people(tmp_path / "data") as (alice, _):
        held = Held(alice)
        alice.ok("delete_memories", memory_ids=held.ids[:6], confirmation="DELETE")
        left = alice.ok("search_memories", query=SECRET, limit=50)["memories"]
        assert {row["id"] for row in left} == set(held.ids[6:])
        assert alice.ok("memory_status")["totalMemories"] == 6
        for memory_id in held.ids[:6]:
            assert alice.call("inspect_memory", memory_id=memory_id)["isError"]


@pytest.mark.parametrize("credential", ["", "mk_wrong", "mk_ro_" + "0" * 49])
def test_without_a_key_nothing_answers(people: tuple[Client, Client], credential: str) -> None:
    alice, _ = people
    with pytest.raises(AssertionError, match="401"):
        Client(alice.port, credential).post("tools/list", {})

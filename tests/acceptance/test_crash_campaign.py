"""A real server killed again and again under real writers: nothing acknowledged is ever lost.

Writers store, delete and reflect over HTTP. What an answer acknowledged is noted; what got none may
or may not have happened, and is sent again with the same words. After each kill the server starts
on what is there.
"""

from __future__ import annotations

import http.client
import random
import signal
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.talking import Client
from tests.cli.program import Place, Server, start_server

WRITERS = 8
SCOPES = ("read", "write", "delete", "reflect")


@dataclass
class Ledger:
    """What one vault's clients were told."""

    stored: set[str] = field(default_factory=set[str])  #: acknowledged
    unsure: set[str] = field(default_factory=set[str])  #: sent, and no answer came
    deleted: set[str] = field(default_factory=set[str])  #: acknowledged
    maybe_deleted: set[str] = field(default_factory=set[str])
    lock: threading.Lock = field(default_factory=threading.Lock)


class Writer:
    """Stores one fact after another and now and then deletes one of its own, until told to stop."""

    def __init__(self, number: int, round_: int, client: Client, ledger: Ledger) -> None:
        self._name = f"w{number}r{round_}"
        self._client = client
        self._ledger = ledger
        self._dice = random.Random(f"{number} {round_}")
        self._mine: list[str] = []
        self._stop = threading.Event()
        self._failed: AssertionError | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Raises AssertionError for an answer that should not have come."""
        self._stop.set()
        self._thread.join(60)
        if self._failed is not None:
            raise self._failed

    def _run(self) -> None:
        number = 0
        try:
            while not self._stop.is_set():
                number += 1
                self._store(f"fact {self._name}n{number} about the orchard")
                if self._mine and self._dice.random() < 0.1:
                    self._delete(self._mine.pop(0))
        except (OSError, http.client.HTTPException):
            return  # the server was killed: whatever was on its way stays unsure
        except AssertionError as error:
            self._failed = error

    def _store(self, text: str) -> None:
        ledger = self._ledger
        with ledger.lock:
            ledger.unsure.add(text)
        assert self._client.ok("store_memory", content=text)["status"] == "queued"
        with ledger.lock:
            ledger.unsure.discard(text)
            ledger.stored.add(text)
        self._mine.append(text)

    def _delete(self, text: str) -> None:
        ledger = self._ledger
        with ledger.lock:
            ledger.maybe_deleted.add(text)
        [hit, *_] = self._client.ok("search_memories", query=text.split()[1])["memories"]
        assert hit["text"] == text
        done = self._client.ok("delete_memories", memory_ids=[hit["id"]], confirmation="DELETE")
        assert done["deleted"] == 1
        with ledger.lock:
            ledger.maybe_deleted.discard(text)
            ledger.deleted.add(text)


class Campaign:
    """One data directory, two vaults, and a server that is started and killed."""

    def __init__(self, home: Path, **environ: str) -> None:
        self.place = Place(home).with_environ(**environ)
        self.place.ok("vault", "create", "bob")
        self.keys = {name: self._key(name) for name in ("personal", "bob")}
        self.ledgers = {name: Ledger() for name in self.keys}

    def _key(self, vault: str) -> str:
        scopes = [word for scope in SCOPES for word in ("--scope", f"memories:{scope}")]
        return self.place.json("key", "create", "--vault", vault, *scopes)["key"]

    def round(self, number: int, seconds: float) -> None:
        """Let everybody write, then pull the plug."""
        server = start_server(self.place)
        writers: list[Writer] = []
        for writer in range(WRITERS):
            vault = ("personal", "bob")[writer % 2]
            client = Client(server.port, self.keys[vault])
            writers.append(Writer(writer, number, client, self.ledgers[vault]))
        time.sleep(seconds)  # no condition to wait for: the moment is meant to be any
        server.process.send_signal(signal.SIGKILL)
        server.process.communicate()
        for writer in writers:
            writer.end()

    def check(self) -> None:
        server = start_server(self.place)
        try:
            for vault, ledger in self.ledgers.items():
                self._check_vault(server, vault, ledger)
        finally:
            server.stop()

    def _check_vault(self, server: Server, vault: str, ledger: Ledger) -> None:
        client = Client(server.port, self.keys[vault])
        here = [row["text"] for row in everything(client)]
        must = ledger.stored - ledger.deleted - ledger.maybe_deleted
        assert must <= set(here), "an acknowledged memory is gone"
        assert not ledger.deleted & set(here), "a deleted memory is back"
        may = ledger.stored | ledger.unsure
        assert set(here) <= may, "a memory came from nowhere"
        assert len(here) == len(set(here)), "a memory was stored twice"
        for text in random.Random(7).sample(sorted(must), min(40, len(must))):
            found = client.ok("search_memories", query=text.split()[1], limit=5)["memories"]
            assert text in [row["text"] for row in found], "a memory is not found by its words"
        status = client.ok("memory_status")
        assert status["totalMemories"] == len(here)


def everything(client: Client) -> list[dict[str, Any]]:
    """All memories of a vault, page by page."""
    rows: list[dict[str, Any]] = []
    asked: dict[str, Any] = {"from": "2000-01-01", "max_tokens": 20_000}
    while True:
        page = client.ok("date_search_memories", **asked)
        rows.extend(page["memories"])
        if "next_from" not in page:
            return rows
        asked["from"] = page["next_from"]


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_twenty_kills_under_concurrent_writers_lose_nothing_acknowledged(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, REMEMBERD_EMBEDDER="off")
    for number in range(20):
        campaign.round(number, seconds=0.3 + number % 5 * 0.3)
        campaign.check()
    for ledger in campaign.ledgers.values():
        assert len(ledger.stored) > 100
        assert ledger.deleted
    assert campaign.place.run("doctor").code == 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_kills_while_vectors_are_being_made_lose_nothing_acknowledged(tmp_path: Path) -> None:
    """With the bundled model the worker writes beside everybody else."""
    campaign = Campaign(tmp_path)
    for number in range(4):
        campaign.round(number, seconds=1.5)
        campaign.check()


def test_one_kill_loses_nothing_acknowledged(tmp_path: Path) -> None:
    campaign = Campaign(tmp_path, REMEMBERD_EMBEDDER="off")
    campaign.round(0, seconds=0.5)
    campaign.check()
    assert sum(len(ledger.stored) for ledger in campaign.ledgers.values()) > 0

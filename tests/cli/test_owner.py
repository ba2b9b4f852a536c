"""One data directory, many commands at once: one owns it, all of them work, none acts twice."""

import json
import re
import select
import signal
import socket
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from rememberd.cli.calls import READING
from rememberd.store.place import DataDirectory, Lock
from rememberd.tools import TOOLSETS
from tests.cli.program import Place, end, serving, wait_until

AT_ONCE = 6


def add_all(place: Place, texts: list[str], *, at_once: int) -> list[int]:
    """The exit codes of one `add` for each text."""

    def add(text: str) -> int:
        return place.run("add", text, "--vault", "personal").code

    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(add, texts))


def test_commands_at_once_all_work_and_each_acts_once(place: Place) -> None:
    """Whoever comes first owns the directory; the others ask, wait or take over."""
    texts = [f"Statement number {number}." for number in range(AT_ONCE)]
    assert add_all(place, texts, at_once=AT_ONCE) == [0] * AT_ONCE
    found = place.json("search", "statement number", "--limit", "50")["memories"]
    assert sorted(memory["text"] for memory in found) == texts


def test_what_a_passing_owner_stored_is_found_by_meaning_when_it_has_left(place: Place) -> None:
    with_model = place.with_environ(REMEMBERD_EMBEDDER="bundled")
    with_model.ok("add", "The car needs new tyres before winter.")
    # Where the model takes longer than a passing owner waits, the next one goes on.
    wait_until(lambda: with_model.json("status")["pendingIndex"] == 0)


def test_a_socket_left_by_a_killed_server_is_no_obstacle(place: Place) -> None:
    with serving(place) as server:
        place.ok("add", "We deploy on Tuesdays.")
        server.stop(signal.SIGKILL)
    assert (place.data / "rememberd.sock").exists()
    assert place.json("search", "deploy")["memories"][0]["text"] == "We deploy on Tuesdays."


def test_a_long_path_is_no_obstacle(tmp_path: Path) -> None:
    home = tmp_path / ("long" * 30)
    home.mkdir()
    place = Place(home, {"REMEMBERD_EMBEDDER": "off"})
    with serving(place):
        place.ok("add", "We deploy on Tuesdays.")
        assert len(place.json("search", "deploy")["memories"]) == 1


# --- owners that fail --------------------------------------------------------------------------


@dataclass
class FakeOwner:
    """Holds the lock and behaves as told: how an owner looks that dies at the wrong moment."""

    listener: socket.socket
    behaviours: list[str]
    requests: list[bytes] = field(default_factory=list[bytes])  #: what was read of them, whole

    def run(self) -> None:
        for behaviour in self.behaviours:
            connection, _ = self.listener.accept()
            with connection:
                assert read_request(connection).startswith(b"GET /owner ")
                if behaviour == "stops reading":
                    connection.shutdown(socket.SHUT_RD)  # as if it closed while one writes
                connection.sendall(answer({"role": "server"}))
                if behaviour == "closes unread":
                    connection.recv(1, socket.MSG_PEEK)
                    continue
                if behaviour == "stops reading":
                    # Nothing shows when the other side has tried to write, and reads now.
                    select.select([self.listener], [], [], 0.5)
                    continue
                self.requests.append(read_request(connection))
                if behaviour == "answers":
                    connection.sendall(answer({"jsonrpc": "2.0", "id": 1, "result": RESULT}))


RESULT = {"structuredContent": {"status": "queued", "receipt_id": "r", "memories": []}}


def read_request(connection: socket.socket) -> bytes:
    """One whole request."""
    read = b""
    while b"\r\n\r\n" not in read:
        read += connection.recv(1 << 16)
    head, _, body = read.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head.lower())
    while length and len(body) < int(length[1]):
        body += connection.recv(1 << 16)
    return head + body


def answer(body: object) -> bytes:
    text = json.dumps(body).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text)


@contextmanager
def owned_by_a_fake(place: Place, *behaviours: str) -> Generator[FakeOwner]:
    directory = DataDirectory(place.data)
    directory.prepare()
    with Lock(directory.lock), socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(directory.socket))
        listener.listen()
        fake = FakeOwner(listener, list(behaviours))
        thread = threading.Thread(target=fake.run, daemon=True)
        thread.start()
        yield fake
        thread.join(10)
        assert not thread.is_alive()


def test_a_write_that_may_have_been_done_is_not_repeated(place: Place) -> None:
    with owned_by_a_fake(place, "dies") as owner:
        done = place.run("add", "We deploy on Tuesdays.", "--vault", "personal")
    assert done.code == 6
    assert "may have been done" in done.err
    assert len(owner.requests) == 1


def test_a_read_is_repeated(place: Place) -> None:
    with owned_by_a_fake(place, "dies", "answers") as owner:
        done = place.run("search", "deploy", "--vault", "personal")
    assert done.code == 0, done.err
    assert len(owner.requests) == 2


def test_a_write_that_was_never_read_is_repeated(place: Place) -> None:
    with owned_by_a_fake(place, "closes unread", "answers") as owner:
        done = place.run("add", "We deploy on Tuesdays.", "--vault", "personal")
    assert done.code == 0, done.err
    assert len(owner.requests) == 1


def test_a_write_that_could_not_be_sent_is_repeated(place: Place) -> None:
    """The owner closed the line just before; that nothing came back says nothing."""
    with owned_by_a_fake(place, "stops reading", "answers") as owner:
        done = place.run("add", "We deploy on Tuesdays.", "--vault", "personal")
    assert done.code == 0, done.err
    assert len(owner.requests) == 1


@pytest.mark.slow
def test_an_owner_that_hangs_is_an_error_in_seconds(place: Place) -> None:
    with serving(place) as server:
        server.process.send_signal(signal.SIGSTOP)
        done = place.run("add", "We deploy on Tuesdays.", "--vault", "personal")
        server.process.send_signal(signal.SIGCONT)
    assert (done.code, done.out) == (5, "")
    assert "does not answer" in done.err
    assert place.json("status")["totalMemories"] == 0


def test_the_calls_that_may_be_repeated_are_those_that_only_read() -> None:
    tools = [tool for toolset in TOOLSETS for tool in toolset.tools]
    assert {tool.name for tool in tools if tool.read_only} == READING


@pytest.mark.slow
def test_taking_turns_loses_nothing(place: Place) -> None:
    """Commands come and go beside servers that are killed: what was acknowledged is there, once."""
    texts = [f"Statement number {number}." for number in range(24)]
    stop = threading.Event()

    def disturb() -> None:
        while not stop.is_set():
            server = place.start("serve", "--port", "0")
            assert server.stdout
            server.stdout.readline()
            server.kill()
            end(server)

    noise = threading.Thread(target=disturb)
    noise.start()
    codes = add_all(place, texts, at_once=3)
    stop.set()
    noise.join()
    assert set(codes) <= {0, 5, 6}
    found = place.json("search", "statement number", "--limit", "100")["memories"]
    kept = [memory["text"] for memory in found]
    assert len(kept) == len(set(kept))
    acknowledged = {text for text, code in zip(texts, codes, strict=True) if code == 0}
    refused = {text for text, code in zip(texts, codes, strict=True) if code == 5}
    assert acknowledged <= set(kept)
    assert not refused & set(kept)
    wait_until(lambda: not noise.is_alive())

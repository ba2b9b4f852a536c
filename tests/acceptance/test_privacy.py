"""A server that stores and searches with its model tells nobody, and leaves nothing elsewhere.

onnxruntime 1.32 reports its use to its maker unless it is told not to before it is loaded; what it
leaves behind then (`.ses`, `onnxruntime.db`) and whom it calls would show here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path

import pytest

from tests.cli.program import Place, serving, wait_until

LISTENING = 0x0A


@dataclass(frozen=True)
class Traces:
    """What a server that stored and searched has left behind elsewhere, and whom it talked to."""

    files: list[Path]
    peers: set[str]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> Traces:
    """Of a machine whose home and place for temporary files were empty, with the bundled model."""
    folder = tmp_path_factory.mktemp("machine")
    for name in ("home", "tmp"):
        (folder / name).mkdir()
    place = Place(folder / "home", {"TMPDIR": str(folder / "tmp")})
    with serving(place) as server, watched(server.process.pid) as peers:
        at_work(place)
    elsewhere = (path for path in folder.rglob("*") if not path.is_relative_to(place.data))
    return Traces([path for path in elsewhere if path.is_file()], peers)


def test_a_server_at_work_leaves_nothing_outside_its_data_directory(traces: Traces) -> None:
    assert traces.files == []


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc, which Linux has")
def test_a_server_at_work_talks_to_this_computer_alone(traces: Traces) -> None:
    assert traces.peers, "its own port must be seen, at least"
    assert {peer for peer in traces.peers if not ip_address(peer).is_loopback} == set()


def at_work(place: Place) -> None:
    place.ok("add", "The demo project's release phrase is ORCHID-7419.")
    wait_until(lambda: place.json("status")["pendingIndex"] == 0)
    assert "ORCHID-7419" in place.ok("search", "what is said at a release").out


# --- sockets -------------------------------------------------------------------------------------


@contextmanager
def watched(pid: int) -> Generator[set[str]]:
    """The addresses at both ends of the process's TCP and UDP sockets, looked at all the time."""
    seen, stop = set[str](), threading.Event()

    def watch() -> None:
        while not stop.wait(0.01):
            seen.update(addresses(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()


def addresses(pid: int) -> Iterator[str]:
    ours = sockets(pid)
    for table in ("tcp", "tcp6", "udp", "udp6"):
        path = Path(f"/proc/{pid}/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            fields = line.split()
            if fields[9] in ours:
                yield address_of(fields[1])
                if int(fields[3], 16) != LISTENING:
                    yield address_of(fields[2])


def sockets(pid: int) -> set[str]:
    """Inode numbers."""
    found: set[str] = set()
    folder = Path(f"/proc/{pid}/fd")
    for entry in folder.iterdir() if folder.is_dir() else ():
        try:
            target = os.readlink(entry)
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def address_of(field: str) -> str:
    """As in proc(5): the address in words of the machine's byte order, and the port."""
    words = bytes.fromhex(field.partition(":")[0])
    turned = b"".join(words[at : at + 4][::-1] for at in range(0, len(words), 4))
    return str(ip_address(turned))

"""The client that puts load on a server: a process of its own, so that it costs the server nothing.

Run by `measure`. It sends requests that are ready made, over connections that stay open, each one
waiting for its answer before the next; it looks at an answer only to see that it is a good one.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import uvloop

_HOST = "127.0.0.1"
_BAD = (b'"error":', b'"isError":true')


@dataclass(frozen=True, slots=True)
class Load:
    """What one run measured. Times in milliseconds."""

    latencies: Sequence[float]  #: sorted
    seconds: float  #: from the first request to the last answer
    answer: bytes  #: the last body

    def percentile(self, share: float) -> float:
        return self.latencies[min(int(share * len(self.latencies)), len(self.latencies) - 1)]

    @property
    def per_second(self) -> float:
        return len(self.latencies) / self.seconds


def measure(port: int, requests: Sequence[bytes], clients: int, status: int = 200) -> Load:
    """Send all `requests` over `clients` connections. Raises RuntimeError when one is refused."""
    sizes = [len(request) for request in requests]
    head = json.dumps({"port": port, "clients": clients, "status": status, "sizes": sizes})
    run = subprocess.run(
        [sys.executable, "-m", "bench.load"],
        input=head.encode() + b"\n" + b"".join(requests),
        capture_output=True,
        check=False,
    )
    if run.returncode != 0:
        raise RuntimeError(run.stderr.decode()[-2000:])
    answer, _, times = run.stdout.rpartition(b"\n")
    found = json.loads(times)
    return Load(sorted(found["latencies"]), found["seconds"], answer)


class _Client(asyncio.Protocol):
    """One connection: takes the next request as soon as its answer is complete."""

    def __init__(self, requests: Iterator[bytes], status: int, latencies: list[float]) -> None:
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.answer = b""
        self._requests = requests
        self._status = status
        self._latencies = latencies
        self._received = b""
        self._size = -1  # of the answer with its headers; -1 until they are here

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass

    def send(self) -> None:
        request = next(self._requests, None)
        if request is None:
            self.ended.set_result(None)
            self._transport.close()
            return
        self._received, self._size = b"", -1
        self._sent = time.perf_counter()
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._size < 0:
            self._size = _size(self._received)
        if len(self._received) == self._size:
            self._latencies.append(time.perf_counter() - self._sent)
            self.answer = _checked(self._received, self._status)
            self.send()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(exc or ConnectionError("the server closed the connection"))


def _size(received: bytes) -> int:
    head = received.find(b"\r\n\r\n")
    if head < 0:
        return -1
    at = received.lower().index(b"content-length:") + 15
    return head + 4 + int(received[at : received.index(b"\r", at)])


def _checked(received: bytes, status: int) -> bytes:
    """The body. Raises RuntimeError when the server did not do what it was asked."""
    head, _, body = received.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 %d " % status) or any(mark in body for mark in _BAD):
        raise RuntimeError(f"refused: {received.decode()}")
    return body


async def _run(port: int, requests: Sequence[bytes], clients: int, status: int) -> Load:
    loop = asyncio.get_running_loop()
    waiting, latencies = iter(requests), list[float]()
    connected = [
        (await loop.create_connection(lambda: _Client(waiting, status, latencies), _HOST, port))[1]
        for _ in range(clients)
    ]
    began = time.perf_counter()
    for client in connected:
        client.send()
    await asyncio.gather(*(client.ended for client in connected))
    seconds = time.perf_counter() - began
    return Load([s * 1000 for s in latencies], seconds, connected[0].answer)


def _main() -> None:
    head = json.loads(sys.stdin.buffer.readline())
    requests = [sys.stdin.buffer.read(size) for size in head["sizes"]]
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        load = runner.run(_run(head["port"], requests, head["clients"], head["status"]))
    times = json.dumps({"latencies": load.latencies, "seconds": load.seconds})
    sys.stdout.buffer.write(load.answer + b"\n" + times.encode())


if __name__ == "__main__":
    _main()

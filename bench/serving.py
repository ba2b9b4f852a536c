"""A real server on a data directory of its own, and what the system says it has used.

Vaults and keys are made through the local socket, as the command line makes them.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_PATIENCE = 60.0  # seconds for a server to answer, or to stop
_STATUS: dict[str, Any] = {"name": "memory_status", "arguments": {}}


@dataclass(frozen=True, slots=True)
class Process:
    """A program that listens on a port of this machine."""

    port: int
    pid: int

    def cpu_seconds(self) -> float:
        """Processor time of all its threads so far, user and system (Linux only)."""
        # The number of a process's CPU clock, as clock_getcpuclockid(3) makes it: exact, where
        # /proc counts in hundredths of a second.
        return time.clock_gettime((~self.pid << 3) | 2)

    def resident_mb(self) -> float:
        """Memory in use now (Linux only)."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True, slots=True)
class Server(Process):
    """A running rememberd."""

    data: Path

    def new_vault(self, name: str) -> str:
        """Make a vault; returns a key that reads and writes it."""
        self._ask("/vaults", {"name": name})
        return self._ask("/keys", {"vault": name})["key"]

    def new_account(self, email: str, password: str) -> None:
        """The first one, which owns every vault made so far."""
        self._ask("/accounts", {"email": email, "password": password})

    def pending(self, vault: str) -> int:
        """Memories that wait for their vector."""
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": _STATUS}
        answer = self._ask(f"/mcp?vault={vault}", message)
        return answer["result"]["structuredContent"]["pendingIndex"]

    def wait_until_indexed(self, vault: str) -> None:
        while self.pending(vault):
            time.sleep(0.2)

    def _ask(self, path: str, body: Any) -> Any:
        with closing(_Local(str(self.data / "rememberd.sock"))) as connection:
            headers = {"Content-Type": "application/json"}
            connection.request("POST", path, json.dumps(body), headers)
            response = connection.getresponse()
            answer = json.loads(response.read())
        if response.status >= 300:
            raise RuntimeError(f"{path}: {answer}")
        return answer


class _Local(http.client.HTTPConnection):
    """HTTP over the file that the server listens on."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=_PATIENCE)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.connect(self._path)


@contextmanager
def data_directory() -> Generator[Path]:
    """An empty one, removed at the end. In the system's place for temporary files (`TMPDIR`)."""
    folder = Path(tempfile.mkdtemp(prefix="rememberd-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def serving(data: Path, settings: Mapping[str, str] | None = None) -> Generator[Server]:
    """`rememberd serve` on `data`; `settings` by their names, such as `embedder`."""
    port = free_port()
    command = ["-m", "rememberd", "serve", "--port", str(port), "--data", str(data)]
    given = {"log_level": "warning", **(settings or {})}
    environ = {f"REMEMBERD_{name.upper()}": value for name, value in given.items()}
    with running(command, port, environ) as pid:
        yield Server(port, pid, data)


@contextmanager
def running(
    arguments: list[str], port: int, environ: Mapping[str, str] | None = None
) -> Generator[int]:
    """A Python program of ours, from when it answers on `port`; its process id."""
    program = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, **(environ or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        wait_until_it_answers(port, program)
        yield program.pid
    finally:
        program.terminate()
        program.communicate(timeout=_PATIENCE)


def wait_until_it_answers(port: int, program: subprocess.Popen[bytes]) -> None:
    """Ask /health until there is an answer. Raises RuntimeError when the program ends before."""
    deadline = time.monotonic() + _PATIENCE
    while not _answers(port):
        if program.poll() is not None or time.monotonic() > deadline:
            program.kill()
            raise RuntimeError(program.communicate()[1].decode()[-2000:])
        time.sleep(0.005)


def _answers(port: int) -> bool:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)) as connection:
        try:
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        except OSError:
            return False


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]

"""The program, run as a person would: a home of its own, nothing from this environment.

`run` waits for its end; `start` leaves it running, for `serve` and `stdio`.
"""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.cli.forks import forks

PROGRAM = str(Path(sys.executable).with_name("rememberd"))
TIMEOUT_SECONDS = 60


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass(frozen=True)
class Place:
    """A person's machine: a home, a data directory, and their environment variables."""

    home: Path
    environ: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def data(self) -> Path:
        return self.home / "data"

    def with_environ(self, **more: str) -> Place:
        return Place(self.home, {**self.environ, **more})

    def environment(self) -> dict[str, str]:
        usual = {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8"}
        return usual | {"REMEMBERD_DATA": str(self.data)} | dict(self.environ)

    def run(self, *arguments: str, stdin: str = "") -> Done:
        """Run a command to its end, in a process of its own."""
        code, out, err = forks().run(
            arguments,
            stdin=stdin,
            environ=self.environment(),
            folder=self.home,
            timeout=TIMEOUT_SECONDS,
        )
        return Done(code, out, err)

    def run_anew(self, *arguments: str) -> Done:
        """The same from the very start of the program, for what happens there."""
        done = subprocess.run(
            [PROGRAM, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            env=self.environment(),
            cwd=self.home,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)

    def ok(self, *arguments: str, stdin: str = "") -> Done:
        """Run, and insist that it worked."""
        done = self.run(*arguments, stdin=stdin)
        assert done.code == 0, done.err
        return done

    def json(self, *arguments: str) -> Any:
        """The one JSON document on standard output."""
        return self.ok(*arguments, "--json").json

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [PROGRAM, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.environment(),
            cwd=self.home,
        )


@dataclass
class Server:
    """A running `rememberd serve`."""

    process: subprocess.Popen[bytes]
    url: str
    port: int
    said: list[str]

    def stop(self, number: int = signal.SIGTERM) -> Done:
        """Its exit code, and what else it said."""
        self.process.send_signal(number)
        return end(self.process)


def start_server(place: Place, *arguments: str, port: int = 0) -> Server:
    """Returns once the server has said where it is."""
    process = place.start("serve", "--port", str(port), *arguments)
    assert process.stdout
    said: list[str] = []
    while not said or not said[-1].startswith("Data"):
        line = process.stdout.readline().decode()
        assert line, end(process).err
        said.append(line.rstrip())
    url = next(line.split()[1] for line in said if line.startswith("MCP")).removesuffix("/mcp")
    return Server(process, url, urlsplit(url).port or port, said)


@contextmanager
def serving(place: Place, *arguments: str, port: int = 0) -> Generator[Server]:
    server = start_server(place, *arguments, port=port)
    try:
        yield server
    finally:
        if server.process.returncode is None:
            server.stop()


def end(process: subprocess.Popen[bytes]) -> Done:
    """Wait for the end of a started program; what it wrote comes along."""
    out, err = process.communicate(timeout=TIMEOUT_SECONDS)
    return Done(process.returncode, out.decode(), err.decode())


class Terminal:
    """The program at a real terminal, where it shows colours and asks."""

    def __init__(self, place: Place, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        environment = place.environment() | {"TERM": "xterm-256color", "COLUMNS": "100"}
        self._process = subprocess.Popen(
            [PROGRAM, *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment,
            cwd=place.home,
            start_new_session=True,
        )
        os.close(theirs)
        self.shown = ""

    def expect(self, text: str) -> None:
        """Wait until the screen shows `text`."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while text not in self.shown:
            assert time.monotonic() < deadline, f"{text!r} is not in {self.shown!r}"
            assert self._read(), f"{text!r} is not in {self.shown!r}"

    def type(self, line: str) -> None:
        os.write(self._ours, line.encode() + b"\n")

    def interrupt(self) -> None:
        self._process.send_signal(signal.SIGINT)

    def end(self) -> int:
        """The exit code; `shown` then holds everything."""
        while self._read():
            pass
        os.close(self._ours)
        return self._process.wait(TIMEOUT_SECONDS)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._ours], [], [], TIMEOUT_SECONDS)
        if not ready:
            return False
        try:
            found = os.read(self._ours, 65536)
        except OSError:  # the other side is closed
            return False
        self.shown += found.decode()
        return bool(found)


def wait_until(condition: Callable[[], bool], seconds: float = TIMEOUT_SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)

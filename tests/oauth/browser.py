"""The browser of a machine that has none: what a program opens reaches a person of the test.

She answers each page and her browser goes back to the program, whose listener is on loopback.
"""

from __future__ import annotations

import http.client
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from tests.oauth.person import Person
from tests.oauth.program import ALL, READ, WRITE, query_of

_PAUSE = 0.05  # seconds between two looks for a new address, or for somebody who listens
_PATIENCE = 30.0


@dataclass
class Browser:
    """`command` opens an address, as BROWSER and xdg-open do. `ticks` beside what is asked for."""

    command: Path
    person: Person
    ticks: Iterable[str] = (READ, WRITE)
    opened: list[str] = field(default_factory=list[str])
    problems: list[Exception] = field(default_factory=list[Exception])

    @property
    def addresses(self) -> Path:
        return self.command.with_suffix(".txt")

    def visit(self, url: str) -> None:
        """Consent, and go where the answer leads."""
        self.opened.append(url)
        asked = set(query_of(url).get("scope", [""])[0].split()) & set(ALL)
        location = self.person.consent(url, scopes=asked | set(self.ticks))
        self._go_back(urlsplit(location))

    def _go_back(self, back: SplitResult) -> None:
        """mcp-remote may open the browser before it listens: people are slower than that."""
        deadline = time.monotonic() + _PATIENCE
        with closing(http.client.HTTPConnection(back.netloc, timeout=30)) as connection:
            while True:
                try:
                    connection.connect()
                    break
                except ConnectionRefusedError:
                    if time.monotonic() > deadline:
                        raise
                    time.sleep(_PAUSE)
            connection.request("GET", f"{back.path}?{back.query}")
            connection.getresponse().read()

    def watch(self, stop: threading.Event) -> None:
        while not stop.wait(_PAUSE):
            lines = self.addresses.read_text().splitlines() if self.addresses.exists() else []
            for url in lines[len(self.opened) :]:
                try:
                    self.visit(url)
                except Exception as error:  # noqa: BLE001 - told to the test at the end
                    self.problems.append(error)


@contextmanager
def browser(folder: Path, person: Person) -> Generator[Browser]:
    """Watch until the end of the block. Raises what went wrong meanwhile."""
    made = Browser(folder / "browser", person)
    made.command.write_text(f'#!/bin/sh\nprintf "%s\\n" "$1" >> "{made.addresses}"\n')
    made.command.chmod(0o755)
    stop = threading.Event()
    thread = threading.Thread(target=made.watch, args=(stop,), daemon=True)
    thread.start()
    try:
        yield made
    finally:
        stop.set()
        thread.join(30)
    for problem in made.problems:
        raise problem

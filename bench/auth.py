"""What signing in and being checked costs: bearer checks, code exchanges, refreshes, passwords.

Given for one core, as Keycloak's sizing guide does, beside a bare server of the same run.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

from bench import ceilings, latency, load, requests, sizes, texts
from bench.latency import Measured
from bench.serving import Process, Server, data_directory, serving
from bench.sizes import Size
from bench.tables import table
from bench.visitor import CALLBACK, EMAIL, PASSWORD, VERIFIER, Visitor

CLIENTS = 16
SIGN_INS = 4  #: at once; more for one account would have to wait as if they were guesses
_ROOM = {"strangers_per_minute": "1000000", "registrations_per_hour": "1000000"}
NOTES = f"""\
- Calls a second and core: one over the server's processor time for a call. {CLIENTS} clients at
  once (sign-ins: {SIGN_INS}). *CPU ÷ bare*: over that of a bare server of the same run.
- A code exchange and a refresh each end with a commit that is on disk.
- Keycloak's figures are those of its [sizing guide][keycloak]. Its passwords are hashed by argon2
  with 7 MiB and 5 passes, ours with 19 MiB and 2; it keeps sessions in a cluster and its database
  apart. Unlike machines, unlike work: no more is said than that the order of magnitude is right.
- *tools/call*: in a vault of {{memories:,}} memories, searched by words.

[keycloak]: https://www.keycloak.org/high-availability/single-cluster/concepts-memory-and-cpu-sizing
"""


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    found: Measured
    keycloak: str = ""

    def cells(self, bare: Measured) -> dict[str, str]:
        return {
            "call": self.name,
            "CPU ÷ bare": f"{self.found.cpu_ms / bare.cpu_ms:.1f}",
            "a second and core": f"{1000 / self.found.cpu_ms:,.0f}",
            "Keycloak": self.keycloak,
            "CPU ms": f"{self.found.cpu_ms:.2f}",
            "p50 ms": f"{self.found.load.percentile(0.5):.1f}",
            "p99 ms": f"{self.found.load.percentile(0.99):.1f}",
        }


def main(arguments: Sequence[str] | None = None) -> int:
    size = sizes.parse(arguments, "auth", __doc__)
    with data_directory() as folder, ceilings.bare(300) as bare:
        with serving(folder / "data", {"embedder": "off", **_ROOM}) as server:
            public_url = f"http://localhost:{server.port}"
            bench = _Bench(size, server)
            rows = list(bench.rows())
        check = _one_check(folder / "data", public_url, bench.token)
        base = _bare(bare, size)
    print(table([row.cells(base) for row in rows]), _shares(rows, check), sep="\n\n")
    print("\n" + NOTES.format(memories=size.vaults[0]))
    return 0


def _one_check(data: Path, public_url: str, token: str) -> float:
    command = [sys.executable, "-m", "bench.bearer", str(data), public_url, token]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    return float(run.stdout)


def _bare(bare: Process, size: Size) -> Measured:
    calls = requests.search(["mk_none"], texts.questions(size.together))
    return latency.measured(bare, calls, CLIENTS)


def _shares(rows: Sequence[Row], check: float) -> str:
    """How much of a tools/call is the bearer check."""
    return table(
        [
            {
                "bearer check": f"in {row.name}",
                "of its CPU": f"{100 * check / row.found.cpu_ms:.1f} %",
                "CPU µs": f"{1000 * check:.0f}",
                "a second and core": f"{1000 / check:,.0f}",
            }
            for row in rows
            if row.name.startswith("tools/call")
        ]
    )


class _Bench:
    """One owner, one app that was let in many times over, one vault."""

    def __init__(self, size: Size, server: Server) -> None:
        self.size = size
        self.server = server
        server.new_account(EMAIL, PASSWORD)
        self.owner = Visitor(server.port)
        self.owner.sign_in()
        self.client_id = self.owner.register()
        self.token = ""

    def rows(self) -> Iterator[Row]:
        count = self.size.together
        exchanges = [_token(self._exchange()) for _ in range(count)]
        yield Row("code exchange", self._measured(exchanges))
        refreshes = [_token(self._refresh(self._exchange())) for _ in range(count)]
        yield Row("refresh", self._measured(refreshes), keycloak="120")
        forms = [self._sign_in() for _ in range(self.size.alone)]
        yield Row(
            "sign-in by password",
            latency.measured(self.server, forms, SIGN_INS, 303),
            keycloak="15",
        )
        self.token = self._tokens(self._exchange())["access_token"]
        yield from self._calls(count)

    def _calls(self, count: int) -> Iterator[Row]:
        memories = texts.memories(self.size.vaults[0])
        load.measure(self.server.port, requests.store([self.token], memories), CLIENTS)
        warm = requests.search([self.token], texts.questions(1, seed=3))
        load.measure(self.server.port, warm, 1)  # a vault's first search reads all of it
        asked = [requests.call(self.token, "memory_status", {}) for _ in range(count)]
        yield Row("tools/call memory_status", self._measured(asked))
        searches = requests.search([self.token], texts.questions(count))
        yield Row("tools/call search_memories", self._measured(searches))

    def _measured(self, calls: Sequence[bytes]) -> Measured:
        return latency.measured(self.server, calls, CLIENTS)

    # -- requests, ready to be sent ----------------------------------------------------------------

    def _exchange(self) -> dict[str, str]:
        return {
            "grant_type": "authorization_code",
            "code": self.owner.let_in(self.client_id),
            "code_verifier": VERIFIER,
            "redirect_uri": CALLBACK,
            "client_id": self.client_id,
        }

    def _refresh(self, exchange: dict[str, str]) -> dict[str, str]:
        return {
            "grant_type": "refresh_token",
            "refresh_token": self._tokens(exchange)["refresh_token"],
            "client_id": self.client_id,
        }

    def _tokens(self, exchange: dict[str, str]) -> dict[str, str]:
        return self.owner.redeem(urlencode(exchange).encode())

    def _sign_in(self) -> bytes:
        visitor = Visitor(self.server.port)
        path, body = visitor.sign_in_form()
        return requests.form(path, body, {"Cookie": visitor.cookie_header()})


def _token(fields: dict[str, str]) -> bytes:
    return requests.form("/token", urlencode(fields).encode())


if __name__ == "__main__":
    sys.exit(main())

"""What storing and searching cost over HTTP, beside what this machine allows at the very best.

Ratios come first, to ceilings that are measured anew just before each row: a shared machine changes
the times from one minute to the next, and both sides with them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench import ceilings, load, requests, sizes, texts
from bench.fake_model import fake_model
from bench.load import Load
from bench.serving import Process, Server, data_directory, serving
from bench.sizes import Size
from bench.tables import table

CLIENTS = (1, 16)
FEW = 16  #: memories in each of many vaults
KNOWN = 50  #: different questions, where a model has answered them before
WITH_MODEL = "words, model"
NOTES = """\
- The first table has the ceilings: medians of what was measured before each row of the second.
- *CPU ÷ bare*: the server's processor time for a call, over that of a bare server: Starlette on
  uvicorn, answering as many bytes without thinking.
- *rate ÷ ceiling*: calls a second, over those of the bare server; for stores, over the rows that
  SQLite commits in a second with as many sharing each commit, when that is less.
- *words*: the embedder is off. *words, vectors*: each memory has a vector of 384, drawn by lot, and
  so has each question, so that no model is at work. *words, model*: with the bundled model, which
  sees each question for the first time; a store's CPU includes its embedding.
- Vaults grow by what is stored in them while they are measured.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    load: Load
    cpu_ms: float  #: of the server, for one call


@dataclass(frozen=True, slots=True)
class Ceiling:
    bare: Measured
    commits: float  #: rows a second


@dataclass(frozen=True, slots=True)
class Vault:
    name: str
    key: str
    memories: int


@dataclass(frozen=True, slots=True)
class Target:
    """One vault, or several of the same size, and how they are searched."""

    vaults: Sequence[Vault]
    by: str

    @property
    def keys(self) -> list[str]:
        return [vault.key for vault in self.vaults]

    def __str__(self) -> str:
        return f"{len(self.vaults)} × {self.vaults[0].memories:,}"


@dataclass(frozen=True, slots=True)
class Row:
    call: str
    target: Target
    clients: int
    found: Measured
    ceiling: Ceiling

    @property
    def best(self) -> float:
        """Calls a second that cannot be surpassed."""
        bare = self.ceiling.bare.load.per_second
        return min(bare, self.ceiling.commits) if self.call == "store" else bare

    def cells(self) -> dict[str, str]:
        load = self.found.load
        return {
            "call": self.call,
            "vaults × memories": str(self.target),
            "search by": self.target.by,
            "clients": str(self.clients),
            "CPU ÷ bare": f"{self.found.cpu_ms / self.ceiling.bare.cpu_ms:.1f}",
            "rate ÷ ceiling": f"{load.per_second / self.best:.2f}",
            "p50 ms": f"{load.percentile(0.5):.1f}",
            "p95 ms": f"{load.percentile(0.95):.1f}",
            "p99 ms": f"{load.percentile(0.99):.1f}",
            "calls/s": f"{load.per_second:,.0f}",
            "CPU ms": f"{self.found.cpu_ms:.2f}",
        }


def main(arguments: Sequence[str] | None = None) -> int:
    size = sizes.parse(arguments, "latency", __doc__)
    with data_directory() as folder, ceilings.bare(4_000) as bare:
        bench = _Bench(size, folder, bare)
        rows = [*bench.with_and_without_vectors(folder / "data"), *bench.model(folder / "model")]
    print(_ceiling_table(rows), table([row.cells() for row in rows]), NOTES, sep="\n\n")
    return 0


def measured(server: Process, calls: Sequence[bytes], clients: int, status: int = 200) -> Measured:
    before = server.cpu_seconds()
    found = load.measure(server.port, calls, clients, status)
    return Measured(found, 1000 * (server.cpu_seconds() - before) / len(calls))


def _ceiling_table(rows: Sequence[Row]) -> str:
    return table([_ceiling_cells(rows, clients) for clients in CLIENTS])


def _ceiling_cells(rows: Sequence[Row], clients: int) -> dict[str, str]:
    """Medians over the rows of so many clients."""
    found = [row.ceiling for row in rows if row.clients == clients]
    bare = [one.bare for one in found]
    return {
        "clients": str(clients),
        "rows committed/s": f"{median(one.commits for one in found):,.0f}",
        "bare calls/s": f"{median(one.load.per_second for one in bare):,.0f}",
        "bare p50 ms": f"{median(one.load.percentile(0.5) for one in bare):.2f}",
        "bare CPU ms": f"{median(one.cpu_ms for one in bare):.2f}",
    }


# --- rememberd ---------------------------------------------------------------------------------


class _Bench:
    def __init__(self, size: Size, folder: Path, bare: Process) -> None:
        self.size = size
        self.folder = folder
        self.bare = bare

    def with_and_without_vectors(self, data: Path) -> Iterator[Row]:
        """Vaults of every size: searched with vectors that are at hand, then by words alone."""
        with fake_model() as settings, serving(data, settings) as server:
            vaults = [fill(server, memories) for memories in self.size.vaults]
            for vault in vaults:
                yield from self._search(server, Target([vault], "words, vectors"), KNOWN)
        with serving(data, {"embedder": "off"}) as server:
            for vault in vaults:
                yield from self._both(server, Target([vault], "words"))
            many = [fill(server, FEW, f"-{number}") for number in range(self.size.many)]
            yield from self._both(server, Target(many, "words"))

    def model(self, data: Path) -> Iterator[Row]:
        """With the bundled model, which is asked each question and given each memory."""
        with serving(data) as server:
            vault = fill(server, self.size.vaults[0])
            yield from self._both(server, Target([vault], WITH_MODEL))

    def _both(self, server: Server, target: Target) -> Iterator[Row]:
        yield from self._search(server, target)
        yield from self._store(server, target)

    def _search(
        self, server: Server, target: Target, different: int | None = None
    ) -> Iterator[Row]:
        """All questions are different ones, or some that were all asked before."""
        warm = requests.search(target.keys, texts.questions(len(target.vaults) + 1, seed=3))
        load.measure(server.port, warm, 1)  # a vault's first search reads all of it
        for clients, count in self._counts():
            calls = requests.search(target.keys, texts.questions(different or count, clients))
            if different:
                load.measure(server.port, calls, clients)
                calls = (calls * count)[:count]
            yield self._row("search", server, target, clients, calls)

    def _store(self, server: Server, target: Target) -> Iterator[Row]:
        for clients, count in self._counts():
            calls = requests.store(target.keys, texts.memories(count, clients))
            yield self._row("store", server, target, clients, calls)

    def _counts(self) -> tuple[tuple[int, int], ...]:
        return (1, self.size.alone), (16, self.size.together)

    def _row(
        self, call: str, server: Server, target: Target, clients: int, calls: Sequence[bytes]
    ) -> Row:
        ceiling = self._ceiling(clients)
        before = server.cpu_seconds()
        found = load.measure(server.port, calls, clients)
        if target.by == WITH_MODEL:
            server.wait_until_indexed(target.vaults[0].name)
        used = 1000 * (server.cpu_seconds() - before) / len(calls)
        return Row(call, target, clients, Measured(found, used), ceiling)

    def _ceiling(self, clients: int) -> Ceiling:
        calls = requests.search(["mk_none"], texts.questions(self.size.together))
        seconds = self.size.ceiling_seconds
        return Ceiling(
            measured(self.bare, calls, clients),
            ceilings.commits_per_second(self.folder, clients, seconds),
        )


def fill(server: Server, memories: int, suffix: str = "") -> Vault:
    """A new vault with this many memories, each with its vector, that was searched before."""
    if not suffix:
        _progress(f"a vault of {memories:,}")
    name = f"vault-{memories}{suffix}"
    key = server.new_vault(name)
    load.measure(server.port, requests.store([key], texts.memories(memories)), clients=16)
    server.wait_until_indexed(name)
    load.measure(server.port, requests.search([key], texts.questions(2)), clients=1)
    return Vault(name, key, memories)


def _progress(what: str) -> None:
    print(f"latency: {what}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())

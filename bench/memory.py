"""How much memory a server holds: idle, with a vault in use, with the model loaded."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench import sizes
from bench.fake_model import fake_model
from bench.latency import fill
from bench.serving import Server, data_directory, serving
from bench.sizes import Size
from bench.tables import table

NOTES = """\
Resident memory of the server process, each state in a process of its own. Vectors are of 384, drawn
by lot; `cache_bytes` bounds what searches keep of all vaults together.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    size = sizes.parse(arguments, "memory", __doc__)
    with data_directory() as folder:
        rows = list(_rows(folder, size))
    print(table(rows), NOTES, sep="\n\n")
    return 0


def _rows(folder: Path, size: Size) -> Iterator[dict[str, str]]:
    with serving(folder / "words", {"embedder": "off"}) as server:
        yield _row("idle", server)
        fill(server, size.vaults[0])
        yield _row(f"{size.vaults[0]:,} memories stored and searched by words", server)
    with serving(folder / "model") as server:
        fill(server, 1)
        yield _row("bundled model loaded", server)
    for memories in size.vaults:
        with fake_model() as settings, serving(folder / "vectors", settings) as server:
            fill(server, memories)
            yield _row(f"{memories:,} memories searched by vectors, without a model", server)


def _row(state: str, server: Server) -> dict[str, str]:
    return {"state": state, "MB": f"{server.resident_mb():.0f}"}


if __name__ == "__main__":
    sys.exit(main())

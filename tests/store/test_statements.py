"""What a call runs is prepared once for a connection, and never reads every memory of a vault."""

from __future__ import annotations

import re

import pytest

from rememberd.model import Mode
from rememberd.store import queries, sqlite
from rememberd.store.store import Store
from rememberd.store.transaction import Transaction


@pytest.mark.parametrize("mode", ["ro", "record", "rw"])
async def test_another_value_does_not_prepare_a_statement_anew(store: Store, mode: Mode) -> None:
    connection = sqlite.connect(store.directory.control, None, mode)
    authorized: list[str | None] = []  # SQLite asks for every column while it prepares

    def note(_: int, table: str | None, *more: str | None) -> int:
        authorized.append(table)
        return 0

    connection.authorizer = note
    join = "SELECT vault.name FROM key JOIN vault ON vault.id = key.vault_id WHERE key.id = ?"
    connection.execute(join, ("key_1",)).fetchall()
    assert "vault" in authorized
    authorized.clear()
    connection.execute(join, ("key_2",)).fetchall()
    assert authorized == []
    connection.close()


# These read everything, and no call that people wait for runs them.
_WHOLE = {
    "all_audit",
    "all_usage",
    "count_indexed",
    "count_memories",
    "count_vectors",
    "drop_other_models",
    "drop_other_vectors",
    "open_text_index",
    "unindex_all",
}
_ENDS = {"audit_by_hash", "last_audit", "last_usage", "recent_memories"}  #: with LIMIT, by seq
_MANY = re.compile(
    r"SCAN (memory|vector|lineage|batch|batch_member|usage|audit)\b(?!_)"
    r"|SCAN memory_text VIRTUAL TABLE INDEX 0:$"
)


@pytest.mark.parametrize("name", sorted(queries.load("vault")))
async def test_what_a_call_runs_does_not_read_every_row(
    store: Store, alice: str, name: str
) -> None:
    query = queries.load("vault")[name]
    values = dict.fromkeys(re.findall(r":(\w+)", query), 1)

    def explain(tx: Transaction) -> list[str]:
        plan = tx.connection.execute(f"EXPLAIN QUERY PLAN {query}", values)
        return [str(row[-1]) for row in plan]

    async with store.vault(alice, "rw") as vault:
        steps = await vault.write(explain)
    reads = [step for step in steps if _MANY.match(step)]
    if name in _WHOLE:
        assert reads, "it does not belong on the list any more"
    elif name in _ENDS:
        assert "LIMIT" in query
        assert "B-TREE" not in str(steps)
    else:
        assert reads == []

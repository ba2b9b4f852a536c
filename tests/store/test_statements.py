"""A statement is prepared once for a connection, whatever values it is run with."""

from __future__ import annotations

import pytest

from rememberd.model import Mode
from rememberd.store import sqlite
from rememberd.store.store import Store


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

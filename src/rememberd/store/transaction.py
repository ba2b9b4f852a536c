"""What a query sees: one open transaction and the named queries of its book."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import apsw

Row = dict[str, Any]


class Transaction:
    """Runs named queries. Made by `Database`; never outlives the function it is given to."""

    __slots__ = ("_queries", "connection")

    def __init__(self, connection: apsw.Connection, queries: Mapping[str, str]) -> None:
        self.connection = connection
        self._queries = queries

    def all(self, name: str, /, **values: Any) -> list[Row]:
        """Every row, as a dict by column name."""
        cursor = self.connection.execute(self._queries[name], values)
        try:
            columns = [column[0] for column in cursor.get_description()]
        except apsw.ExecutionCompleteError:
            return []
        return [dict(zip(columns, row, strict=True)) for row in cursor]

    def one(self, name: str, /, **values: Any) -> Row | None:
        rows = self.all(name, **values)
        return rows[0] if rows else None

    def tuples(self, name: str, /, **values: Any) -> list[tuple[Any, ...]]:
        """Every row as a tuple: for many rows of few columns."""
        return self.connection.execute(self._queries[name], values).fetchall()

    def value(self, name: str, /, **values: Any) -> Any:
        """The first column of the first row, or None."""
        for row in self.connection.execute(self._queries[name], values):
            return row[0]
        return None

    def run(self, name: str, /, **values: Any) -> int:
        """Run a change; returns how many rows it touched."""
        self.connection.execute(self._queries[name], values).fetchall()
        return self.connection.changes()

    def many(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        self.connection.executemany(self._queries[name], rows)

    def last_rowid(self) -> int:
        return self.connection.last_insert_rowid()

"""A vault's memories as arrays, kept in memory so that a search need not read every row.

Only outlines and vectors live here, never texts. A deletion drops the whole mirror before it is
acknowledged; additions are appended at the next search.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rememberd.clock import to_micros
from rememberd.model import Filters
from rememberd.store import analysis
from rememberd.store.transaction import Transaction
from rememberd.store.vectors import Model

Array = NDArray[Any]


class _Column:
    """An array that grows at its end. Views handed out earlier keep showing what they showed."""

    def __init__(self, dtype: Any, width: int | None = None) -> None:
        self._width = () if width is None else (width,)
        self._room: Array = np.empty((0, *self._width), dtype=dtype)
        self.length = 0

    def append(self, values: Array) -> None:
        end = self.length + len(values)
        if end > len(self._room):
            room = np.empty((max(64, end, 2 * self.length), *self._width), dtype=self._room.dtype)
            room[: self.length] = self._room[: self.length]
            self._room = room
        self._room[self.length : end] = values
        self.length = end

    @property
    def view(self) -> Array:
        return self._room[: self.length]

    @property
    def nbytes(self) -> int:
        return self._room.nbytes


@dataclass(frozen=True, slots=True)
class Outline:
    """One moment of a vault: a row per memory in order of arrival, and its passages' vectors.

    `before` and `after` are the rows next to it in its thread, -1 for none. `owner` maps each row
    of `matrix` (int8) to a memory's row, `lengths` to its length as a vector.
    """

    seqs: NDArray[np.int64]
    tiers: NDArray[np.int8]
    importance: NDArray[np.int8]  #: 0 for raw memories
    at: NDArray[np.int64]
    until: NDArray[np.int64]
    tokens: NDArray[np.int32]
    before: NDArray[np.int64]
    after: NDArray[np.int64]
    authors: NDArray[np.int32]  #: a number of `author_numbers`, -1 for none
    author_numbers: Mapping[str, int]  #: by `analysis.leading_author`; may hold later ones too
    matrix: NDArray[np.int8] | None
    lengths: NDArray[np.float32]
    owner: NDArray[np.int64]

    def rows_of(self, seqs: Array) -> Array:
        """Rows of these memories; all of them must be here."""
        if self.seqs[-1] - self.seqs[0] == len(self.seqs) - 1:  # none between them was deleted
            return seqs - self.seqs[0]
        return np.searchsorted(self.seqs, seqs)

    def allowed(self, filters: Filters) -> NDArray[np.bool_]:
        """Which memories pass tiers, importance and time window."""
        wanted = np.zeros(4, np.bool_)  # by tier; faster than to look each one up in a list
        wanted[list(filters.tiers)] = True
        mask = wanted[self.tiers]
        if filters.importance is not None:
            mask &= self.importance >= filters.importance
        if filters.since is not None:
            mask &= self.until >= to_micros(filters.since)
        if filters.before is not None:
            mask &= self.at < to_micros(filters.before)
        return mask


class Mirror:
    """The growing arrays behind the outlines of one vault."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._columns = {
            "seqs": _Column(np.int64),
            "tiers": _Column(np.int8),
            "importance": _Column(np.int8),
            "at": _Column(np.int64),
            "until": _Column(np.int64),
            "tokens": _Column(np.int32),
            "before": _Column(np.int64),
            "authors": _Column(np.int32),
        }
        self._after: NDArray[np.int64] = np.empty(0, np.int64)
        self._last_in_thread: dict[str, int] = {}
        self._authors: dict[str, int] = {}
        self._model: int | None = None
        self._change = 0
        self._matrix: _Column | None = None
        self._lengths = _Column(np.float32)
        self._owner = _Column(np.int64)

    @property
    def nbytes(self) -> int:
        matrix = self._matrix.nbytes if self._matrix else 0
        columns = (self._lengths, self._owner, *self._columns.values())
        return matrix + sum(column.nbytes for column in columns)

    def outline(self, tx: Transaction, model: Model | None) -> Outline:
        """Take in what is new since the last time and return the present state."""
        with self._lock:
            self._add_memories(tx)
            self._add_vectors(tx, model)
            views = {name: column.view for name, column in self._columns.items()}
            return Outline(
                after=self._after,
                author_numbers=self._authors,
                matrix=self._matrix.view if self._matrix and self._matrix.length else None,
                lengths=self._lengths.view,
                owner=self._owner.view,
                **views,
            )

    def _add_memories(self, tx: Transaction) -> None:
        seqs = self._columns["seqs"]
        newest = int(seqs.view[-1]) if seqs.length else 0
        rows = tx.tuples("outline", after=newest)
        if not rows:
            return
        first = seqs.length
        for name, values in zip(
            ("seqs", "tiers", "importance", "at", "until", "tokens"),
            zip(*((r[0], r[1], r[2] or 0, *r[3:6]) for r in rows), strict=True),
            strict=True,
        ):
            self._columns[name].append(np.array(values, dtype=np.int64))
        self._link([row[6] for row in rows], first)
        self._columns["authors"].append(np.array([self._author(row[7]) for row in rows]))

    def _link(self, threads: list[str | None], first: int) -> None:
        """Rows before and after in the thread. `after` is copied: older outlines keep theirs."""
        after = np.concatenate([self._after, np.full(len(threads), -1, np.int64)])
        before = np.full(len(threads), -1, np.int64)
        for number, thread in enumerate(threads):
            if thread is None:
                continue
            last = self._last_in_thread.get(thread)
            if last is not None:
                before[number], after[last] = last, first + number
            self._last_in_thread[thread] = first + number
        self._columns["before"].append(before)
        self._after = after

    def _author(self, opening: str) -> int:
        name = analysis.leading_author(opening)
        return -1 if name is None else self._authors.setdefault(name, len(self._authors))

    def _add_vectors(self, tx: Transaction, model: Model | None) -> None:
        if model is None:
            return
        if model.id != self._model or self._matrix is None:
            self._model, self._change = model.id, 0
            self._matrix, self._owner = _Column(np.int8, model.dimension), _Column(np.int64)
            self._lengths = _Column(np.float32)
        rows = tx.tuples("vectors_since", model=model.id, after=self._change)
        if not rows:
            return
        self._change = rows[-1][0]
        data = np.frombuffer(b"".join(row[2] for row in rows), dtype=np.int8)
        added = data.reshape(len(rows), model.dimension)
        self._matrix.append(added)
        self._lengths.append(np.linalg.norm(added.astype(np.float32), axis=1))
        seqs = np.array([row[1] for row in rows], dtype=np.int64)
        self._owner.append(np.searchsorted(self._columns["seqs"].view, seqs))

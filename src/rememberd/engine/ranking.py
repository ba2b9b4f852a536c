"""Which memories answer a query best, from word scores, meaning scores and neighbours.

Pure: arrays in, arrays out, one row per memory of a vault in order of arrival. No I/O, no text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]
    Mask = NDArray[np.bool_]

WORDS, MEANING = 0.4, 0.6
FROM_BEFORE, FROM_AFTER = 0.4, 0.2
AUTHOR = 1.5
TIE_BREAK = 0.1


@dataclass(frozen=True, slots=True)
class Neighbours:
    """For each memory the rows of the one before and after it in its thread; -1 for none."""

    before: Ints
    after: Ints

    @classmethod
    def of(cls, threads: Sequence[str | None]) -> Neighbours:
        """From each memory's thread, in order of arrival; None belongs to no thread."""
        before = np.full(len(threads), -1, dtype=np.int64)
        after = np.full(len(threads), -1, dtype=np.int64)
        last: dict[str, int] = {}
        for row, thread in enumerate(threads):
            if thread is None:
                continue
            if thread in last:
                before[row], after[last[thread]] = last[thread], row
            last[thread] = row
        return cls(before, after)


def fuse(
    words: Floats | None,
    meaning: Floats | None,
    neighbours: Neighbours,
    *,
    prior: Floats | None = None,
    authors: Mask | None = None,
) -> Floats:
    """One score per memory, comparable within this query only; higher is better, never NaN.

    `words`: BM25, larger is better, 0 for memories that match no word; None without a text query.
    `meaning`: cosine; NaN for a memory that has no vector yet; None without an embedder.
    `prior`: 0 to 1, what breaks ties (recency, importance). `authors`: who gets the author's bonus.
    """
    raise NotImplementedError


def best(scores: Floats, allowed: Mask | None, limit: int) -> Ints:
    """Rows of the `limit` best allowed memories, best first; ties go to the later arrival."""
    raise NotImplementedError


def shown(
    words: Floats | None, ideal_words: float, meaning: Floats | None, likeness: tuple[float, float]
) -> Floats:
    """An honest score from 0 to 1 for people: how far the memory itself speaks to the query.

    `ideal_words`: the BM25 of a memory that holds every query term once (`ideal`). A query that
    nothing answers gets low scores throughout, whatever ranks first.
    """
    raise NotImplementedError


def scan(matrix: NDArray[np.int8], query: Floats, bits: NDArray[np.uint64] | None = None) -> Floats:
    """Cosine of every stored vector with the query; with `bits`, estimates for the hopeless ones."""
    raise NotImplementedError

"""Which memories answer a query best, from its words, its meaning and their neighbours.

Pure: arrays in, arrays out, one row per memory of a vault in order of arrival; no I/O, no text, no
clock. The weights were measured, see `docs/decisions/ranking.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Ints = NDArray[np.int64]
Counts = NDArray[np.int32]
Mask = NDArray[np.bool_]

#: How much words and meaning count, each in standard deviations over the whole vault.
WORDS, MEANING = 0.4, 0.6
#: What a memory gains from the next one in its thread, on either side; the one after gives half.
NEIGHBOUR, STEPS = 0.4, 2
#: What the one author whom a query names gains, in the same unit.
AUTHOR = 1.0
#: At most this is added for being recent and for being important: it decides between near-equals.
TIE_BREAK = 0.1
#: A text a thousand times longer than the usual holds more words by chance: it counts a quarter.
BREVITY = 0.2
#: Days after which being recent counts half.
HALF_LIFE = 90.0

_BLOCK = 256  # rows turned into float32 at a time: stays in the processor's cache


@dataclass(frozen=True, slots=True)
class Neighbours:
    """For each memory the rows of the one before and after it in its thread; -1 for none."""

    before: Ints
    after: Ints


def shared_words(holders: Sequence[Ints], memories: int) -> Floats:
    """The share of the query that each memory holds, from the rows that hold each of its words.

    A word counts by its inverse document frequency (Robertson and Spärck Jones, in the form that is
    never negative); one that no memory holds counts most, so a query about nothing here stays low.
    """
    share = np.zeros(memories, dtype=np.float32)
    total = 0.0
    for rows in holders:
        weight = np.log1p((memories - len(rows) + 0.5) / (len(rows) + 0.5))
        share[rows] += weight
        total += weight
    return share / np.float32(total) if total > 0 else share


def scan(matrix: NDArray[np.int8], lengths: Floats, query: Floats) -> Floats:
    """Cosine of the query with every stored vector, in [-1, 1]; 0 for a vector of zeros.

    `lengths`: of the stored vectors. Exact: 10 ms for 100,000 vectors of 384, so
    no approximate index is kept (docs/decisions/ranking.md).
    """
    found = np.empty(len(matrix), dtype=np.float32)
    block = np.empty((_BLOCK, matrix.shape[1]), dtype=np.float32)
    for start in range(0, len(matrix), _BLOCK):
        rows = block[: len(matrix) - start]
        rows[:] = matrix[start : start + _BLOCK]
        np.dot(rows, query, out=found[start : start + len(rows)])
    length = np.float32(max(float(np.linalg.norm(query)), 1e-12))
    return found / (np.maximum(lengths, np.float32(1)) * length)


def best_passage(found: Floats, owner: Ints, memories: int) -> Floats:
    """The best of each memory's passages, NaN for a memory that has none; `owner` maps to rows."""
    best = np.full(memories, -np.inf, dtype=np.float32)
    np.maximum.at(best, owner, found)
    return np.where(np.isneginf(best), np.float32(np.nan), best)


def fuse(
    words: Floats,
    meaning: Floats | None,
    neighbours: Neighbours,
    *,
    tokens: Counts | None = None,
    prior: Floats | None = None,
    authors: Mask | None = None,
) -> Floats:
    """One score per memory, comparable within this query only; higher is better, never NaN.

    `words`: `shared_words`. `meaning`: cosines, NaN where there is no vector yet, None without a
    model. `tokens`: each memory's length, to which long texts owe some of their words. `prior`: 0
    to 1, see `prior_of`. `authors`: the memories of the one author whom the query names. Without a
    model, memories that neither share a word with the query nor stand near one that does get -inf:
    there is no reason to show them.
    """
    # Squared: two of the query's words in one memory say more than one in each of two.
    held = np.square(words) if tokens is None else np.square(words) * _brevity(tokens)
    score = _standard(held)
    if meaning is not None:
        score = _with_meaning(score, meaning)
    score = _spread(score, neighbours)
    if prior is not None:
        score += TIE_BREAK * prior
    if authors is not None:
        score += AUTHOR * authors
    if meaning is None:
        score[_spread(held, neighbours) <= 0] = -np.inf
    return score


def prior_of(at: Ints, importance: NDArray[np.int8]) -> Floats:
    """0 to 1 for being recent (`at`, in microseconds) and important (1 to 10)."""
    if len(at) == 0:
        return np.zeros(0, dtype=np.float32)
    days = ((at.max() - at) / 86_400e6).astype(np.float32)
    return 0.5 * np.exp2(days / -HALF_LIFE) + importance.astype(np.float32) / 20


def best(scores: Floats, allowed: Mask, limit: int | None) -> Ints:
    """Rows of the best allowed memories, best first, equal ones latest first; None: all of them."""
    rows = np.flatnonzero(allowed & np.isfinite(scores))
    if limit is not None and limit < len(rows):
        least = np.partition(scores[rows], len(rows) - limit)[len(rows) - limit]
        rows = rows[scores[rows] >= least]
    return rows[np.lexsort((-rows, -scores[rows]))][:limit]


def shown(words: Floats, meaning: Floats | None, likeness: tuple[float, float]) -> Floats:
    """The score people see, 0 to 1: how far the memory itself speaks to the query.

    Comparable between queries, unlike the ranking. Either all the words or the full meaning is
    enough for 1, half of either is little, and both together are more: 1 - (1 - w²)(1 - m²), where
    m runs from 0 at the cosine of unrelated texts to 1 at that of texts that say the same
    (`Embedder.likeness`). So a query that nothing answers is shown low scores throughout.
    """
    doubt = 1.0 - np.square(words)
    if meaning is not None:
        unrelated, same = likeness
        like = (np.nan_to_num(meaning, nan=unrelated) - unrelated) / (same - unrelated)
        doubt *= 1.0 - np.square(np.clip(like, 0.0, 1.0))
    return np.clip(1.0 - doubt, 0.0, 1.0).astype(np.float32)


def _brevity(tokens: Counts) -> Floats:
    if len(tokens) == 0:
        return np.zeros(0, dtype=np.float32)
    relative = np.maximum(tokens, 1).astype(np.float32) / max(float(tokens.mean()), 1.0)
    return np.power(relative, np.float32(-BREVITY))


def _standard(values: Floats) -> Floats:
    """In standard deviations from the mean; zeros when all are equal."""
    spread = float(values.std()) if len(values) else 0.0
    if spread < 1e-9:
        return np.zeros(len(values), dtype=np.float32)
    return ((values - values.mean()) / spread).astype(np.float32)


def _with_meaning(words: Floats, meaning: Floats) -> Floats:
    """Both together; by words alone, at full weight, where there is no vector yet.

    Counted as average instead, the very memory that a query names would lose to whatever sounds
    like it until its vector is made.
    """
    unknown = np.isnan(meaning)
    average = np.float32(0) if unknown.all() else meaning[~unknown].mean()
    together = WORDS * words + MEANING * _standard(np.where(unknown, average, meaning))
    return np.where(unknown, (WORDS + MEANING) * words, together).astype(np.float32)


def _spread(score: Floats, neighbours: Neighbours) -> Floats:
    """Each score with what its neighbours in the thread give."""
    given = np.append(score, np.float32(0))  # row -1, no neighbour, gives nothing
    total = score.copy()
    for side in (neighbours.before, neighbours.after):
        onward, rows, weight = np.append(side, -1), side, NEIGHBOUR
        for _ in range(STEPS):
            total += np.float32(weight) * given[rows]
            rows, weight = onward[rows], weight / 2
    return total

"""From what storage found to the order that is shown: the glue between outline and ranking. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rememberd.engine import ranking
from rememberd.model import Filters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rememberd.engine.search import Asked
    from rememberd.store.mirror import Outline
    from rememberd.store.search import Words

    Floats = NDArray[np.float32]


def order(
    outline: Outline,
    words: Words,
    asked: Asked,
    filters: Filters,
    author: int | None,
    limit: int | None,
) -> tuple[list[int], list[float]]:
    """Seqs of what passes the filters, best first, at most `limit`, and the score shown of each."""
    if not len(outline.seqs):
        return [], []
    by_words = _by_words(outline, words)
    by_meaning = _by_meaning(outline, asked.vector)
    scores = ranking.fuse(
        by_words,
        by_meaning,
        ranking.Neighbours(outline.before, outline.after),
        prior=_prior(outline),
        authors=None if author is None else outline.authors == author,
    )
    rows = ranking.best(scores, outline.allowed(filters), limit or len(outline.seqs))
    likeness = asked.embedder.likeness if asked.embedder else (0.0, 1.0)
    shown = ranking.shown(by_words, words.ideal, by_meaning, likeness)
    return outline.seqs[rows].tolist(), shown[rows].tolist()


def _by_words(outline: Outline, words: Words) -> Floats:
    scores = np.zeros(len(outline.seqs), np.float32)
    if words.seqs:
        seqs = np.asarray(words.seqs, np.int64)
        known = seqs <= outline.seqs[-1]
        rows = outline.rows_of(seqs[known])
        scores[rows] = np.asarray(words.scores, np.float32)[known]
    return scores


def _by_meaning(outline: Outline, vector: Any) -> Floats | None:
    """The best passage's cosine; NaN for a memory without a vector."""
    if vector is None or outline.matrix is None:
        return None
    cosines = ranking.scan(outline.matrix, vector)
    best = np.full(len(outline.seqs), np.nan, np.float32)
    np.fmax.at(best, outline.owner, cosines)
    return best


def _prior(outline: Outline) -> Floats:
    """What breaks ties: later arrival first, and important reflections."""
    count = len(outline.seqs)
    recency = np.arange(1, count + 1, dtype=np.float32) / count
    return 0.5 * recency + 0.05 * outline.importance.astype(np.float32)

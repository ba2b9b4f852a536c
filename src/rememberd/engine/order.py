"""From what storage found to the order that is shown: outline and words through ranking. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rememberd.engine import ranking
from rememberd.model import Filters

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from rememberd.store.mirror import Outline
    from rememberd.store.search import Words

    Floats = NDArray[np.float32]


def order(
    outline: Outline,
    words: Words,
    vector: Any,
    likeness: tuple[float, float],
    filters: Filters,
    author: str | None,
    limit: int | None,
) -> tuple[list[int], list[float]]:
    """Seqs of what passes the filters, best first, at most `limit`, and the score shown of each.

    `vector` is the query's, None without a model; `likeness` is `Embedder.likeness` of that model.
    `author`: whose memories to prefer.
    """
    if not len(outline.seqs):
        return [], []
    share = ranking.shared_words(_rows(outline, words), len(outline.seqs))
    meaning = _by_meaning(outline, vector)
    scores = ranking.fuse(
        share,
        meaning,
        ranking.Neighbours(outline.before, outline.after),
        tokens=outline.tokens,
        prior=ranking.prior_of(outline.at, outline.importance),
        authors=_by_author(outline, author),
    )
    rows = ranking.best(scores, outline.allowed(filters), limit)
    shown = ranking.shown(share[rows], None if meaning is None else meaning[rows], likeness)
    return outline.seqs[rows].tolist(), shown.tolist()


def _rows(outline: Outline, words: Words) -> list[NDArray[np.int64]]:
    """Rows that hold each word. The outline may be older than the index by what came in between."""
    newest = outline.seqs[-1]
    return [outline.rows_of(seqs[seqs <= newest]) for seqs in words.holders]


def _by_author(outline: Outline, author: str | None) -> NDArray[np.bool_] | None:
    number = None if author is None else outline.author_numbers.get(author)
    return None if number is None else outline.authors == number


def _by_meaning(outline: Outline, vector: Any) -> Floats | None:
    """The best passage's cosine; NaN for a memory without a vector."""
    if vector is None or outline.matrix is None:
        return None
    cosines = ranking.scan(outline.matrix, outline.lengths, vector)
    return ranking.best_passage(cosines, outline.owner, len(outline.seqs))

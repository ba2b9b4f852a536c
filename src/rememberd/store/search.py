"""Candidates for a search: which memories hold which words of the query.

Reads only. Ranking itself is `engine/ranking.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rememberd.store import analysis
from rememberd.store.transaction import Transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Words:
    """For each distinct word of the query, the memories (seqs, ascending) that hold it."""

    holders: Sequence[NDArray[np.int64]]


def match(tx: Transaction, query: str) -> Words:
    """Which memories hold which words of the query; none for a query without words."""
    return Words([_holders(tx, term) for term in analysis.query_terms(query)])


def _holders(tx: Transaction, term: str) -> NDArray[np.int64]:
    import numpy as np  # noqa: PLC0415 - 0.1 s at start-up; a search has loaded it by now

    # One text of numbers: a row for each would cost twice as much.
    listed = tx.value("holders", term=analysis.match_expression([term]))
    return np.fromstring(listed or "", np.int64, sep=",")

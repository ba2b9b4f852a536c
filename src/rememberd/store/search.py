"""Candidates for a search: how memories match the words of a query, and the outline to rank by.

Reads only. Ranking itself is `engine/ranking.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rememberd.store import analysis
from rememberd.store.transaction import Transaction

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# From this many memories on, words that stand in more than this share of them are left out, as long
# as rarer ones remain: they cost most of the time and tell least.
LARGE, COMMON = 20_000, 0.05


@dataclass(frozen=True, slots=True)
class Words:
    """For each distinct word of the query, the memories (seqs, ascending) that hold it."""

    holders: Sequence[NDArray[np.int64]]


def match(tx: Transaction, query: str, memories: int) -> Words:
    """Which memories hold which words of the query; none for a query without words."""
    terms = analysis.query_terms(query)
    if memories >= LARGE:
        terms = _rare(tx, terms, memories)
    return Words([_holders(tx, term) for term in terms])


def _holders(tx: Transaction, term: str) -> NDArray[np.int64]:
    import numpy as np  # noqa: PLC0415 - 0.1 s at start-up; a search has loaded it by now

    # One text of numbers: a row for each would cost twice as much.
    listed = tx.value("holders", term=analysis.match_expression([term]))
    return np.fromstring(listed or "", np.int64, sep=",")


def _rare(tx: Transaction, terms: list[str], memories: int) -> list[str]:
    found = dict(tx.tuples("term_frequencies", terms=json.dumps(terms)))
    rare = [term for term in terms if found.get(term, 0) <= COMMON * memories]
    held = [term for term in rare if term in found]
    return rare if held else [*rare, *sorted(found, key=lambda term: found[term])[:1]]

"""Candidates for a search: how memories match the words of a query, and the outline to rank by.

Reads only. Ranking itself is `engine/ranking.py`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from rememberd.store import analysis
from rememberd.store.transaction import Transaction

# From this many memories on, words that stand in more than this share of them are left out, as long
# as rarer ones remain: they cost most of the time and tell least.
LARGE, COMMON = 20_000, 0.05


@dataclass(frozen=True, slots=True)
class Words:
    """Which memories (by seq, ascending) match the query, how well, and how rare its words are."""

    seqs: Sequence[int]
    scores: Sequence[float]
    frequencies: dict[str, int]  #: query term → memories that hold it


def match(tx: Transaction, query: str, memories: int) -> Words:
    """Every memory that holds a word of the query; nothing for a query without words."""
    terms = analysis.query_terms(query)
    found = dict(tx.tuples("term_frequencies", terms=json.dumps(terms)))
    frequencies = {term: int(found.get(term, 0)) for term in terms}
    asked = [term for term in terms if frequencies[term]]
    if memories >= LARGE:
        rare = [term for term in asked if frequencies[term] <= COMMON * memories]
        asked = rare or sorted(asked, key=lambda term: frequencies[term])[:1]
    if not asked:
        return Words((), (), frequencies)
    rows = sorted(tx.tuples("words", expression=analysis.match_expression(asked)))
    return Words([row[0] for row in rows], [row[1] for row in rows], frequencies)

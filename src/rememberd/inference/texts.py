"""Texts on their way to a model: made printable, and cut into passages that fit it.

A passage is made of whole words and overlaps the next; no word is lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Purpose = Literal["query", "memory"]

_WORD = re.compile(r"\S+")
_LONG_WORD = 64

#: For models whose tokenizer we do not have: three bytes are about one token in any script, and
#: 512 tokens is the smallest window in wide use.
MOST_BYTES, OVERLAP_BYTES = 1_500, 200


@dataclass(frozen=True, slots=True)
class Piece:
    """What is not cut further: a stretch of text and its cost in the model's window."""

    start: int
    end: int
    cost: int


def printable(text: str) -> str:
    """The text as tokenizers and JSON take it: a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def pack(pieces: Sequence[Piece], most: int, overlap: int) -> list[tuple[int, int]]:
    """Spans of at most `most` cost that share about `overlap` with the next; all pieces covered."""
    spans: list[tuple[int, int]] = []
    first = 0
    while first < len(pieces):
        last = _fill(pieces, first, most)
        spans.append((pieces[first].start, pieces[last - 1].end))
        if last == len(pieces):
            break
        first = _step_back(pieces, first, last, overlap)
    return spans


def by_bytes(text: str) -> list[str]:
    """Passages of at most 1,500 bytes; [text] when it is no longer."""
    if len(text) <= MOST_BYTES and len(text.encode("utf-8", "replace")) <= MOST_BYTES:
        return [text]
    pieces = [piece for word in _WORD.finditer(text) for piece in _pieces(text, *word.span())]
    return [text[start:end] for start, end in pack(pieces, MOST_BYTES, OVERLAP_BYTES)] or [text]


def words(text: str) -> list[tuple[int, int]]:
    """Where each run without white space starts and ends."""
    return [word.span() for word in _WORD.finditer(text)]


def _pieces(text: str, start: int, end: int) -> list[Piece]:
    """One word; or its characters, when the script has no spaces or it is no word at all."""
    cost = len(text[start:end].encode("utf-8", "replace"))
    if cost <= _LONG_WORD:
        return [Piece(start, end, cost + 1)]
    return [Piece(i, i + 1, len(text[i].encode("utf-8", "replace"))) for i in range(start, end)]


def _fill(pieces: Sequence[Piece], first: int, most: int) -> int:
    """The end of the fullest span from `first`; at least one piece, even if it is too large."""
    size, last = pieces[first].cost, first + 1
    while last < len(pieces) and size + pieces[last].cost <= most:
        size += pieces[last].cost
        last += 1
    return last


def _step_back(pieces: Sequence[Piece], first: int, last: int, overlap: int) -> int:
    """Where the next span starts: before `last`, but always after `first`."""
    shared = 0
    while last - 1 > first and shared + pieces[last - 1].cost <= overlap:
        last -= 1
        shared += pieces[last].cost
    return last

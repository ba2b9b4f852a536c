"""Cursors of date search: opaque strings that carry everything the next page needs. Pure.

They hold times and places in the order of arrival, never text. A checksum tells a mistyped cursor
from a real one; it is no protection, and need not be: a cursor only ever narrows.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from rememberd.clock import from_micros, to_micros
from rememberd.errors import InvalidInput

_PLACE, _SHOWN = "t1.", "r1."
_NUMBERS = struct.Struct(">qqq")
_MOST_BYTES = 4_000_000  # of numbers in one cursor: about one for each memory that was shown
_WIDEST = 63  # bits of a number


@dataclass(frozen=True, slots=True)
class Place:
    """Time order: the window's start, and the memory (`at` in microseconds, seq) to go on after."""

    since: datetime
    at: int
    seq: int


@dataclass(frozen=True, slots=True)
class Shown:
    """Ranked: what was shown already, and the newest memory that existed at the first page."""

    since: datetime
    newest: int
    seqs: frozenset[int]


def is_cursor(text: str) -> bool:
    """A date or time never looks like this."""
    return text.startswith((_PLACE, _SHOWN))


def write_place(place: Place) -> str:
    return _wrap(_PLACE, _NUMBERS.pack(to_micros(place.since), place.at, place.seq))


def read_place(cursor: str) -> Place:
    """Raises InvalidInput for a damaged cursor, or one of a ranked search."""
    body = _unwrap(_PLACE, cursor, "This cursor belongs to a search with a query: send the query.")
    since, at, seq = _NUMBERS.unpack_from(body)
    return Place(_moment(since), at, seq)


def write_shown(shown: Shown, query: str) -> str:
    head = _NUMBERS.pack(to_micros(shown.since), shown.newest, _of_query(query))
    return _wrap(_SHOWN, head + zlib.compress(_gaps(sorted(shown.seqs)), 9))


def read_shown(cursor: str, query: str) -> Shown:
    """Raises InvalidInput for a damaged cursor, one of another query, or one in time order."""
    body = _unwrap(_SHOWN, cursor, "This cursor belongs to a search without a query: leave it out.")
    since, newest, of_query = _NUMBERS.unpack_from(body)
    if of_query != _of_query(query):
        raise InvalidInput("from: this cursor belongs to another query.", field="from")
    return Shown(_moment(since), newest, frozenset(_sums(_inflate(body[_NUMBERS.size :]))))


def _of_query(query: str) -> int:
    return int.from_bytes(hashlib.sha256(query.encode()).digest()[:7], "big")


def _wrap(kind: str, body: bytes) -> str:
    checked = body + zlib.crc32(body).to_bytes(4, "big")
    return kind + base64.urlsafe_b64encode(checked).decode().rstrip("=")


def _unwrap(kind: str, cursor: str, otherwise: str) -> bytes:
    if not cursor.startswith(kind):
        raise InvalidInput(f"from: {otherwise}", field="from")
    text = cursor.removeprefix(kind)
    try:
        checked = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        checked = b""
    body, check = checked[:-4], checked[-4:]
    if len(body) < _NUMBERS.size or zlib.crc32(body).to_bytes(4, "big") != check:
        raise _damaged()
    return body


def _damaged() -> InvalidInput:
    return InvalidInput(
        "from: this cursor is damaged. Repeat next_from exactly, or start again with a date.",
        field="from",
    )


# Anybody can make up a cursor with a correct checksum, so its parts are not trusted either.


def _moment(micros: int) -> datetime:
    try:
        return from_micros(micros)
    except OverflowError:
        raise _damaged() from None


def _inflate(data: bytes) -> bytes:
    unpacker = zlib.decompressobj()
    try:
        numbers = unpacker.decompress(data, _MOST_BYTES)
    except zlib.error:
        raise _damaged() from None
    if not unpacker.eof:
        raise _damaged()
    return numbers


def _gaps(numbers: Iterable[int]) -> bytes:
    """Ascending numbers as LEB128 differences: about a byte each."""
    out = bytearray()
    last = 0
    for number in numbers:
        gap, last = number - last, number
        while gap > 127:
            out.append(gap & 127 | 128)
            gap >>= 7
        out.append(gap)
    return bytes(out)


def _sums(data: bytes) -> list[int]:
    numbers: list[int] = []
    last = gap = shift = 0
    for byte in data:
        gap |= (byte & 127) << shift
        shift += 7
        if shift > _WIDEST:
            raise _damaged()
        if byte < 128:
            last += gap
            numbers.append(last)
            gap = shift = 0
    return numbers

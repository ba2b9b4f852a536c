"""A cursor comes back as it went out; anything else is refused with a reason."""

from __future__ import annotations

import base64
import struct
import tracemalloc
import zlib
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rememberd.clock import EPOCH
from rememberd.engine import cursors
from rememberd.engine.cursors import Place, Shown
from rememberd.errors import InvalidInput

SINCE = datetime(2026, 11, 1, tzinfo=UTC)
PLACE = Place(SINCE, 1_790_000_000_000_000, 42)
SHOWN = Shown(SINCE, 900, frozenset({1, 2, 3, 500, 900}))
QUERY = "what about pears?"

moments = st.datetimes(timezones=st.just(UTC))
seqs = st.integers(0, 2**62)


@given(since=moments, at=st.integers(-(2**62), 2**62), seq=seqs)
def test_a_place_survives_its_cursor(since: datetime, at: int, seq: int) -> None:
    place = Place(since, at, seq)
    cursor = cursors.write_place(place)
    assert cursors.is_cursor(cursor)
    assert cursors.read_place(cursor) == place


@settings(max_examples=50)
@given(
    since=moments,
    newest=seqs,
    shown=st.frozensets(seqs, max_size=20),
    query=st.text(max_size=20),
)
def test_what_was_shown_survives_its_cursor(
    since: datetime, newest: int, shown: frozenset[int], query: str
) -> None:
    query = query.encode("utf-8", "replace").decode()
    before = Shown(since, newest, shown)
    assert cursors.read_shown(cursors.write_shown(before, query), query) == before


def test_a_cursor_for_ten_thousand_memories_stays_small() -> None:
    every_other = frozenset(range(1, 20_000, 2))
    cursor = cursors.write_shown(Shown(SINCE, 20_000, every_other), QUERY)
    assert len(cursor) < 1_000
    scattered = frozenset(number * 7 + number * number % 5 for number in range(10_000))
    assert len(cursors.write_shown(Shown(SINCE, 80_000, scattered), QUERY)) < 20_000


@given(cut=st.integers(1, 60), swap=st.integers(0, 60), by=st.sampled_from("A_-z9 =\n%é\ud800"))
def test_a_damaged_cursor_is_refused(cut: int, swap: int, by: str) -> None:
    for cursor in (cursors.write_place(PLACE), cursors.write_shown(SHOWN, QUERY)):
        _refuse(cursor[: max(3, len(cursor) - cut)])
        at = 3 + swap % (len(cursor) - 4)  # the last character holds bits that say nothing
        if cursor[at] != by:
            _refuse(cursor[:at] + by + cursor[at + 1 :])


def _refuse(cursor: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        cursors.read_place(cursor)
    assert caught.value.field == "from"
    with pytest.raises(InvalidInput) as caught:
        cursors.read_shown(cursor, QUERY)
    assert caught.value.field == "from"


def test_a_cursor_of_the_other_kind_says_what_to_do() -> None:
    with pytest.raises(InvalidInput, match="send the query"):
        cursors.read_place(cursors.write_shown(SHOWN, QUERY))
    with pytest.raises(InvalidInput, match="leave it out"):
        cursors.read_shown(cursors.write_place(PLACE), QUERY)


def test_a_cursor_of_another_query_is_refused() -> None:
    with pytest.raises(InvalidInput, match="another query"):
        cursors.read_shown(cursors.write_shown(SHOWN, QUERY), "what about plums?")


# -- made up, with a checksum that holds -------------------------------------------------------

NUMBERS = struct.Struct(">qqq")


def made_up(kind: str, body: bytes) -> str:
    checked = body + zlib.crc32(body).to_bytes(4, "big")
    return kind + base64.urlsafe_b64encode(checked).decode().rstrip("=")


def shown_with(numbers: bytes, since: int = 0) -> str:
    of_query = cursors.write_shown(SHOWN, QUERY)
    body = base64.urlsafe_b64decode(of_query[3:] + "==")
    [query] = struct.unpack_from(">q", body, 16)
    return made_up("r1.", NUMBERS.pack(since, 1, query) + numbers)


@pytest.mark.parametrize("since", [2**63 - 1, -(2**63), 10**18])
def test_a_time_beyond_the_calendar_is_refused(since: int) -> None:
    with pytest.raises(InvalidInput, match="damaged"):
        cursors.read_place(made_up("t1.", NUMBERS.pack(since, 0, 0)))
    with pytest.raises(InvalidInput, match="damaged"):
        cursors.read_shown(shown_with(zlib.compress(b"\x01"), since), QUERY)


@pytest.mark.parametrize("numbers", [b"", b"not compressed", zlib.compress(b"\x01\x02" * 99)[:-5]])
def test_numbers_that_cannot_be_unpacked_are_refused(numbers: bytes) -> None:
    with pytest.raises(InvalidInput, match="damaged"):
        cursors.read_shown(shown_with(numbers), QUERY)


@pytest.mark.parametrize("numbers", [b"\x00" * 200_000_000, b"\xff" * 3_000_000])
def test_a_cursor_that_would_unpack_into_all_memory_is_refused_cheaply(numbers: bytes) -> None:
    cursor = shown_with(zlib.compress(numbers, 1))
    tracemalloc.start()
    with pytest.raises(InvalidInput, match="damaged"):
        cursors.read_shown(cursor, QUERY)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 40_000_000


def test_the_epoch_is_a_time_like_any_other() -> None:
    assert cursors.read_place(cursors.write_place(Place(EPOCH, 0, 0))) == Place(EPOCH, 0, 0)

"""Ranking: which memories come first, and that the score shown is honest."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from rememberd.engine import ranking
from rememberd.engine.ranking import Neighbours
from rememberd.inference.vectors import quantise

ALONE = Neighbours(np.full(5, -1), np.full(5, -1))
THREAD = Neighbours(np.arange(5) - 1, np.array([1, 2, 3, 4, -1]))
LIKENESS = (0.2, 0.7)
NAN = float("nan")


def floats(*values: float) -> NDArray[np.float32]:
    return np.array(values, dtype=np.float32)


def lengths(matrix: NDArray[np.int8]) -> NDArray[np.float32]:
    return np.linalg.norm(matrix.astype(np.float32), axis=1)


def order(scores: NDArray[np.float32]) -> list[int]:
    return ranking.best(scores, np.ones(len(scores), bool), None).tolist()


# --- words -------------------------------------------------------------------------------------


def test_a_memory_shares_the_words_it_holds_and_rare_words_count_most() -> None:
    common, rare = np.array([0, 1, 2, 3]), np.array([4])
    share = ranking.shared_words([common, rare], 5)
    assert share[4] > share[0] == share[3] > 0
    assert ranking.shared_words([common, common], 5)[0] == pytest.approx(1)


def test_words_that_no_memory_holds_keep_everything_low() -> None:
    known = ranking.shared_words([np.array([0])], 100)
    half_known = ranking.shared_words([np.array([0]), np.array([], np.int64)], 100)
    assert known[0] == pytest.approx(1)
    assert half_known[0] < 0.5


def test_two_of_the_words_in_one_memory_say_more_than_twice_as_much_as_one() -> None:
    both, one, none, *_ = ranking.fuse(floats(1, 0.5, 0, 0, 0), floats(0, 0, 0, 0, 0), ALONE)
    assert both - none > 2 * (one - none) > 0


def test_a_long_text_needs_more_than_the_same_words() -> None:
    words = floats(0.8, 0.8, 0, 0, 0)
    tokens = np.array([20, 8000, 20, 20, 20], np.int32)
    assert order(ranking.fuse(words, None, ALONE, tokens=tokens)) == [0, 1]


# --- meaning -----------------------------------------------------------------------------------


def test_meaning_finds_what_shares_no_word() -> None:
    assert order(ranking.fuse(floats(0, 0, 0, 0, 0), floats(0, 0, 0.6, 0, 0.1), ALONE))[0] == 2


def test_a_memory_without_a_vector_yet_is_found_by_its_words() -> None:
    scores = ranking.fuse(floats(0, 0, 0, 0.9, 0), floats(0.3, 0.2, 0.1, NAN, 0.2), ALONE)
    assert order(scores)[0] == 3


def test_a_memory_without_a_vector_yet_is_no_better_than_average_by_meaning() -> None:
    scores = ranking.fuse(floats(0, 0, 0, 0, 0), floats(0.9, NAN, 0.1, 0.2, 0.3), ALONE)
    assert order(scores).index(1) in (1, 2)


def test_vectors_are_compared_by_direction_alone() -> None:
    vectors = np.random.default_rng(1).standard_normal((1000, 64), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    matrix = np.frombuffer(b"".join(quantise(vectors)), np.int8).reshape(vectors.shape)
    found = ranking.scan(matrix, lengths(matrix), vectors[700] * 3)
    assert found == pytest.approx(vectors @ vectors[700], abs=0.02)
    assert found.argmax() == 700


def test_scanning_nothing_and_zeros_gives_no_nan() -> None:
    query = floats(1, 0)
    none, zeros, ones = (np.full((rows, 2), rows // 2, np.int8) for rows in (0, 1, 2))
    assert ranking.scan(none, lengths(none), query).tolist() == []
    assert ranking.scan(zeros, lengths(zeros), query).tolist() == [0]
    assert ranking.scan(ones, lengths(ones), floats(0, 0)).tolist() == [0, 0]


def test_the_best_passage_speaks_for_a_memory() -> None:
    best = ranking.best_passage(floats(0.1, 0.7, 0.3), np.array([0, 0, 2]), 3)
    assert best[[0, 2]] == pytest.approx([0.7, 0.3])
    assert np.isnan(best[1])


# --- neighbours --------------------------------------------------------------------------------


def test_neighbours_in_a_thread_are_lifted_and_nearer_ones_more() -> None:
    assert order(ranking.fuse(floats(1, 0, 0, 0, 0), floats(0, 0, 0, 0, 0), THREAD))[:3] == [
        0,
        1,
        2,
    ]


def test_neighbours_outside_the_thread_are_not() -> None:
    scores = ranking.fuse(floats(0, 0, 1, 0, 0), floats(0, 0, 0, 0, 0), ALONE)
    assert len({float(score) for row, score in enumerate(scores) if row != 2}) == 1


def test_without_a_model_only_words_and_their_neighbourhood_are_shown() -> None:
    scores = ranking.fuse(floats(1, 0, 0, 0, 0), None, THREAD)
    assert order(scores) == [0, 1, 2]
    assert order(ranking.fuse(floats(0, 0, 0, 0, 0), None, THREAD)) == []


@pytest.mark.parametrize("memories", [2, 3, 5, 50, 500])
def test_a_memory_without_a_vector_that_alone_holds_the_query_comes_first(memories: int) -> None:
    """Whatever the others mean: it was stored a moment ago, and its vector comes in another."""
    draw = np.random.default_rng(memories)
    for _ in range(50):
        words = np.zeros(memories, np.float32)
        meaning = draw.normal(0.7, 0.05, memories).astype(np.float32)
        words[0], meaning[0] = 1, NAN
        meaning[1] += 0.25  # sounds like it
        neighbours = Neighbours(np.full(memories, -1), np.full(memories, -1))
        assert order(ranking.fuse(words, meaning, neighbours))[0] == 0


# --- what breaks ties, and authors -------------------------------------------------------------


def test_recent_and_important_memories_win_only_between_near_equals() -> None:
    day = 86_400_000_000
    prior = ranking.prior_of(
        np.array([0, 0, 0, 0, 1000 * day]), np.array([0, 0, 0, 10, 0], np.int8)
    )
    assert prior.min() >= 0
    assert prior.max() <= 1
    level = ranking.fuse(floats(0.5, 0.5, 0.5, 0.5, 0.5), floats(0, 0, 0, 0, 0), ALONE, prior=prior)
    assert set(order(level)[:2]) == {3, 4}
    better = ranking.fuse(
        floats(0.7, 0.5, 0.5, 0.5, 0.5), floats(0, 0, 0, 0, 0), ALONE, prior=prior
    )
    assert order(better)[0] == 0


def test_the_named_authors_memories_come_first_among_near_equals() -> None:
    words, meaning = floats(0.5, 0.4, 0, 0, 0), floats(0.3, 0.3, 0, 0, 0)
    assert order(ranking.fuse(words, meaning, ALONE))[0] == 0
    by_author = ranking.fuse(
        words, meaning, ALONE, authors=np.array([False, True, False, False, False])
    )
    assert order(by_author)[0] == 1


def test_equal_memories_come_latest_first() -> None:
    assert order(floats(1, 1, 2, 1, 1)) == [2, 4, 3, 1, 0]
    assert ranking.best(floats(1, 1, 2, 1, 1), np.ones(5, bool), 3).tolist() == [2, 4, 3]


def test_what_the_filters_exclude_is_never_shown_but_still_helps_its_neighbours() -> None:
    scores = ranking.fuse(floats(0, 1, 0, 0, 0), None, THREAD)
    allowed = np.array([True, False, True, True, True])
    shown = ranking.best(scores, allowed, 10).tolist()
    assert (set(shown[:2]), shown[2:]) == ({0, 2}, [3])


# --- the score people see ----------------------------------------------------------------------


def test_all_the_words_or_the_full_meaning_is_shown_as_one() -> None:
    shown = ranking.shown(floats(1, 0), floats(0.2, 0.7), LIKENESS)
    assert shown == pytest.approx([1, 1])


def test_the_best_of_a_nonsense_query_is_shown_as_little() -> None:
    shown = ranking.shown(floats(0.2, 0), floats(0.3, 0.1), LIKENESS)
    assert shown[0] < 0.1
    assert shown[1] == 0


def test_half_the_words_are_shown_as_a_quarter_and_a_missing_vector_as_nothing_more() -> None:
    assert ranking.shown(floats(0.5), floats(NAN), LIKENESS) == pytest.approx([0.25])
    assert ranking.shown(floats(0.5), None, LIKENESS) == pytest.approx([0.25])


# --- anything ----------------------------------------------------------------------------------


def test_an_empty_vault_and_a_single_memory_can_be_searched() -> None:
    nothing, nobody = floats(), Neighbours(np.empty(0, np.int64), np.empty(0, np.int64))
    empty, no_tokens = np.empty(0, np.int64), np.empty(0, np.int32)
    prior = ranking.prior_of(empty, np.empty(0, np.int8))
    assert order(ranking.fuse(nothing, nothing, nobody, prior=prior, tokens=no_tokens)) == []
    assert order(ranking.fuse(nothing, None, nobody)) == []
    assert ranking.shared_words([empty], 0).tolist() == []
    one = Neighbours(np.array([-1]), np.array([-1]))
    assert order(ranking.fuse(floats(0), floats(NAN), one)) == [0]
    assert order(ranking.fuse(floats(1), None, one)) == [0]


SHARE = st.floats(0, 1, width=32)
COSINE = st.one_of(st.floats(-1, 1, width=32), st.just(NAN))


@given(
    st.lists(st.tuples(SHARE, COSINE, st.integers(0, 2), st.integers(1, 9000)), max_size=30),
    st.booleans(),
    st.integers(1, 40),
)
def test_scores_are_numbers_and_each_memory_comes_once(
    memories: list[tuple[float, float, int, int]], has_model: bool, limit: int
) -> None:
    words = floats(*(memory[0] for memory in memories))
    meaning = floats(*(memory[1] for memory in memories)) if has_model else None
    threads = [memory[2] for memory in memories]
    tokens = np.array([memory[3] for memory in memories], np.int32)
    scores = ranking.fuse(words, meaning, _neighbours(threads), tokens=tokens)
    assert not np.isnan(scores).any()
    rows = ranking.best(scores, np.ones(len(memories), bool), limit).tolist()
    assert len(set(rows)) == len(rows) <= limit
    assert sorted(rows, key=lambda row: (-scores[row], -row)) == rows
    shown = ranking.shown(words, meaning, LIKENESS)
    assert ((shown >= 0) & (shown <= 1)).all()


def _neighbours(threads: list[int]) -> Neighbours:
    before, after = np.full(len(threads), -1), np.full(len(threads), -1)
    last: dict[int, int] = {}
    for row, thread in enumerate(threads):
        if thread in last:
            before[row], after[last[thread]] = last[thread], row
        last[thread] = row
    return Neighbours(before, after)

"""Text analysis: what finds what, in every script, and that no text whatever breaks it."""

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import apsw
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rememberd.store.analysis import (
    MAX_TERM,
    date_terms,
    index_terms,
    leading_author,
    match_expression,
    query_terms,
    without_authors,
)

ANY_TEXT = st.text(st.characters(codec=None), max_size=200)


def finds(query: str, text: str) -> bool:
    return bool(set(query_terms(query)) & set(index_terms(text).split()))


def finds_by_all_its_words(query: str, text: str) -> bool:
    return set(query_terms(query)) <= set(index_terms(text).split())


@pytest.mark.parametrize(
    "query, text",
    [
        ("orchid7419", "The release phrase is ORCHID-7419."),
        ("orchid 7419", "The release phrase is ORCHID-7419."),
        ("ORCHID-7419", "The release phrase is ORCHID-7419."),
        ("7419", "The release phrase is ORCHID-7419."),
        ("ORCHID-7419", "orchid7419"),
        ("2.1.3", "we run v2.1.3 now"),
        ("v2.1.3", "we run v2.1.3 now"),
        ("foo bar", "def foo_bar():"),
        ("foobar", "def foo_bar():"),
        ("example.com", "mail bob@example.com"),
        ("user name", "the userName field"),
        ("username", "the userName field"),
        ("http server", "class HTTPServer"),
        ("selfcare", "self-care matters"),
        ("1000", "it cost 1,000 euros"),
        ("May 8", "the 8th of May"),
    ],
)
def test_an_identifier_is_found_by_its_parts_and_by_any_spelling(query: str, text: str) -> None:
    assert finds(query, text)


@pytest.mark.parametrize(
    "query, text",
    [
        ("muller", "Herr Müller"),
        ("MÜLLER", "muller"),
        ("cafe", "cafe\u0301"),
        ("strasse", "Straße"),
        ("istanbul", "İSTANBUL"),
        ("lodz", "Łódź"),
        ("smorrebrod", "smørrebrød"),
        ("tieng viet", "Tiếng Việt"),
        ("ορφευσ", "ΟΡΦΕΎΣ"),
        ("елка", "ёлка"),
        ("العربية", "العَرَبِيَّة"),
        ("שלום", "שָׁלוֹם"),
        ("orchid 89", "ＯＲＣＨＩＤ ８９"),
        ("42", "٤٢"),
    ],
)
def test_case_accents_points_width_and_script_of_digits_make_no_difference(
    query: str, text: str
) -> None:
    assert finds_by_all_its_words(query, text)


@pytest.mark.parametrize(
    "query, text",
    [
        ("東京", "昨日東京タワーに行った"),
        ("京", "昨日東京タワーに行った"),
        ("図書館", "図書館で会う"),
        ("图书馆", "我在图书馆"),
        ("도서관", "도서관에서"),
        ("สวัสดี", "สวัสดีครับ"),
        ("ガス", "ｶﾞｽ料金"),
        ("2023年", "2023年5月"),
        ("𠮷野", "𠮷野家"),
    ],
)
def test_words_are_found_inside_runs_of_scripts_without_spaces(query: str, text: str) -> None:
    assert finds_by_all_its_words(query, text)


@pytest.mark.parametrize(
    "query, text",
    [("大阪", "東京と大学"), ("が", "か"), ("किताब", "कुतुब"), ("👍", "👎"), ("🇩🇪", "🇫🇷")],
)
def test_what_differs_in_meaning_is_kept_apart(query: str, text: str) -> None:
    assert not finds(query, text)


@pytest.mark.parametrize(
    "query, text",
    [
        ("🍕", "we had 🍕🍕"),
        ("👍", "👍🏽"),
        ("👩\u200d💻", "👩🏽\u200d💻"),
        ("💻", "👩🏽\u200d💻"),
        ("❤", "❤️"),
        ("🇩🇪", "in 🇩🇪🇫🇷"),
        ("हिन्दी", "मैं हिन्दी बोलता हूँ"),
    ],
)
def test_emoji_and_words_with_signs_are_found(query: str, text: str) -> None:
    assert finds_by_all_its_words(query, text)


@pytest.mark.parametrize(
    "query, text",
    [("running", "she runs"), ("adopt a child", "adoption of children"), ("parties", "the party")],
)
def test_english_words_are_found_in_other_forms(query: str, text: str) -> None:
    assert finds(query, text)


def test_a_question_is_asked_without_its_function_words() -> None:
    assert query_terms("What did Caroline's sister do with it?") == ["carolin", "sister"]


def test_a_query_of_nothing_but_function_words_falls_back_to_them() -> None:
    assert query_terms("To be or not to be") == ["to", "be", "or", "not"]
    assert finds("who is it", "it is what it is")


@pytest.mark.parametrize("text", ["", "   ", "?!...", "\0\n", "\ud800", "\u200b\u200d"])
def test_text_without_words_gives_no_terms_and_an_expression_that_matches_nothing(
    text: str,
) -> None:
    assert index_terms(text) == ""
    assert query_terms(text) == []
    assert match_expression(query_terms(text)) == ""


def test_a_day_is_found_by_every_way_to_say_it() -> None:
    terms = set(date_terms(datetime(2023, 5, 8, 13, 56, tzinfo=UTC)).split())
    for query in ("2023-05-08", "8 May 2023", "in May", "last Monday, May 8th", "2023"):
        assert set(query_terms(query)) & terms, query


def test_a_day_is_told_in_utc() -> None:
    evening = datetime(2023, 5, 8, 22, 0, tzinfo=timezone(-timedelta(hours=5)))
    assert "tuesday" in date_terms(evening).split()


@given(ANY_TEXT)
@example("\ud800\udc00")
@example("a\0b")
@example("İı\u0345")
@example("क" * 200 + "\u093f" * 200)
def test_no_text_breaks_it_and_a_text_with_a_letter_or_digit_finds_itself(text: str) -> None:
    terms, asked = index_terms(text).split(), query_terms(text)
    assert set(asked) <= set(terms)
    plain = unicodedata.normalize("NFKC", text)
    if any(c.isalpha() or c.isdecimal() for c in plain):
        assert asked
    date_terms(datetime(2024, 2, 29, tzinfo=UTC))
    leading_author(text)
    without_authors(text, {text.casefold()})


@given(ANY_TEXT)
@example("\u0e01" + "\u0e34" * 200)
@example("\U0001f469\u200d" * 50)
def test_terms_are_short_enough_to_index(text: str) -> None:
    assert all(len(term) <= MAX_TERM for term in index_terms(text * 40).split())


def test_every_term_is_one_token_to_the_text_index() -> None:
    """Else a term would be split, and a search for it be a search for a phrase or for nothing."""
    code_points = [*range(0x10000), *range(0x10000, 0x110000, 61)]
    terms = sorted({term for code in code_points for term in index_terms(chr(code) + "a").split()})
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'ascii')")
    connection.execute("CREATE VIRTUAL TABLE v USING fts5vocab (t, 'row')")
    with connection:
        connection.executemany("INSERT INTO t VALUES (?)", [(term,) for term in terms])
    assert sorted(term for (term,) in connection.execute("SELECT term FROM v")) == terms
    connection.close()


@given(st.lists(ANY_TEXT, max_size=5))
def test_any_query_makes_an_expression_that_the_text_index_accepts(texts: list[str]) -> None:
    expression = match_expression(query_terms(' ") OR x:( '.join(texts)))
    connection = apsw.Connection(":memory:")
    connection.execute("CREATE VIRTUAL TABLE t USING fts5 (x, tokenize = 'ascii')")
    if expression:
        connection.execute("SELECT count(*) FROM t WHERE t MATCH ?", (expression,)).fetchall()
    connection.close()


@pytest.mark.parametrize(
    "text, author",
    [
        ("Caroline: I went there", "caroline"),
        ("Dr. Smith: rest", "dr smith"),
        ("Mary Ann O\u2019Brien: hi", "mary ann o'brien"),
        ("田中：東京", "田中"),
        ("https://example.com: down", None),
        ("at 10:30 we met", None),
        ("I said that the following is true: yes", None),
        ("Caroline:", None),
        ("", None),
    ],
)
def test_the_author_is_who_a_memory_opens_with(text: str, author: str | None) -> None:
    assert leading_author(text) == author


def test_names_of_authors_are_taken_out_of_a_query_and_told() -> None:
    known = {"caroline", "dr smith"}
    assert without_authors("When did Caroline's dog meet dr. smith?", known) == (
        "When did  dog meet ?",
        ["caroline", "dr smith"],
    )
    assert without_authors("When did Melanie go?", known) == ("When did Melanie go?", [])
    assert without_authors("Carolines", known) == ("Carolines", [])


def test_a_query_of_nothing_but_a_name_stays_whole() -> None:
    assert without_authors("Caroline?", {"caroline"}) == ("Caroline?", ["caroline"])

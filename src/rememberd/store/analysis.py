"""Turns text into index terms, and questions into the terms that find them.

One analysis for indexing and for querying, so both sides always agree; the database's own tokenizer
only ever splits our output at spaces. It never raises, whatever the text, and never does I/O.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from itertools import pairwise

import Stemmer

#: Raise it whenever the same text gives other terms than before: stored indexes are then rebuilt.
ANALYSIS_VERSION = 1

#: Longest term, in characters. Longer words are cut, on both sides alike.
MAX_TERM = 64
_MOST_MARKS = 8

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

# English function and question words. They are indexed (a query may consist of nothing else), but
# leave a query that has better ones.
_FUNCTION_WORDS = """
    a about after all also am an and any are aren as at be because been before being both but by
    can could couldn did didn do does doesn doing don down during each few for from further get go
    going got had hadn has hasn have haven having he her here hers herself him himself his how i if
    in into is isn it its itself just ll me more most mustn my myself no nor not now of off on once
    only or other our ours ourselves out over own re s same shan she should shouldn so some such t
    than that the their theirs them themselves then there these they this those through to too under
    until up ve very was wasn we were weren what when where which while who whom whose why will with
    won would wouldn you your yours yourself yourselves
    arent couldnt didnt doesnt dont hadnt hasnt havent isnt mustnt shouldnt wasnt werent wont
    wouldnt im ive ill youre youve theyre theyve weve
"""
_STOP_WORDS = frozenset(_FUNCTION_WORDS.split())

# Letters that Unicode does not decompose into a base letter and an accent.
_BASE_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)

# Scripts written without spaces between words: indexed as single characters and overlapping pairs.
_UNSPACED = re.compile(
    "[\u0e00-\u0fff\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff"
    "\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)

# The text is first rewritten as a string of kinds, one letter per character, so that the grammar of
# units can be said as regular expressions over kinds:
#   A upper case, a any other letter or mark, 0 digit, g unspaced script, m mark on one of those,
#   e emoji, r regional indicator (two make a flag), z joiner, v variation or skin tone,
#   - connector within a word, comma, space for everything else.
_UNIT = re.compile(r"[Aam0]+(?:-[Aam0]+|(?<=0),(?=0)0+)*|(?:gm*)+|rr?|ev*(?:zev*)*")
_PIECE = re.compile(r"[Aam0]+")
_PART = re.compile(r"A+(?=Aa)|A?[am]+|A+|0+")
_CLUSTER = re.compile(r"gm*")
_EMOJI = re.compile(r"[er]")
_CONNECTORS = "-_.@&'\u2019\u2010\u2011"
_POSSESSIVE = re.compile(r"(?<=\w)['\u2019]s\b", re.IGNORECASE)

_AUTHOR = re.compile(r"\s*([^\W\d_][\w.'\u2019-]*(?: [^\W\d_][\w.'\u2019-]*){0,2})(?::\s|\uff1a)")
_NAME_WORD = re.compile(r"\w+(?:[.'\u2019-]\w+)*")
_LONGEST_NAME = 3  # words

_english = Stemmer.Stemmer("english")


def index_terms(text: str) -> str:
    """The terms of `text` in order, repeated as often as they occur, joined by single spaces.

    Empty when the text has no word character and no symbol. Every term is one token to FTS5's
    `ascii` tokenizer, which leaves the rest of Unicode alone; `unicode61` would split a few.
    """
    return " ".join(term for unit, kinds in _units(text) for term in _spell_out(unit, kinds))


def query_terms(text: str) -> list[str]:
    """The distinct terms of a question, in order, without stop words unless it has nothing else.

    A subset of the terms that `index_terms` gives for the same text; [] only where that is empty.
    """
    terms: dict[str, bool] = {}
    for unit, kinds in _units(text):
        for term in _ask_for(unit, kinds):
            terms.setdefault(term, unit.casefold() not in _STOP_WORDS)
    telling = [term for term, tells in terms.items() if tells]
    return telling or list(terms)


def match_expression(terms: Iterable[str]) -> str:
    """An FTS5 MATCH expression that finds any of the terms; "" for none, which matches nothing."""
    return " OR ".join('"' + term.replace('"', '""') + '"' for term in terms)


def date_terms(when: datetime) -> str:
    """Terms by which a question about a day finds what happened on it: in UTC, always in English.

    Weekday, day of the month, month, year and the ISO date.
    """
    day = when.astimezone(UTC).date() if when.tzinfo else when.date()
    return index_terms(
        f"{_WEEKDAYS[day.weekday()]} {day.day} {_MONTHS[day.month - 1]} {day.year} "
        f"{day.isoformat()}"
    )


def leading_author(text: str) -> str | None:
    """Who says it, when the text opens with `Name:` (up to three words): without case and dots."""
    opening = _AUTHOR.match(text[:100])
    return " ".join(map(_plain, _NAME_WORD.findall(opening.group(1)))) if opening else None


def without_authors(query: str, authors: Container[str]) -> tuple[str, list[str]]:
    """The query without the names of these authors (see `leading_author`), and those it names.

    A model of meaning gives a name far more weight than what is asked about its bearer; so names
    are matched exactly, and only the rest by meaning. A query of nothing but names stays whole.
    """
    words = list(_NAME_WORD.finditer(query))
    plain = [_plain(word.group()) for word in words]
    named: dict[str, None] = {}
    rest, kept_from, at = "", 0, 0
    while at < len(words):
        lengths = range(min(_LONGEST_NAME, len(words) - at), 0, -1)
        length = next((n for n in lengths if " ".join(plain[at : at + n]) in authors), 0)
        if length:
            named[" ".join(plain[at : at + length])] = None
            rest += query[kept_from : words[at].start()]
            kept_from = words[at + length - 1].end()
        at += length or 1
    rest += query[kept_from:]
    return (rest if _NAME_WORD.search(rest) else query), list(named)


def _plain(word: str) -> str:
    folded = unicodedata.normalize("NFKC", word).casefold().replace("\u2019", "'")
    return folded.removesuffix("'s")


def _units(text: str) -> Iterator[tuple[str, str]]:
    """Each unit of meaning with its kinds: a word or identifier, an unspaced run, an emoji."""
    text = _POSSESSIVE.sub(" ", unicodedata.normalize("NFKC", text))
    kinds = text.translate(_KINDS)
    for unit in _UNIT.finditer(kinds):
        yield text[unit.start() : unit.end()], unit.group()


def _spell_out(unit: str, kinds: str) -> list[str]:
    """All terms of a unit, for the index."""
    if kinds[0] == "g":
        clusters = _clusters(unit, kinds)
        return clusters + _pairs(clusters)
    return _ask_for(unit, kinds)


def _ask_for(unit: str, kinds: str) -> list[str]:
    """The terms of a unit that a question needs: pairs instead of single characters."""
    if kinds[0] == "g":
        clusters = _clusters(unit, kinds)
        return _pairs(clusters) or clusters
    if kinds[0] in "er":
        return _emoji_terms(unit, kinds)
    if len(unit) > MAX_TERM:  # the cache is bounded in words, so it holds none of any length
        return list(_word_terms.__wrapped__(unit, kinds))
    return list(_word_terms(unit, kinds))


@lru_cache(maxsize=32_768)
def _word_terms(unit: str, kinds: str) -> tuple[str, ...]:
    """ORCHID-7419: orchid, 7419, orchid7419. fooBar: foo, bar, foobar. A plain word: itself."""
    pieces = [(unit[p.start() : p.end()], p.group()) for p in _PIECE.finditer(kinds)]
    found: list[str] = []
    for piece, shape in pieces:
        parts = [piece[p.start() : p.end()] for p in _PART.finditer(shape)]
        found += [*parts, piece] if len(parts) > 1 else parts
    if len(pieces) > 1:
        found.append("".join(piece for piece, _ in pieces))
    return tuple(term for term in map(_word, found) if term)


def _clusters(unit: str, kinds: str) -> list[str]:
    """Single characters, each with its marks."""
    found = (_fold(unit[c.start() : c.end()])[:_MOST_MARKS] for c in _CLUSTER.finditer(kinds))
    return [cluster for cluster in found if cluster]


def _pairs(clusters: list[str]) -> list[str]:
    return [a + b for a, b in pairwise(clusters)]


def _emoji_terms(unit: str, kinds: str) -> list[str]:
    """Each emoji without its skin tone; a sequence or flag also (a flag: only) as a whole."""
    codes = [f"e{ord(unit[e.start()]):x}" for e in _EMOJI.finditer(kinds)]
    if kinds[0] == "r" or len(codes) == 1:
        return ["".join(codes)]
    return [*codes, "".join(codes)[:MAX_TERM]]


def _word(word: str) -> str:
    folded = _fold(word)[:MAX_TERM]
    return _english.stemWord(folded) if folded.isascii() else folded


def _fold(word: str) -> str:
    """Without case, accents, vowel points and script of digits: Ｍüller and MULLER are one."""
    apart = unicodedata.normalize("NFKD", word.casefold()).translate(_BASE_LETTERS)
    kept = "".join(
        str(unicodedata.decimal(c)) if c.isdecimal() else c for c in apart if not _is_accent(c)
    )
    return unicodedata.normalize("NFC", kept)


def _is_accent(char: str) -> bool:
    """Latin, Greek and Cyrillic accents, Hebrew and Arabic points; no sign that makes a syllable.

    By canonical combining class (Unicode Standard 4.3): Indic viramas are 9, Japanese voicing 8,
    Thai and Tibetan signs 84 to 132, and all of these tell words apart.
    """
    combining = unicodedata.combining(char)
    return 10 <= combining < 84 or combining >= 200


class _Kinds(dict[int, str]):
    """Kind of each character, by code point, found out when first met."""

    def __missing__(self, code_point: int) -> str:
        kind = _kind(chr(code_point))
        if len(self) < 16_384:  # more than any language needs; a bound against hostile text
            self[code_point] = kind
        return kind


_KINDS = _Kinds()


def _kind(char: str) -> str:
    if char.isascii():
        if char.isalpha():
            return "A" if char.isupper() else "a"
        return "0" if char.isdigit() else "," if char == "," else _connector(char)
    category = unicodedata.category(char)
    if category[0] == "M" and not "\ufe00" <= char <= "\ufe0f" and char != "\u20e3":
        return "m"
    if char.isalnum():
        if char.isdecimal():
            return "0"
        return "g" if _UNSPACED.match(char) else "A" if char.isupper() else "a"
    return _symbol(char, category)


def _symbol(char: str, category: str) -> str:
    if char == "\u200d":
        return "z"
    if "\ufe00" <= char <= "\ufe0f" or char == "\u20e3" or "\U0001f3fb" <= char <= "\U0001f3ff":
        return "v"
    if "\U0001f1e6" <= char <= "\U0001f1ff":
        return "r"
    if category == "So" or "\U0001f000" <= char <= "\U0001fbff":
        return "e"
    return _connector(char)


def _connector(char: str) -> str:
    return "-" if char in _CONNECTORS else " "

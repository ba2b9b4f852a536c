"""What a new password must not be: too short, or what a guesser tries first. Pure.

There is no rule about kinds of characters (NIST SP 800-63B §3.1.1.2), which makes passwords worse.
What others know or guess is taken out, and enough has to be left.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rememberd.errors import InvalidInput

SHORTEST, LONGEST = 12, 1024
_LEFT = 6  #: characters that must be left, and as many different ones as _DIFFERENT
_DIFFERENT = 5
# The stems of what leads every published list of leaked passwords, and what suggests itself here.
_COMMON = (
    *("correcthorsebatterystaple", "password", "passwort", "passphrase", "passw0rd", "p@ssw0rd"),
    *("p@ssword", "iloveyou", "letmein", "welcome", "trustno1", "changeme", "changeit", "starwars"),
    *("superman", "batman", "sunshine", "princess", "football", "baseball", "basketball", "monkey"),
    *("dragon", "master", "shadow", "michael", "jennifer", "jordan", "charlie", "whatever"),
    *("hello", "google", "samsung", "computer", "internet", "freedom", "summer", "winter"),
    *("administrator", "admin", "login", "secret", "rememberd", "remember", "memory", "memories"),
)
_ROWS = (
    "abcdefghijklmnopqrstuvwxyz",
    *("qwertyuiop", "asdfghjkl", "zxcvbnm"),
    *("qwertzuiop", "yxcvbnm", "azertyuiop", "qsdfghjklm", "wxcvbn"),
)
_DIGITS = "01234567890"
_RUN = 4  #: neighbours on a keyboard, in the alphabet or among the digits are taken out together


def check(password: str, email: str) -> None:
    """`email` is whose it will be. Raises InvalidInput."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise InvalidInput(
            f"The password must have {SHORTEST} to {LONGEST} characters. A few random words make a "
            "good one.",
            field="password",
        )
    left = _unguessed(password, email)
    if len(left) < _LEFT or len(set(left)) < _DIFFERENT:
        raise InvalidInput(
            "This password is among the first that somebody would try: it is little more than your "
            "email, common words, or the same characters in a row. A few random words make a good "
            "one.",
            field="password",
        )


def _unguessed(password: str, email: str) -> str:
    """What is left without spaces, common words, runs, and the parts of the email."""
    left = "".join(password.casefold().split())
    name, _, domain = email.casefold().partition("@")
    known = {email.casefold(), name, domain, *re.split(r"[._+-]", name), *domain.split(".")}
    for word in _longest_first({*_COMMON, *known}):
        left = left.replace(word, "")
    return _without_runs(left)


def _longest_first(words: Iterable[str]) -> list[str]:
    return sorted(
        (word for word in words if len(word) >= _RUN), key=lambda word: (-len(word), word)
    )


def _without_runs(text: str) -> str:
    """Without four or more in a row, in either direction, of a row of keys or of one character."""
    kept, at = "", 0
    while at < len(text):
        length = max(_run(text[at:], row) for row in _EVERY_ROW)
        length = max(length, _repeated(text[at:]))
        kept += "" if length >= _RUN else text[at]
        at += length if length >= _RUN else 1
    return kept


_EVERY_ROW = tuple(row[::way] for row in (*_ROWS, _DIGITS) for way in (1, -1))


def _run(text: str, row: str) -> int:
    """How many characters at the beginning of `text` stand side by side in `row`."""
    start = row.find(text[0])
    if start < 0:
        return 1
    length = 0
    for one, other in zip(text, row[start:], strict=False):
        if one != other:
            break
        length += 1
    return length


def _repeated(text: str) -> int:
    return len(text) - len(text.lstrip(text[0]))

"""What a new password may be: long enough, and not what a guesser tries first."""

from __future__ import annotations

import pytest

from rememberd.auth import password_rules
from rememberd.errors import InvalidInput

EMAIL = "alice.liddell@wonderland.example"


@pytest.mark.parametrize(
    "password",
    [
        "copper lantern over the fjord",
        "kJ8#vQ2!xR5z",
        "tr0ub4dor&3 is short",
        "alice likes the boat Petrel",
        "夏の夜の夢を見ていた猫たち",
        "zzyzx road 1796 to barstow",
        "x" * 500 + "copper lantern",
    ],
)
def test_what_nobody_tries_first_is_taken(password: str) -> None:
    password_rules.check(password, EMAIL)


@pytest.mark.threat(number=21)
@pytest.mark.parametrize(
    "password",
    [
        *(
            "password1234",
            "Password!2024",
            "passwordpassword",
            "PASSWORD PASSWORD",
            "p@ssw0rd12345",
        ),
        *("aaaaaaaaaaaa", "abababababab", "123456789012", "0987654321098", "111122223333"),
        *("qwertyuiop12", "qwertyuiopasdfghjkl", "1q2w3e4r5t6y"[:2] * 8, "abcdefghijklm"),
        *("zyxwvutsrqpo", "iloveyou1234", "letmeinletmein", "welcome12345", "admin1234567"),
        *("alice.liddell@wonderland.example", "aliceliddell1", "Liddell Liddell", "wonderland12"),
        *("correct horse battery staple", "rememberd1234", "my rememberd", "password          "),
    ],
)
def test_what_a_guesser_tries_first_is_refused(password: str) -> None:
    with pytest.raises(InvalidInput, match="among the first") as caught:
        password_rules.check(password, EMAIL)
    assert caught.value.field == "password"
    assert password not in str(caught.value)


@pytest.mark.parametrize(
    ("length", "is_taken"), [(11, False), (12, True), (1024, True), (1025, False)]
)
def test_it_has_a_shortest_and_a_longest(length: int, is_taken: bool) -> None:
    password = ("kJ8#vQ2!xR5z" * 100)[:length]
    if is_taken:
        return password_rules.check(password, EMAIL)
    with pytest.raises(InvalidInput, match="12 to 1024 characters"):
        password_rules.check(password, EMAIL)

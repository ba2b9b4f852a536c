"""How pages write what others named, and when things happened."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rememberd.console import words

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("Claude", "Claude"),
        ("  Claude \n Code\t", "Claude Code"),
        ("evil\u202eexe", "evilexe"),
        ("a\u200b\u2066b\ufeff", "ab"),
        ("\x00\x1b[31mred", "[31mred"),
        ("Gedächtnis 記憶 🧠", "Gedächtnis 記憶 🧠"),
        ("x" * 100, "x" * 59 + "…"),
        ("\u202e\u200b", ""),
        ("", ""),
    ],
)
def test_a_name_is_one_bounded_line_of_what_can_be_seen(name: str, shown: str) -> None:
    assert words.plain_name(name) == shown


@given(st.text())
def test_no_name_breaks_the_line_or_its_bound(name: str) -> None:
    shown = words.plain_name(name)
    assert len(shown) <= words.LONGEST_NAME
    assert shown == " ".join(shown.split())
    assert not any(c in shown for c in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
    assert words.plain_name(shown) == shown


def test_an_app_without_a_name_is_called_so() -> None:
    assert words.app_name(None) == words.app_name("\u200b") == "An app without a name"


@pytest.mark.parametrize(
    ("uri", "shown", "stays"),
    [
        ("https://claude.ai/cb", "claude.ai", False),
        ("https://claude.ai:8443/cb", "claude.ai:8443", False),
        ("https://xn--80ak6aa92e.com/cb", "xn--80ak6aa92e.com", False),
        ("https://localhost/cb", "a program on your computer (localhost)", True),
        ("http://127.0.0.1:1/cb", "a program on your computer (127.0.0.1)", True),
        ("http://[::1]/cb", "a program on your computer ([::1])", True),
        ("vscode://x/y", "the app that opens vscode: links (vscode://x/y)", True),
        ("javascript:alert(1)", "an unknown address", True),
    ],
)
def test_where_an_answer_goes_can_be_recognised(uri: str, shown: str, stays: bool) -> None:
    assert words.destination(uri) == shown
    assert words.stays_on_computer(uri) is stays


@pytest.mark.parametrize(
    ("passed", "said"),
    [
        ({"seconds": 0}, "just now"),
        ({"seconds": -5}, "just now"),
        ({"seconds": 59}, "just now"),
        ({"minutes": 1}, "1 minute ago"),
        ({"minutes": 59}, "59 minutes ago"),
        ({"hours": 1}, "1 hour ago"),
        ({"hours": 47}, "1 day ago"),
        ({"days": 13}, "13 days ago"),
        ({"days": 14}, "16 Nov 2026"),
    ],
)
def test_times_are_said_roughly_and_then_by_the_day(passed: dict[str, float], said: str) -> None:
    assert words.ago(NOON - timedelta(**passed), NOON) == said


def test_a_moment_names_its_zone() -> None:
    assert words.moment(NOON) == "30 Nov 2026, 12:00 UTC"


def test_every_reason_on_record_for_an_end_has_its_sentence() -> None:
    """Whatever ends a grant says why, in the code and in SQL alike."""
    source = Path(words.__file__).parents[1]
    ways = [*(source / "auth").glob("*.py"), *(source / "store" / "sql").rglob("oauth.sql")]
    said = re.compile(
        r"why = \"([^\"]+)\"|revoked_why = '([^']+)'|_revoke\(tx, .+, \"([^\"]+)\", now\)"
        r"|_end_grants\(tx, .+, \"([^\"]+)\"\)|why, now = \"([^\"]+)\""
    )
    reasons = {next(filter(None, found)) for way in ways for found in said.findall(way.read_text())}
    assert len(reasons) == len(words.WHY_ENDED) - 1, "all but what ran out"
    assert reasons <= words.WHY_ENDED.keys()

"""Every row of the pages on threats and on clients has a test, and every marked test has a row.

Markers are read from the syntax trees of all tests, so that it does not matter which ones run;
those on slow tests do not count, since `make test` leaves these out.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {"threat": "threats.md", "quirk": "client-quirks.md"}
ROWS = {"threat": 30, "quirk": 33}


@dataclass(frozen=True)
class Mark:
    """`test` is None for a marker on anything else, where it proves nothing."""

    kind: str
    number: object
    place: str
    test: str | None
    is_slow: bool


def rows(kind: str) -> list[int]:
    """The numbers of a page's table, as they stand there."""
    text = (ROOT / "docs" / "explanation" / PAGES[kind]).read_text(encoding="utf-8")
    return [int(number) for number in re.findall(r"^\| (\d+) \| .+ \|$", text, re.MULTILINE)]


@cache
def marks() -> list[Mark]:
    return [
        mark
        for path in sorted((ROOT / "tests").rglob("test_*.py"))
        for mark in _marks_in(path, ast.parse(path.read_text(encoding="utf-8")))
    ]


def _marks_in(path: Path, module: ast.Module) -> Iterator[Mark]:
    tests = {
        id(call): node
        for node in module.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
        for decorator in node.decorator_list
        for call in ast.walk(decorator)
    }
    all_slow = any("pytestmark" in names and "slow" in names for names in map(_names, module.body))
    for call in ast.walk(module):
        kind = _marker(call)
        if kind in PAGES and isinstance(call, ast.Call):
            test = tests.get(id(call))
            yield Mark(
                kind,
                _number(call),
                f"{path.relative_to(ROOT)}:{call.lineno}",
                test.name if test else None,
                all_slow or (test is not None and "slow" in map(_marker, ast.walk(test))),
            )


def _names(node: ast.AST) -> set[str]:
    """Every name that stands somewhere in an assignment; nothing of other statements."""
    if not isinstance(node, ast.Assign):
        return set()
    inside = list(ast.walk(node))
    plain = {one.id for one in inside if isinstance(one, ast.Name)}
    return plain | {one.attr for one in inside if isinstance(one, ast.Attribute)}


def _marker(node: ast.AST) -> str:
    """The name of a `pytest.mark.NAME`, called or not."""
    found = node.func if isinstance(node, ast.Call) else node
    is_mark = isinstance(found, ast.Attribute) and ast.unparse(found.value) == "pytest.mark"
    return found.attr if is_mark and isinstance(found, ast.Attribute) else ""


def _number(call: ast.Call) -> object:
    """None unless it is written as `number=` and a number: only such can be chosen with `-m`."""
    (value,) = [word.value for word in call.keywords if word.arg == "number"] or [None]
    return value.value if isinstance(value, ast.Constant) else None


@pytest.mark.parametrize("kind", PAGES)
def test_the_rows_of_a_page_are_numbered_without_a_gap(kind: str) -> None:
    assert rows(kind) == list(range(1, ROWS[kind] + 1))


@pytest.mark.parametrize("kind", PAGES)
def test_every_row_has_a_test_that_make_test_runs(kind: str) -> None:
    tested = Counter(mark.number for mark in marks() if mark.kind == kind and not mark.is_slow)
    untested = [number for number in rows(kind) if number not in tested]
    assert not untested, f"{PAGES[kind]}: no test for {untested}"


def test_every_marker_stands_on_a_test_and_names_a_row() -> None:
    known = {kind: set(rows(kind)) for kind in PAGES}
    wrong = [mark for mark in marks() if not mark.test or mark.number not in known[mark.kind]]
    assert not wrong, [f"{mark.place}: {mark.kind} {mark.number}" for mark in wrong]


def test_markers_are_found_at_all() -> None:
    """Also inside a parametrization, and told apart from those of slow tests."""
    found = {(mark.kind, mark.number, mark.test) for mark in marks() if not mark.is_slow}
    assert ("threat", 22, "test_fifty_refreshes_at_once_are_one_chain") in found
    assert ("quirk", 6, "test_an_app_comes_in_by_the_address_it_uses") in found
    slow = {mark.test for mark in marks() if mark.is_slow}
    assert "test_a_page_that_rebinds_its_name_is_refused_also_with_a_token" in slow


# --- rows that only a page can answer ------------------------------------------------------------


@pytest.mark.quirk(number=33)
def test_the_how_to_says_what_a_name_needs_to_be_reached_from_a_cloud() -> None:
    page = ROOT / "docs" / "howto" / "put-it-behind-https.md"
    text = " ".join(page.read_text(encoding="utf-8").split())
    for said in (
        "needs an IPv4 address (an A record; IPv6 alone is not enough)",
        "every address that the name has must be public",
        "the port must be 443",
    ):
        assert said in text

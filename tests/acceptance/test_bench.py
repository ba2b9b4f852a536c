"""The benchmarks run, so that they are there on the day that somebody wonders."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from bench import __main__ as bench

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize(
    "topic, rows",
    [
        (
            "latency",
            ["| search | 1 × 48 | words, vectors | 16 |", "| store | 4 × 16 | words | 1 |"],
        ),
        (
            "auth",
            ["| code exchange |", "| refresh |", "| sign-in by password |", "| in tools/call "],
        ),
        ("startup", ["| bare imports | 1.00 |", "| server |"]),
        ("memory", ["| idle |", "| bundled model loaded |"]),
    ],
)
def test_a_quick_run_of_a_topic_prints_its_table(topic: str, rows: list[str]) -> None:
    run = subprocess.run(
        [sys.executable, "-m", "bench", topic, "--quick"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    assert [row for row in rows if row not in run.stdout] == []


def test_every_topic_has_its_section_and_its_line() -> None:
    page = bench.PAGE.read_text(encoding="utf-8")
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == list(bench.TOPICS)
    readme = (ROOT / "bench" / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| `(\w+)` \|", readme, re.MULTILINE) == list(bench.TOPICS)


def test_a_section_is_written_again_and_the_others_are_left_alone() -> None:
    page = "# B\n\n## one\n\n## two\n\n## three\n\nOld.\n"
    written = bench.replace(bench.replace(page, "one", "New."), "two", "Also.")
    assert written == "# B\n\n## one\n\nNew.\n\n## two\n\nAlso.\n\n## three\n\nOld.\n"
    again = bench.replace(bench.replace(written, "one", "Newer."), "three", "Last.")
    assert again == "# B\n\n## one\n\nNewer.\n\n## two\n\nAlso.\n\n## three\n\nLast.\n"

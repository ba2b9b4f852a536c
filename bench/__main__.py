"""`python -m bench TOPIC…`: measure, print tables, and with --write put them into the docs."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from rememberd.clock import SystemClock

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "benchmarks.md"
#: Each is a module of this package, with a `main` that takes arguments and prints Markdown.
TOPICS = ("retrieval", "latency", "auth", "startup", "memory")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("topic", choices=(*TOPICS, "all"), nargs="?", default="all")
    parser.add_argument("--quick", action="store_true", help="only see that it works")
    parser.add_argument("--large", action="store_true", help="100,000 memories too; takes a while")
    parser.add_argument("--write", action="store_true", help=f"into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args()
    topics = TOPICS if options.topic == "all" else (options.topic,)
    return max([_measure(topic, options) for topic in topics])


def _measure(topic: str, options: argparse.Namespace) -> int:
    flags = ["--quick"] if options.quick else []
    if options.large and topic in ("latency", "memory"):
        flags.append("--large")
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        outcome: int = importlib.import_module(f"bench.{topic}").main(flags)
    print(f"## {topic}\n\n{said.getvalue()}")
    if options.write and outcome == 0:
        section = f"{_circumstances(topic, flags)}\n\n{said.getvalue().strip()}"
        page = replace(PAGE.read_text(encoding="utf-8"), topic, section)
        PAGE.write_text(page, encoding="utf-8")
    return outcome


def _circumstances(topic: str, flags: Sequence[str]) -> str:
    command = " ".join(["python -m bench", topic, *flags])
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    day = SystemClock().now().date().isoformat()
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    busy = f"load {os.getloadavg()[0]:.0f}"
    python = f"Python {platform.python_version()}"
    return f"`{command}` at {commit}, {day}, {machine}, {busy}, {python}."


def replace(page: str, topic: str, text: str) -> str:
    """The page with this text as the topic's section, which ends where the next one begins."""
    before, heading, rest = page.partition(f"\n## {topic}\n")
    _, mark, after = rest.partition("\n## ")
    return f"{before}{heading}\n{text}\n{mark}{after}"


if __name__ == "__main__":
    sys.exit(main())

"""How much a run measures: enough to say something, or just enough to see that it works."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Size:
    vaults: tuple[int, ...]  #: memories in each single vault that is measured
    many: int  #: how many vaults, where they are many
    alone: int  #: calls by one client
    together: int  #: calls by sixteen
    starts: int  #: of each program
    ceiling_seconds: float


USUAL = Size((1_000, 10_000), many=64, alone=200, together=800, starts=7, ceiling_seconds=0.5)
LARGE = replace(USUAL, vaults=(1_000, 10_000, 100_000))
QUICK = Size((48,), many=4, alone=16, together=32, starts=1, ceiling_seconds=0.1)


def parse(arguments: Sequence[str] | None, topic: str, about: str | None) -> Size:
    """From `--quick` or `--large`."""
    parser = argparse.ArgumentParser(prog=f"python -m bench {topic}", description=about)
    parser.add_argument("--quick", action="store_true", help="only see that it works")
    parser.add_argument("--large", action="store_true", help="100,000 memories too")
    options = parser.parse_args(arguments)
    return QUICK if options.quick else LARGE if options.large else USUAL

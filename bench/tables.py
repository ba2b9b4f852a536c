"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """One column for each name; numbers stand to the right."""
    names = list(rows[0])
    lines = [
        _line(names),
        _line(["---:" if _is_number(rows[0][name]) else "---" for name in names]),
        *(_line([row[name] for name in names]) for row in rows),
    ]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _is_number(cell: str) -> bool:
    return cell.replace(",", "").replace(".", "").isdecimal()

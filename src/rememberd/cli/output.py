"""What people see: results on standard output, everything else on standard error.

Colours and tables are for terminals; into a pipe go plain lines with tabs, and with `--json` one
JSON document. Stored text is shown as data: it must never be read as markup.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper
from typing import Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rememberd.errors import InvalidInput

Cell = str | Text


class Below(NamedTuple):
    """A text, and details that stand below it in a terminal, and in columns of their own else."""

    text: str
    details: tuple[str, ...]


def survive_any_locale() -> None:
    """What a terminal cannot show becomes a question mark, and never an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def document(value: Any) -> None:
    """The one JSON document of a `--json` run, in UTF-8 whatever the locale says."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    sys.stdout.flush()
    sys.stdout.buffer.write(text.encode() + b"\n")


def result(*parts: Cell) -> None:
    """One line of the result; long lines are left to the terminal, so that they can be copied."""
    _console().print(*parts, soft_wrap=True, markup=False, emoji=False)


def note(*parts: Cell) -> None:
    """A message beside the result."""
    _console(stderr=True).print(*parts, soft_wrap=True, markup=False, emoji=False)


def warning(text: str) -> None:
    note(Text("Warning:", "bold yellow"), text)


def error(text: str) -> None:
    note(Text("Error:", "bold red"), text)


def table(
    heads: Sequence[str] | None, rows: Iterable[Sequence[Cell | Below]], *, beside: bool = False
) -> None:
    """Aligned columns in a terminal; else a line for each row, with tabs and no heads.

    `beside` sends it to standard error: it is not the result.
    """
    console = _console(stderr=beside)
    if not console.is_terminal:
        for row in rows:
            console.file.write("\t".join(" ".join(text.split()) for text in _columns(row)) + "\n")
        return
    grid = Table(
        box=None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
        show_header=heads is not None,
        header_style="dim",
    )
    for head in heads or ():
        grid.add_column(head, overflow="fold")
    for row in rows:
        grid.add_row(*map(_shown, row))
    console.print(grid)


def _columns(row: Sequence[Cell | Below]) -> Iterator[str]:
    for cell in row:
        yield from (cell.text, *cell.details) if isinstance(cell, Below) else (str(cell),)


def _shown(cell: Cell | Below) -> Text:
    if isinstance(cell, Below):
        return Text.assemble(cell.text, "\n", (" · ".join(cell.details), "dim"))
    return Text(cell) if isinstance(cell, str) else cell


def facts(pairs: Iterable[tuple[str, Cell]]) -> None:
    """Names and values, one pair a line."""
    for name, value in pairs:
        result(Text(f"{name:<11}", "dim"), value)


def bold(text: str) -> Text:
    return Text(text, "bold")


def dim(text: str) -> Text:
    return Text(text, "dim")


def count(number: int, thing: str, things: str | None = None) -> str:
    """`1 memory`, `1,204 memories`."""
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def scopes(names: Iterable[str]) -> str:
    return ", ".join(name.removeprefix("memories:") for name in names)


def claude_line(public_url: str, key: str) -> Text:
    """How an app is connected, to be copied."""
    return Text(
        f"claude mcp add --transport http rememberd {public_url}/mcp "
        f'--header "Authorization: Bearer {key}"'
    )


def certificate(proof: dict[str, Any]) -> None:
    """What an erasure proves, and what it cannot."""
    before = proof["memories_before"]
    facts(
        [
            ("before", "unknown" if before is None else count(before, "memory", "memories")),
            ("now", count(proof["memories_after"], "memory", "memories")),
            ("certificate", proof["id"]),
        ]
    )
    if proof["exported_key_versions"]:
        note(
            "An earlier key export can still open old copies of the file: destroy it, and make a "
            "new one with `rememberd keys export`."
        )


def require_yes(*, yes: bool, question: str, word: str | None = None) -> None:
    """Ask before something is destroyed: a yes, or `word` typed out. Raises typer.Abort on a no.

    Raises InvalidInput where nobody can be asked.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("Nobody is here to be asked. Add --yes if you are sure.")
    if word is None:
        typer.confirm(question, abort=True, err=True)
    elif typer.prompt(f"{question} Type {word} to go on", err=True) != word:
        raise typer.Abort


def _console(*, stderr: bool = False) -> Console:
    return Console(stderr=stderr, highlight=False)

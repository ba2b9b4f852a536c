"""SQL is text with a name: loads the `-- name --` blocks of `sql/sqlite/*.sql` once.

Nothing builds SQL from parts at run time; what varies is a parameter.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def load(book: str) -> dict[str, str]:
    """The queries of one book (`vault`, `control`, `keys`): name → SQL."""
    folder = files("rememberd.store") / "sql" / "sqlite" / book
    found: dict[str, str] = {}
    for file in sorted(folder.iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".sql"):
            continue
        parts = _NAME.split(file.read_text(encoding="utf-8"))
        for name, body in zip(parts[1::2], parts[2::2], strict=True):
            if name in found:
                raise ValueError(f"query {name} stands twice in {book}")
            found[name] = body.strip()
    return found

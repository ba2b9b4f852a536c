"""The scope vocabulary of `/mcp`: four independent scopes, no hierarchy. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from rememberd.errors import InvalidInput
from rememberd.model import DELETE, READ, REFLECT, SCOPES, WRITE

DEFAULT = frozenset({READ})
SENTENCES = {
    READ: "Search and read the memories in this vault.",
    WRITE: "Save new memories to this vault.",
    DELETE: "Delete memories for good, up to the whole vault.",
    REFLECT: "Turn memories into reflections.",
}


def parse(names: Iterable[str]) -> frozenset[str]:
    """Scopes by full or short name (`read` = `memories:read`). Raises InvalidInput on another."""
    found: set[str] = set()
    for name in names:
        full = name if name.startswith("memories:") else f"memories:{name}"
        if full not in SCOPES:
            raise InvalidInput(
                f"Unknown scope {name!r}. Scopes are {', '.join(SCOPES)}.", field="scope"
            )
        found.add(full)
    return frozenset(found)


def ordered(scopes: Iterable[str]) -> list[str]:
    """In the order of the vocabulary, so that every challenge and list has stable bytes."""
    held = set(scopes)
    return [scope for scope in SCOPES if scope in held]

"""JSON from strangers: one object, or the reason why it is none. Pure.

What comes out can be stored and sent on: no lone surrogates, no infinities, no name twice.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn, cast

from rememberd.auth.policy import Refused


def read_object(body: bytes) -> dict[str, Any] | Refused:
    """Members that are null are left out: to us they say the same as absent ones."""
    try:
        found: object = json.loads(
            body.decode("utf-8"), object_pairs_hook=_each_once, parse_constant=_no_number
        )
        # Refuses lone surrogates (\ud800) and 1e999, which the parser lets through.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return Refused("not JSON in UTF-8 with every name once")
    if not isinstance(found, dict):
        return Refused("not a JSON object")
    members = cast("dict[str, Any]", found)
    return {name: value for name, value in members.items() if value is not None}


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands twice")
    return found


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")

"""Compares the documents that arrive through the public URL with those that the server sends.

Clients compare addresses byte by byte, so a document that was rewritten on its way must never pass.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict, cast

from rememberd.cli.checks import Check, check, seen, way_out

if TYPE_CHECKING:
    import httpx2

_MOST_SHOWN = 200  # characters of a value
_REWRITTEN = "Let the proxy pass bodies on unchanged. Or does another server answer there?"
_CACHED = "A cache in front keeps an older document: clear it."


class Document(TypedDict):
    """A discovery document as the server sends it."""

    path: str
    type: str
    body: str


class Difference(NamedTuple):
    detail: str
    advice: str


async def compare(
    client: httpx2.AsyncClient, public_url: str, documents: Sequence[Document]
) -> Check:
    """Fetch every document at its public address; the first difference is told in full."""
    found: dict[str, Difference] = {}
    for document in documents:
        answer = await client.get(public_url + document["path"])
        difference = _difference(document, answer)
        if difference is not None:
            found[document["path"]] = difference
    if not found:
        detail = f"{len(documents)} documents arrive byte for byte."
        return check("discovery", "ok", detail)
    (_, first), *others = found.items()
    also = f" Wrong as well: {', '.join(path for path, _ in others)}." if others else ""
    return check("discovery", "failed", first.detail + also, first.advice)


def _difference(document: Document, answer: httpx2.Response) -> Difference | None:
    if answer.status_code != 200:
        return Difference(f"{seen(answer)}.", way_out(answer))
    arrived, sent = (
        _media_type(answer.headers.get("content-type", "")),
        _media_type(document["type"]),
    )
    if arrived != sent:
        detail = f"{document['path']} comes as {arrived or 'nothing'}, not as {sent}."
        return Difference(detail, way_out(answer))
    if answer.content == document["body"].encode():
        return None
    # RFC 9111 §5.1: only what comes from a cache has an age.
    advice = _CACHED if "age" in answer.headers else _REWRITTEN
    return Difference(f"{document['path']}: {_first(document['body'], answer.content)}.", advice)


def _media_type(content_type: str) -> str:
    """Without parameters: a proxy may add a charset."""
    return content_type.partition(";")[0].strip().lower()


def _first(sent: str, arrived: bytes) -> str:
    """The first member that differs, with both values."""
    ours: dict[str, Any] = json.loads(sent)
    try:
        found = json.loads(arrived)
    except ValueError:
        return "what arrives is not JSON"
    if not isinstance(found, dict):
        return "what arrives is not a JSON object"
    theirs = cast(dict[str, Any], found)
    for name in [*ours, *theirs]:
        if ours.get(name) != theirs.get(name):
            arriving = _shown(theirs, name, absent="missing")
            return f"{name} is {arriving} instead of {_shown(ours, name, absent='nothing')}"
    return "the same members in other bytes"


def _shown(document: dict[str, Any], name: str, *, absent: str) -> str:
    """In ASCII, so that nothing that arrives can steer a terminal."""
    return json.dumps(document[name])[:_MOST_SHOWN] if name in document else absent

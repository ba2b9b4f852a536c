"""What a fetched answer is worth: a document with a time to use it, or a reason. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rememberd.auth.json_object import read_object
from rememberd.auth.policy import Refused

SHORTEST, LONGEST = timedelta(minutes=5), timedelta(hours=24)  # of use without asking again

_JSON = re.compile(r"application/(?:json|[a-z0-9!#$&^_.-]+\+json)", re.IGNORECASE)
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age=\"?([0-9]{1,9})\"?(?:$|[\s,])")


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers`: names in lower case; the values of equal names joined by commas."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True, slots=True)
class Fetched:
    """A document, and for how long it may be used without asking again."""

    document: dict[str, Any]
    fresh_for: timedelta


@dataclass(frozen=True, slots=True)
class Unfetched:
    """Why there is no document, for a person to read. `passing`: it may work another time."""

    reason: str
    passing: bool = False


Outcome = Fetched | Unfetched


def read_answer(answer: Answer) -> Outcome:
    """Only a plain 200 with a JSON object counts."""
    if answer.status != 200:
        passing = answer.status >= 500 or answer.status in (408, 425, 429)
        return Unfetched(f"the host answers with HTTP {answer.status}", passing)
    media_type = answer.headers.get("content-type", "").partition(";")[0].strip()
    if not _JSON.fullmatch(media_type):
        return Unfetched("the answer is not of type application/json")
    if answer.headers.get("content-encoding", "identity").lower() != "identity":
        return Unfetched("the answer is compressed, though that was not asked for")
    document = read_object(answer.body)
    if isinstance(document, Refused):
        return Unfetched(f"the answer is {document.reason}")
    return Fetched(document, freshness(answer.headers))


def freshness(headers: Mapping[str, str]) -> timedelta:
    """max-age less Age (RFC 9111 §4.2), between SHORTEST and LONGEST; SHORTEST if none is said."""
    directives = headers.get("cache-control", "").lower()
    said = _MAX_AGE.search(directives)
    if said is None or "no-store" in directives or "no-cache" in directives:
        return SHORTEST
    age = headers.get("age", "").strip()
    seconds = int(said[1]) - (int(age) if re.fullmatch("[0-9]{1,9}", age) else 0)
    return min(max(timedelta(seconds=seconds), SHORTEST), LONGEST)

"""How pages write what others named, and when things happened. Pure.

Names come from whoever made a client, a vault or a memory: shown bounded, on one line and without
characters that change how the text around them reads.
"""

from __future__ import annotations

import unicodedata
from datetime import datetime
from urllib.parse import urlsplit

from rememberd.auth.policy import LOOPBACK, Redirect, read_redirect
from rememberd.model import DELETE, READ, REFLECT, WRITE, Source

LONGEST_NAME = 60
# Control, format (bidi overrides, zero width), private, surrogate, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Co", "Cs", "Zl", "Zp"})

SCOPES = {READ: "Read", WRITE: "Save", DELETE: "Delete", REFLECT: "Reflect"}
TIERS = {1: "Memory", 2: "Reflection", 3: "High-level reflection"}
SOURCES = {
    Source.USER_STATED: "Stated by a person",
    Source.AGENT_INFERRED: "Written down by an app",
    Source.THIRD_PARTY: "From a third party",
}


#: By the reason on record; see `auth/grants.py`.
WHY_ENDED = {
    "old refresh token used": "An old copy of the app's token was used. The app may have lost "
    "count, or somebody has a copy: connect it again only where you trust it.",
    "code replayed": "Somebody tried to use the answer of your consent a second time.",
    "revoked by the client": "The app ended it itself.",
    "revoked by its owner": "You ended it.",
    "membership ended": "You no longer belong to the organization.",
    "role lowered": "Your role in the organization was lowered, and no longer opens the vault.",
    "removed from the project": "You no longer belong to the project.",
    "vault erased": "The vault was erased.",
    "ran out": "It had lasted as long as a connection may.",
}


def plain_name(name: str, longest: int = LONGEST_NAME) -> str:
    """One bounded line; what cannot be seen is left out. Empty when nothing is left."""
    seen = "".join(" " if c.isspace() else c for c in name if c in "\t\n\r" or _is_seen(c))
    line = " ".join(seen.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def _is_seen(character: str) -> bool:
    return unicodedata.category(character) not in _UNSEEN


def app_name(name: str | None) -> str:
    return plain_name(name or "") or "An app without a name"


def host_of(client_id: str) -> str | None:
    """The host of a client that is identified by a URL; None for one that registered here."""
    return urlsplit(client_id).netloc if client_id.startswith("https://") else None


def destination(redirect_uri: str) -> str:
    """Where an answer goes, for a person to recognise."""
    redirect = read_redirect(redirect_uri)
    if not isinstance(redirect, Redirect):
        return "an unknown address"
    if redirect.kind == "app":
        return f"the app that opens {redirect.scheme}: links ({redirect.uri})"
    if redirect.host in LOOPBACK:
        return f"a program on your computer ({redirect.host})"
    return f"{redirect.host}:{redirect.port}" if redirect.port else redirect.host


def stays_on_computer(redirect_uri: str) -> bool:
    """Whether any program there could have asked, under any name (OAuth 2.1 §8.5)."""
    redirect = read_redirect(redirect_uri)
    if not isinstance(redirect, Redirect):
        return True
    return redirect.kind != "web" or redirect.host in LOOPBACK


def day(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y}"


def moment(moment: datetime) -> str:
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def ago(moment: datetime, now: datetime) -> str:
    """Roughly how long ago; the day itself once that says more."""
    minutes = (now - moment).total_seconds() / 60
    if minutes < 1:
        return "just now"
    if minutes < 60:
        return _count(minutes, "minute")
    if minutes < 24 * 60:
        return _count(minutes / 60, "hour")
    if minutes < 14 * 24 * 60:
        return _count(minutes / (24 * 60), "day")
    return day(moment)


def _count(number: float, unit: str) -> str:
    whole = int(number)
    return f"{whole} {unit}{'' if whole == 1 else 's'} ago"


def excerpt(text: str, longest: int = 180) -> str:
    """The beginning of a memory, on one line."""
    return plain_name(text[: 4 * longest], longest)

"""Client assertions (RFC 7523): taking one apart, and whether its claims are for us. Pure.

Whether the signature holds is `signatures.py`'s to say; nothing in an assertion may be believed
before that.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast

from rememberd.auth.client_metadata import SIGNING_ALGORITHMS
from rememberd.auth.json_object import read_object
from rememberd.auth.policy import Refused

TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
LONGEST = 16_384
LONGEST_LIFE, OLDEST, SKEW = 600, 3_600, 60  # seconds; SKEW: by which clocks may differ
_FAR = 1e11
_LONGEST_JTI = 256


@dataclass(frozen=True, slots=True)
class Assertion:
    """As it was sent. `algorithm` is one of ours."""

    text: str
    algorithm: str
    key_id: str | None
    claims: Mapping[str, Any]

    @property
    def client_id(self) -> str | None:
        subject = self.claims.get("sub")
        return subject if isinstance(subject, str) else None


@dataclass(frozen=True, slots=True)
class Claimed:
    """What must be remembered of an assertion that was accepted."""

    jti: str
    expires_at: datetime  #: when it would be refused for its age


def read(text: str) -> Assertion | Refused:
    """The algorithm is chosen from our list before anything else is looked at (RFC 8725 §3.1)."""
    if len(text) > LONGEST:
        return Refused(f"longer than {LONGEST} characters")
    parts = text.split(".")
    header, claims = map(_part, parts[:2]) if len(parts) == 3 else (None, None)
    if header is None or claims is None:
        return Refused("not a signed JWT")
    algorithm, key_id = header.get("alg"), header.get("kid")
    if algorithm not in SIGNING_ALGORITHMS:
        return Refused(f"alg: only {' and '.join(SIGNING_ALGORITHMS)} are accepted")
    if header.keys() & {"crit", "b64"}:
        return Refused("crit: no extensions are understood")
    return Assertion(text, algorithm, key_id if isinstance(key_id, str) else None, claims)


def _part(text: str) -> dict[str, Any] | None:
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    found = read_object(raw)
    return None if isinstance(found, Refused) else found


def check_claims(
    claims: Mapping[str, Any], client_id: str, audiences: Collection[str], now: datetime
) -> Claimed | Refused:
    """RFC 7523 §3. Life is bounded, so that used assertions need not be remembered for long."""
    if claims.get("iss") != client_id or claims.get("sub") != client_id:
        return Refused("iss and sub must both be the client_id")
    if not _is_for(claims.get("aud"), audiences):
        return Refused("aud must be the issuer or the token endpoint, and nothing else")
    jti = claims.get("jti")
    if not isinstance(jti, str) or not 0 < len(jti) <= _LONGEST_JTI:
        return Refused("jti is missing")
    until = _read_times(claims, now)
    return until if isinstance(until, Refused) else Claimed(jti, until)


def _is_for(audience: object, ours: Collection[str]) -> bool:
    """Nobody else's: a server that is named too could send the assertion on to us."""
    said = cast("list[object]", audience) if isinstance(audience, list) else [audience]
    return bool(said) and all(isinstance(one, str) and one in ours for one in said)


def _read_times(claims: Mapping[str, Any], now: datetime) -> datetime | Refused:
    """The moment from which the assertion is worthless by any clock."""
    times = {name: claims[name] for name in ("exp", "nbf", "iat") if name in claims}
    if "exp" not in times:
        return Refused("exp is missing")
    if not all(isinstance(time, int | float) and abs(time) < _FAR for time in times.values()):
        return Refused("exp, nbf and iat must be seconds since 1970")
    ahead = {name: time - now.timestamp() for name, time in times.items()}
    if ahead["exp"] <= -SKEW:
        return Refused("exp has passed")
    if ahead["exp"] > LONGEST_LIFE + SKEW:
        return Refused("exp is more than ten minutes ahead")
    if max(ahead.get("nbf", 0), ahead.get("iat", 0)) > SKEW:
        return Refused("nbf or iat lies ahead")
    if ahead.get("iat", 0) < -OLDEST:
        return Refused("iat is more than an hour ago")
    return now + timedelta(seconds=ahead["exp"] + SKEW)

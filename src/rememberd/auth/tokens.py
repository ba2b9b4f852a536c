"""Opaque tokens: minting, hashing, and the successor of a refresh token. Pure.

256 random bits behind a prefix that leak scanners know, and a checksum that turns garbage away
before any look-up. Only SHA-256 hashes are stored.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Literal

from rememberd.auth.base62 import BODY, CHECK, checksum, encode

Prefix = Literal["mat_", "mrt_", "mac_", "mcs_", "mss_", "mil_"]
# access token, refresh token, authorization code, client secret, session, invitation link


def mint(prefix: Prefix) -> str:
    return _finish(prefix, secrets.token_bytes(32))


def successor(key: bytes, parent: str, grant_id: str) -> str:
    """The refresh token that follows `parent`. Derived, so that everybody who repeats a refresh
    within the grace window gets the same one, though only hashes are stored; `key` is never in a
    database.
    """
    secret = hmac.new(key, f"refresh 1\n{grant_id}\n{parent}".encode(), hashlib.sha256).digest()
    return _finish("mrt_", secret)


def is_whole(token: str, prefix: Prefix) -> bool:
    """Shape and checksum; says nothing about whether the token is worth anything."""
    if not token.startswith(prefix) or not token.isascii():
        return False
    body = token.removeprefix(prefix)
    if len(body) != BODY + CHECK or not body.isalnum():
        return False
    return hmac.compare_digest(token[-CHECK:], checksum(token[:-CHECK]))


def digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def _finish(prefix: Prefix, secret: bytes) -> str:
    plain = prefix + encode(int.from_bytes(secret, "big"), BODY)
    return plain + checksum(plain)

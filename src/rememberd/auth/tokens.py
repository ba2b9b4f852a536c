"""Opaque tokens: minting, hashing, and those that are derived from what went before. Pure.

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
    return _derive("mrt_", key, f"refresh 1\n{grant_id}\n{parent}")


def code_for(key: bytes, request_id: str) -> str:
    """The code that answers a request. Derived, so that the second of two clicks gets the same one
    though only its hash is stored.
    """
    return _derive("mac_", key, f"code 1\n{request_id}")


def _derive(prefix: Prefix, key: bytes, parents: str) -> str:
    return _finish(prefix, hmac.new(key, parents.encode(), hashlib.sha256).digest())


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

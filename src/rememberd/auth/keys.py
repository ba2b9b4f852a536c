"""Vault keys `mk_…` and `mk_ro_…`: minting, hashing, and how far prefix and suffix narrow them.

A key can only ever narrow: prefix, suffix and stored scopes are intersected, and what is not
understood grants nothing. Secrets are 256 random bits, so a plain SHA-256 is enough at rest.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass

from rememberd.auth.base62 import BODY, CHECK, checksum, encode
from rememberd.model import READ, SCOPES, WRITE

_ALL = frozenset(SCOPES)
_SUFFIXES = {
    "read": frozenset({READ}),
    "write": frozenset({READ, WRITE}),
    "off": frozenset[str](),
}


@dataclass(frozen=True, slots=True)
class Presented:
    """A key as a caller sent it: what to look up, and the most that prefix and suffix allow."""

    digest: bytes
    ceiling: frozenset[str]


def mint(*, read_only: bool) -> str:
    """A new secret. The last six characters are a checksum, so leak scanners can tell it apart."""
    prefix = "mk_ro_" if read_only else "mk_"
    body = encode(int.from_bytes(secrets.token_bytes(32), "big"), BODY)
    return prefix + body + checksum(prefix + body)


def digest(secret: str) -> bytes:
    """What is stored and looked up: SHA-256 over the canonical spelling, without a suffix."""
    return hashlib.sha256(secret.encode()).digest()


def hint(secret: str) -> str:
    """Enough of a key to tell it from another, too little to use it."""
    prefix = "mk_ro_" if secret.startswith("mk_ro_") else "mk_"
    return secret[: len(prefix) + 4] + "…"


def read(presented: str) -> Presented | None:
    """Take a presented key apart; None when it cannot be a key of ours (fails closed)."""
    if not presented.isascii():
        return None
    secret, *suffixes = presented.split(":")
    if len(suffixes) > 1 or (suffixes and suffixes[0] not in _SUFFIXES):
        return None
    secret = _canonical(secret)
    if secret is None:
        return None
    ceiling = _SUFFIXES[suffixes[0]] if suffixes else _ALL
    if secret.startswith("mk_ro_"):
        ceiling &= {READ}
    return Presented(digest(secret), ceiling)


def _canonical(secret: str) -> str | None:
    """`mk-` and `mk-ro-` are other spellings of `mk_` and `mk_ro_`; the checksum must hold."""
    for given, prefix in (
        ("mk-ro-", "mk_ro_"),
        ("mk_ro_", "mk_ro_"),
        ("mk-", "mk_"),
        ("mk_", "mk_"),
    ):
        if secret.startswith(given):
            body = secret[len(given) :]
            if len(body) != BODY + CHECK or not body.isalnum():
                return None
            plain = prefix + body
            return plain if plain[-CHECK:] == checksum(plain[:-CHECK]) else None
    return None

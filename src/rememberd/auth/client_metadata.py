"""What clients say about themselves, member by member (RFC 7591 §2). Pure.

Shared by registration and by metadata documents; nothing said here is verified or trusted.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from rememberd.auth import policy
from rememberd.auth.https_url import read_url
from rememberd.auth.policy import Redirect, Refused

LONGEST_NAME = 100
MOST_KEYS = 20
SIGNING_ALGORITHMS = ("RS256", "ES256")
SHARED_SECRETS = ("client_secret_post", "client_secret_basic")

# RFC 7518 §6: what only the owner of a key may hold.
_PRIVATE = frozenset({"d", "p", "q", "dp", "dq", "qi", "oth", "k"})


def read_name(value: object) -> str | Refused:
    """A name to show: on one line, without control, bidirectional or invisible characters, cut."""
    if not isinstance(value, str):
        return Refused("not a text")
    seen = (character for character in value if _is_visible(character))
    return " ".join("".join(seen).split())[:LONGEST_NAME].strip()


def _is_visible(character: str) -> bool:
    return character.isspace() or not unicodedata.category(character).startswith("C")


@dataclass(frozen=True, slots=True)
class Redirects:
    """Those that may be used, and for each other one its place in the list and why not."""

    accepted: tuple[Redirect, ...]
    refused: tuple[Refused, ...]

    @property
    def uris(self) -> tuple[str, ...]:
        return tuple(redirect.uri for redirect in self.accepted)


def read_redirects(value: object) -> Redirects | Refused:
    """`redirect_uris`: one to ten of them, each as `policy.read_redirect` has it."""
    if not isinstance(value, list) or not value:
        return Refused("redirect_uris: at least one is needed")
    uris = cast("list[object]", value)
    if len(uris) > policy.MOST_REDIRECTS:
        return Refused(f"redirect_uris: more than {policy.MOST_REDIRECTS}")
    read = [_read_redirect(place, uri) for place, uri in enumerate(uris)]
    return Redirects(
        tuple(one for one in read if isinstance(one, Redirect)),
        tuple(one for one in read if isinstance(one, Refused)),
    )


def _read_redirect(place: int, uri: object) -> Redirect | Refused:
    read = policy.read_redirect(uri) if isinstance(uri, str) else Refused("not a text")
    return Refused(f"redirect_uris[{place}]: {read.reason}") if isinstance(read, Refused) else read


@dataclass(frozen=True, slots=True)
class PublicKeys:
    """Where the keys are that a client signs with: here, there, or nowhere."""

    jwks: dict[str, Any] | None = None
    jwks_uri: str | None = None

    def __bool__(self) -> bool:
        return self.jwks is not None or self.jwks_uri is not None


def read_keys(metadata: Mapping[str, Any]) -> PublicKeys | Refused:
    """`jwks` or `jwks_uri`, never both (RFC 7591 §2), and never a private key."""
    jwks, jwks_uri = metadata.get("jwks"), metadata.get("jwks_uri")
    if jwks is not None and jwks_uri is not None:
        return Refused("jwks: not beside jwks_uri")
    if jwks is not None:
        problem = check_key_set(jwks)
        return problem or PublicKeys(jwks=jwks)
    if jwks_uri is None:
        return PublicKeys()
    place = read_url(jwks_uri) if isinstance(jwks_uri, str) else Refused("not a text")
    if isinstance(place, Refused):
        return Refused(f"jwks_uri: {place.reason}")
    return PublicKeys(jwks_uri=jwks_uri)


def check_key_set(jwks: object) -> Refused | None:
    """A JSON Web Key Set (RFC 7517 §5) of public keys. Which of them we can use shows later."""
    keys = cast("dict[str, Any]", jwks).get("keys") if isinstance(jwks, dict) else None
    if not isinstance(keys, list) or len(cast("list[Any]", keys)) > MOST_KEYS:
        return Refused(f"jwks: not an object with a list of at most {MOST_KEYS} keys")
    for key in cast("list[object]", keys):
        if not isinstance(key, dict):
            return Refused("jwks: a key is not an object")
        if _PRIVATE & cast("dict[str, Any]", key).keys():
            return Refused("jwks: holds a private or shared key; it is to be replaced")
    return None


def read_algorithm(value: object) -> str | Refused:
    """The algorithm that a client will sign with, if it says so beforehand."""
    if isinstance(value, str) and value in SIGNING_ALGORITHMS:
        return value
    return Refused(f"only {' and '.join(SIGNING_ALGORITHMS)} are supported")
